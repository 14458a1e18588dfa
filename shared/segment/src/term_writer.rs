//! Collects the terms of documents, with their weights and passages.

use std::collections::HashMap;

use atlas_vault::excalidraw::without_drawing;
use atlas_vault::file_kind::is_code;
use atlas_vault::{VaultPath, words};

use crate::byte_lists::{ByteList, ByteLists};
use crate::error::FormatError;
use crate::frame::{self, Packer};
use crate::growing;
use crate::passages::{PassageWriter, starts};
use crate::postings;
use crate::section::SectionName;
use crate::terms::{WEIGHTS, tag_term};
use crate::varint;

/// The weight of an occurrence in the text, and the extra weights of one in a heading, a tag and a title (the file's name, the property
/// `title`, or an alias).
const TEXT: u32 = 1;
const HEADING: u32 = 2;
const TAG: u32 = 3;
const TITLE: u32 = 5;

/// A page ends when it reaches this many bytes.
const PAGE_BYTES: usize = 16 << 10;

/// Collects terms.
#[derive(Default)]
pub(crate) struct TermWriter {
    ids: HashMap<Box<str>, u32, foldhash::fast::FixedState>,
    lists: Vec<List>,
    entries: ByteLists,
    /// The terms of the current document.
    open: Vec<u32>,
    /// The number of words of each document.
    lengths: Vec<u32>,
    /// The number of words of each passage of the current document.
    passage_words: Vec<u32>,
    /// The passages of the current document that have a term, each with the `last` of its list before.
    found: Vec<(u16, u32)>,
    passages: PassageWriter,
}

#[derive(Default)]
struct List {
    /// Gaps between documents, and levels; of documents with several passages also how many of these have the term, and the gaps between them.
    entries: ByteList,
    count: u32,
    /// One more than the last document.
    next: u32,
    /// The weight in the current document.
    weight: u32,
    /// One more than the place in `found` of the last passage of the current document that has it; 0 for none.
    last: u32,
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
            let list = self.term(&word.folded, TEXT);
            if !starts.is_empty() {
                self.found_in(list, passage as u16);
            }
        }
        self.passage_words.iter().sum()
    }

    /// Notes that the term of a list is in a passage.
    fn found_in(&mut self, list: u32, passage: u16) {
        let Some(list) = self.lists.get_mut(list as usize) else { return };
        let last = list.last.checked_sub(1).and_then(|at| self.found.get(at as usize));
        if last.is_none_or(|(last, _)| *last < passage) {
            self.found.push((passage, list.last));
            list.last = self.found.len() as u32;
        }
    }

    /// Adds an occurrence of a term. Returns its list.
    fn term(&mut self, term: &str, weight: u32) -> u32 {
        let id = match self.ids.get(term) {
            Some(id) => *id,
            None => {
                let id = self.lists.len() as u32;
                self.ids.insert(term.into(), id);
                self.lists.push(List::default());
                id
            }
        };
        if let Some(list) = self.lists.get_mut(id as usize) {
            if list.weight == 0 {
                self.open.push(id);
            }
            list.weight = list.weight.saturating_add(weight);
        }
        id
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
        let mut passages: Vec<u16> = Vec::new();
        let entries = &mut self.entries;
        for id in self.open.drain(..) {
            if let Some(list) = self.lists.get_mut(id as usize) {
                let level = WEIGHTS.iter().take_while(|weight| **weight <= list.weight).count();
                entries.write(&mut list.entries, u64::from(document - list.next));
                entries.push(&mut list.entries, level as u8);
                if has_passages {
                    passages.clear();
                    let mut last = std::mem::take(&mut list.last);
                    while let Some((passage, before)) = last.checked_sub(1).and_then(|at| self.found.get(at as usize)) {
                        passages.push(*passage);
                        last = *before;
                    }
                    entries.write(&mut list.entries, passages.len() as u64);
                    let mut before = 0;
                    for passage in passages.iter().rev() {
                        entries.write(&mut list.entries, u64::from(passage - std::mem::replace(&mut before, *passage)));
                    }
                }
                list.count += 1;
                list.next = document + 1;
                list.weight = 0;
            }
        }
        self.found.clear();
    }

    /// The sections.
    pub(crate) fn finish(mut self, packer: &mut Packer) -> Result<Vec<(SectionName, Vec<u8>)>, FormatError> {
        let universe = self.lengths.len() as u32;
        let mut terms: Vec<(Box<str>, u32)> = self.ids.into_iter().collect();
        terms.sort_unstable();
        let mut fst = fst::MapBuilder::memory();
        let mut pages = PageWriter::default();
        let (mut entries, mut read) = (Vec::new(), ReadList::default());
        for (ordinal, (term, id)) in (0u32..).zip(&terms) {
            let too_large = |_| FormatError::TooLarge { what: "the fst of terms" };
            fst.insert(term.as_bytes(), u64::from(ordinal)).map_err(too_large)?;
            let Some(list) = self.lists.get(*id as usize) else { continue };
            self.entries.read(&list.entries, &mut entries);
            read.of(&entries, &self.passages);
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
        let passages = self.passages.finish(packer)?;
        // Tables come last, so that they stand beside the others that searches fetch.
        let mut sections = vec![(SectionName::TermPostings, pages.section)];
        if let Some((table, pages)) = passages {
            sections.extend([(SectionName::PassagePostings, pages), (SectionName::Passages, table)]);
        }
        sections.push((SectionName::Terms, packer.pack(&table)?));
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

    /// Reads the entries of a list.
    fn of(&mut self, mut entries: &[u8], passages: &PassageWriter) {
        let Self { ids, levels, passages: found, ends } = self;
        ids.clear();
        levels.clear();
        found.clear();
        ends.clear();
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
            growing::append(&mut self.section, &page);
        }
        has_lists
    }
}
