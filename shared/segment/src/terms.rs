//! Terms for ranked search: the words of documents ([`atlas_vault::words()`]) and their tags. Each term has a list of
//! the documents that contain it, with its weight in each.
//!
//! A tag's term is `#` and the folded name of the tag. No word can be equal to it.

use std::collections::HashMap;
use std::sync::LazyLock;

use bytes::Bytes;
use fst::automaton::{Automaton, Str};
use fst::{IntoStreamer, Streamer};
use levenshtein_automata::LevenshteinAutomatonBuilder;

use atlas_vault::excalidraw::without_drawing;
use atlas_vault::file_kind::is_code;
use atlas_vault::{VaultPath, fold, words};

use crate::error::FormatError;
use crate::frame::{self, Packer};
use crate::layout::Layout;
use crate::part_ref::{PartKind, PartRef};
use crate::passages::{PassageWriter, starts};
use crate::postings::{self, Postings};
use crate::section::SectionName;
use crate::varint;

/// The weight of an occurrence in the text, and the extra weights of one in a heading, a tag and a title (the file's name, the property
/// `title`, or an alias).
const TEXT: u32 = 1;
const HEADING: u32 = 2;
const TAG: u32 = 3;
const TITLE: u32 = 5;

/// The weights that are stored, by level. A document's weight for a term is rounded down to one of these.
const WEIGHTS: [u32; postings::MAX_WEIGHT as usize] = [1, 2, 3, 5, 8, 13, 24, 48];

/// A page ends when it reaches this many bytes.
const PAGE_BYTES: usize = 16 << 10;
/// Most bytes of the table, decompressed.
const MAX_TABLE_BYTES: usize = 256 << 20;

/// Automata by edits; to make one takes longer than a search with it.
static ONE_EDIT: LazyLock<LevenshteinAutomatonBuilder> = LazyLock::new(|| LevenshteinAutomatonBuilder::new(1, true));
static TWO_EDITS: LazyLock<LevenshteinAutomatonBuilder> = LazyLock::new(|| LevenshteinAutomatonBuilder::new(2, true));

/// Collects terms.
#[derive(Default)]
pub(crate) struct TermWriter {
    ids: HashMap<Box<str>, u32, foldhash::fast::FixedState>,
    lists: Vec<List>,
    /// The terms of the current document.
    open: Vec<u32>,
    /// The number of words of each document.
    lengths: Vec<u32>,
    /// The number of words of each passage of the current document.
    passage_words: Vec<u32>,
    passages: PassageWriter,
}

#[derive(Default)]
struct List {
    /// Gaps between documents, and levels; of documents with several passages also how many of these have the term, and the gaps between them.
    entries: Vec<u8>,
    count: u32,
    /// One more than the last document.
    next: u32,
    /// The weight in the current document.
    weight: u32,
    /// The passages of the current document that have it.
    passages: Vec<u16>,
}

impl TermWriter {
    /// Adds the words of a text of the current document, each with `weight`. Returns their number.
    fn words(&mut self, text: &str, weight: u32) -> u32 {
        let mut count = 0;
        for word in words(text) {
            self.term(&word.folded, weight);
            count += 1;
        }
        count
    }

    /// Adds the words of the text of the current document, whose passages but the first begin at `starts`. Returns their number.
    fn text(&mut self, text: &str, starts: &[usize]) -> u32 {
        self.passage_words.resize(starts.len() + 1, 0);
        let mut passage = 0;
        for word in words(text) {
            while starts.get(passage).is_some_and(|start| *start <= word.range.start) {
                passage += 1;
            }
            if let Some(words) = self.passage_words.get_mut(passage) {
                *words += 1;
            }
            if let Some(list) = self.term(&word.folded, TEXT)
                && !starts.is_empty()
                && list.passages.last().is_none_or(|last| usize::from(*last) < passage)
            {
                list.passages.push(passage as u16);
            }
        }
        self.passage_words.iter().sum()
    }

    fn term(&mut self, term: &str, weight: u32) -> Option<&mut List> {
        let id = match self.ids.get(term) {
            Some(id) => *id,
            None => {
                let id = self.lists.len() as u32;
                self.ids.insert(term.into(), id);
                self.lists.push(List::default());
                id
            }
        };
        let list = self.lists.get_mut(id as usize)?;
        if list.weight == 0 {
            self.open.push(id);
        }
        list.weight = list.weight.saturating_add(weight);
        Some(list)
    }

    /// Adds the next document: its text, titles, headings with their lines, and tags.
    pub(crate) fn push<'a>(
        &mut self,
        path: &VaultPath,
        text: &str,
        titles: impl Iterator<Item = &'a str>,
        headings: impl Iterator<Item = (u32, &'a str)> + Clone,
        tags: impl Iterator<Item = &'a str>,
    ) {
        if is_code(path.file_name()) {
            return self.push_code(path, text);
        }
        // The digits and coordinates of a drawing are no words of anybody.
        let text = without_drawing(text);
        let length = self.text(&text, &starts(&text, headings.clone().map(|(line, _)| line)));
        self.words(path.stem(), TITLE);
        for title in titles {
            self.words(title, TITLE);
        }
        for (_, heading) in headings {
            self.words(heading, HEADING);
        }
        for tag in tags {
            self.words(tag, TAG);
            self.term(&tag_term(tag), 1);
        }
        self.close(length);
    }

    /// Adds source code, including the parts of its identifiers and the names of its folders.
    fn push_code(&mut self, path: &VaultPath, text: &str) {
        let mut length = 0;
        for word in words::code_words(text) {
            self.term(&word.folded, TEXT);
            length += 1;
        }
        for word in words::code_words(path.stem()) {
            self.term(&word.folded, TITLE);
        }
        for word in words::code_words(path.folder().unwrap_or_default()) {
            self.term(&word.folded, HEADING);
        }
        self.close(length);
    }

    /// Adds a document without terms.
    pub(crate) fn skip(&mut self) {
        self.close(0);
    }

    fn close(&mut self, length: u32) {
        let document = self.lengths.len() as u32;
        self.lengths.push(length);
        self.passages.push(&self.passage_words);
        let has_passages = self.passages.count(document) > 0;
        self.passage_words.clear();
        for id in self.open.drain(..) {
            if let Some(list) = self.lists.get_mut(id as usize) {
                let level = WEIGHTS.iter().take_while(|weight| **weight <= list.weight).count();
                varint::write(&mut list.entries, u64::from(document - list.next));
                list.entries.push(level as u8);
                if has_passages {
                    varint::write(&mut list.entries, list.passages.len() as u64);
                    let mut before = 0;
                    for passage in list.passages.drain(..) {
                        varint::write(&mut list.entries, u64::from(passage - std::mem::replace(&mut before, passage)));
                    }
                }
                list.count += 1;
                list.next = document + 1;
                list.weight = 0;
            }
        }
    }

    /// The sections.
    pub(crate) fn finish(mut self, packer: &mut Packer) -> Result<Vec<(SectionName, Vec<u8>)>, FormatError> {
        let universe = self.lengths.len() as u32;
        let mut terms: Vec<(Box<str>, u32)> = self.ids.into_iter().collect();
        terms.sort_unstable();
        let mut fst = fst::MapBuilder::memory();
        let mut pages = PageWriter::default();
        let mut read = ReadList::default();
        for (ordinal, (term, id)) in (0u32..).zip(&terms) {
            let too_large = |_| FormatError::TooLarge { what: "the fst of terms" };
            fst.insert(term.as_bytes(), u64::from(ordinal)).map_err(too_large)?;
            let Some(list) = self.lists.get(*id as usize) else { continue };
            list.read(&self.passages, &mut read);
            self.passages.push_term(read.passages());
            if pages.push(&read.ids, &postings::encode_weighted(&read.ids, read.levels.iter().copied(), universe)) {
                self.passages.close();
            }
        }
        if pages.close() {
            self.passages.close();
        }
        let mut table = Vec::new();
        varint::write(&mut table, self.lengths.len() as u64);
        self.lengths.iter().for_each(|length| varint::write(&mut table, u64::from(*length)));
        varint::write(&mut table, pages.pages.len() as u64);
        for (terms, bytes) in &pages.pages {
            varint::write(&mut table, u64::from(*terms));
            varint::write(&mut table, u64::from(*bytes));
        }
        let fst = fst.into_inner().map_err(|_| FormatError::TooLarge { what: "the fst of terms" })?;
        table.extend_from_slice(&fst);
        let mut sections =
            vec![(SectionName::TermPostings, pages.section), (SectionName::Terms, packer.pack(&table)?)];
        if let Some((table, pages)) = self.passages.finish(packer)? {
            sections.extend([(SectionName::Passages, table), (SectionName::PassagePostings, pages)]);
        }
        Ok(sections)
    }
}

/// The entries of a list.
#[derive(Default)]
struct ReadList {
    ids: Vec<u32>,
    levels: Vec<u32>,
    /// The passages of each document, and where those of the next one begin.
    passages: Vec<u32>,
    ends: Vec<usize>,
}

impl ReadList {
    /// The documents with the passages of each that have the term.
    fn passages(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends).map(|(start, end)| start..*end);
        self.ids.iter().zip(ranges).map(|(id, range)| (*id, self.passages.get(range).unwrap_or_default()))
    }
}

impl List {
    fn read(&self, passages: &PassageWriter, read: &mut ReadList) {
        let ReadList { ids, levels, passages: found, ends } = read;
        ids.clear();
        levels.clear();
        found.clear();
        ends.clear();
        let mut entries = self.entries.as_slice();
        let mut next = 0;
        while let Some(gap) = varint::read(&mut entries) {
            let Some((level, rest)) = entries.split_first() else { return };
            entries = rest;
            let document = next + gap as u32;
            if passages.count(document) > 0 {
                let mut passage = 0;
                for _ in 0..varint::read(&mut entries).unwrap_or_default() {
                    passage += varint::read(&mut entries).unwrap_or_default() as u32;
                    found.push(passage);
                }
            }
            ids.push(document);
            levels.push(u32::from(*level));
            ends.push(found.len());
            next = document + 1;
        }
    }
}

/// The term of a tag.
pub fn tag_term(tag: &str) -> String {
    format!("#{}", fold::fold(tag))
}

/// Collects pages.
#[derive(Default)]
struct PageWriter {
    entries: Vec<u8>,
    bits: Vec<u8>,
    count: u32,
    /// Terms and bytes of each page.
    pages: Vec<(u32, u32)>,
    section: Vec<u8>,
}

impl PageWriter {
    /// Adds a list. Whether it is the last of its page.
    fn push(&mut self, ids: &[u32], bits: &[u8]) -> bool {
        varint::write(&mut self.entries, ids.len() as u64);
        varint::write(&mut self.entries, bits.len() as u64);
        self.bits.extend_from_slice(bits);
        self.count += 1;
        self.entries.len() + self.bits.len() >= PAGE_BYTES && self.close()
    }

    /// Ends the page, unless it has no lists.
    fn close(&mut self) -> bool {
        let has_lists = self.count > 0;
        if has_lists {
            let mut page = Vec::with_capacity(self.entries.len() + self.bits.len() + 16);
            varint::write(&mut page, u64::from(self.count));
            page.append(&mut self.entries);
            page.append(&mut self.bits);
            let page = frame::seal(page);
            self.pages.push((std::mem::take(&mut self.count), page.len() as u32));
            self.section.extend_from_slice(&page);
        }
        has_lists
    }
}

/// The table of terms.
#[derive(Debug)]
pub struct Terms {
    /// The first ordinal of each page, and the number of terms.
    ordinals: Vec<u32>,
    /// The start of each page in the section, and the end of the last.
    offsets: Vec<u64>,
    lengths: Vec<u32>,
    words: u64,
    fst: fst::Map<Vec<u8>>,
}

impl Terms {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let damaged = || FormatError::damaged(SectionName::Terms, "its content is inconsistent");
        let mut table = frame::unpack(part, SectionName::Terms, MAX_TABLE_BYTES)?;
        let mut rest = table.as_slice();
        let count = |rest: &mut &[u8]| varint::read(rest).filter(|count| *count <= rest.len() as u64);
        let documents = count(&mut rest).ok_or_else(damaged)?;
        let next =
            |rest: &mut &[u8]| varint::read(rest).and_then(|number| u32::try_from(number).ok()).ok_or_else(damaged);
        let lengths: Vec<u32> = (0..documents).map(|_| next(&mut rest)).collect::<Result<_, _>>()?;
        let pages = count(&mut rest).ok_or_else(damaged)?;
        let (mut ordinals, mut offsets) = (vec![0u32], vec![0u64]);
        let (mut ordinal, mut offset) = (0u32, 0u64);
        for _ in 0..pages {
            ordinal = ordinal.checked_add(next(&mut rest)?).ok_or_else(damaged)?;
            offset += u64::from(next(&mut rest)?);
            ordinals.push(ordinal);
            offsets.push(offset);
        }
        let fst = table.split_off(table.len() - rest.len());
        let fst = fst::Map::new(fst).map_err(|_| damaged())?;
        // The fst's own checksum is checked too, since a walk trusts every byte of it.
        fst.as_fst().verify().map_err(|_| damaged())?;
        if fst.len() != ordinal as usize {
            return Err(damaged());
        }
        let words = lengths.iter().map(|length| u64::from(*length)).sum();
        Ok(Self { ordinals, offsets, lengths, words, fst })
    }

    /// The ordinal of `term`.
    pub fn get(&self, term: &str) -> Option<u32> {
        self.fst.get(term).map(|ordinal| ordinal as u32)
    }

    /// The terms that begin with `prefix` and their ordinals, in order, at most `most`.
    pub fn with_prefix(&self, prefix: &str, most: usize) -> Vec<(String, u32)> {
        let mut found = Vec::new();
        self.each_with_prefix(prefix, most, |term, ordinal| found.push((term.to_owned(), ordinal)));
        found
    }

    /// Calls `each` for the terms that begin with `prefix`, in order, at most `most`.
    pub fn each_with_prefix(&self, prefix: &str, most: usize, mut each: impl FnMut(&str, u32)) {
        let mut stream = self.fst.search(Str::new(prefix).starts_with()).into_stream();
        for _ in 0..most {
            let Some((term, ordinal)) = stream.next() else { return };
            each(std::str::from_utf8(term).unwrap_or_default(), ordinal as u32);
        }
    }

    /// The terms at most `edits` edits away from `term` (a character added, removed or changed, or two exchanged), in order, at most
    /// `most`, each with its edits. More than two edits count as two.
    pub fn near(&self, term: &str, edits: u8, most: usize) -> Vec<(String, u32, u8)> {
        // Not fst's own automaton, which misses edits between characters with the same first bytes.
        let builder = if edits < 2 { &ONE_EDIT } else { &TWO_EDITS };
        let automaton = builder.build_dfa(term);
        let mut stream = self.fst.search(&automaton).into_stream();
        let mut found = Vec::new();
        while let Some((term, ordinal)) = stream.next().filter(|_| found.len() < most) {
            let edits = automaton.eval(term).to_u8();
            found.push((String::from_utf8_lossy(term).into_owned(), ordinal as u32, edits));
        }
        found
    }

    /// The number of words of each document.
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// The number of words of all documents.
    pub const fn words(&self) -> u64 {
        self.words
    }

    /// The page with the postings of the term `ordinal`, and the index of its list in the page.
    pub fn page(&self, layout: &Layout, ordinal: u32) -> Result<(PartRef, u32), FormatError> {
        let outside = || FormatError::damaged(SectionName::Terms, "a page lies outside the section");
        let section = layout.range(SectionName::TermPostings)?;
        let page = self.page_number(ordinal).ok_or_else(outside)?;
        let (Some(first), Some(start), Some(end)) =
            (self.ordinals.get(page), self.offsets.get(page), self.offsets.get(page + 1))
        else {
            return Err(outside());
        };
        let range = section.start + start..section.start + end;
        if range.end > section.end {
            return Err(outside());
        }
        Ok((PartRef { kind: PartKind::TermPage, range }, ordinal - first))
    }

    /// The number of the page with the term `ordinal`.
    pub fn page_number(&self, ordinal: u32) -> Option<usize> {
        self.ordinals.partition_point(|first| *first <= ordinal).checked_sub(1)
    }

    /// All pages.
    pub fn pages(&self, layout: &Layout) -> Result<Vec<PartRef>, FormatError> {
        let firsts = self.ordinals.split_last().map_or(&[][..], |(_, firsts)| firsts);
        firsts.iter().map(|first| Ok(self.page(layout, *first)?.0)).collect()
    }

    pub(crate) fn weight(&self) -> usize {
        self.fst.as_fst().size() + self.lengths.len() * 4 + self.offsets.len() * 12
    }
}

/// A decoded page of postings.
#[derive(Debug)]
pub struct TermPage {
    /// For each list: the number of documents, and the end of its bits.
    entries: Vec<(u32, u32)>,
    bits: Bytes,
}

impl TermPage {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let damaged = || FormatError::damaged(SectionName::TermPostings, "the content of a page is inconsistent");
        let page = frame::open(part, SectionName::TermPostings)?;
        let mut rest: &[u8] = &page;
        let count = varint::read(&mut rest).filter(|count| *count <= rest.len() as u64).ok_or_else(damaged)?;
        let mut entries = Vec::with_capacity(count as usize);
        let mut end = 0u32;
        for _ in 0..count {
            let mut next = || varint::read(&mut rest).and_then(|value| u32::try_from(value).ok()).ok_or_else(damaged);
            let documents = next()?;
            end = end.checked_add(next()?).ok_or_else(damaged)?;
            entries.push((documents, end));
        }
        if end as usize != rest.len() {
            return Err(damaged());
        }
        let bits = page.slice(page.len() - rest.len()..);
        Ok(Self { entries, bits })
    }

    /// List `list` of the page. `universe` is the number of documents in the segment.
    pub fn postings(&self, list: u32, universe: u32) -> Option<Postings<'_>> {
        let list = list as usize;
        let (count, end) = *self.entries.get(list)?;
        let start = list.checked_sub(1).and_then(|before| self.entries.get(before)).map_or(0, |(_, end)| *end);
        Some(Postings::new(self.bits.get(start as usize..end as usize)?, count, universe))
    }

    pub(crate) fn weight(&self) -> usize {
        self.entries.len() * 8 + self.bits.len()
    }
}

/// The weight of a level.
pub fn weight_of(level: u32) -> u32 {
    WEIGHTS.get(level as usize - 1).copied().unwrap_or(1)
}
