//! Passages: a note from one heading to the next. For each term they say in which passages of a document it is.
//!
//! A document without headings is one passage, of which nothing is stored. Nor is anything in a segment of such documents.

use bytes::Bytes;

use crate::error::FormatError;
use crate::frame::{self, Packer};
use crate::layout::Layout;
use crate::part_ref::{PartKind, PartRef};
use crate::postings::{BitReader, BitWriter, read_part, skip_part, write_part};
use crate::section::SectionName;
use crate::varint;

/// Most passages of a document. The last one has the rest of it.
pub const MAX_PASSAGES: usize = 1024;
/// Most bytes of the table, decompressed.
const MAX_TABLE_BYTES: usize = 256 << 20;

/// The starts of passages in `text`, but of the first, which are the lines of its headings. Lines are counted from 0 and ascend.
#[must_use]
pub fn starts(text: &str, heading_lines: impl Iterator<Item = u32>) -> Vec<usize> {
    let mut ends = memchr::memchr_iter(b'\n', text.as_bytes());
    let mut line = 0;
    let mut at = 0;
    let mut starts = Vec::new();
    for heading in heading_lines.take(MAX_PASSAGES - 1) {
        while line < heading {
            let Some(end) = ends.next() else { return starts };
            (line, at) = (line + 1, end + 1);
        }
        starts.push(at);
    }
    starts
}

/// The bytes of the sections `passages` and `passage_postings`.
type Sections = (Vec<u8>, Vec<u8>);

/// Collects the passages of documents, and of terms.
#[derive(Default)]
pub(crate) struct PassageWriter {
    /// By document: the number of its passages, or 0 for one; and the words of each.
    table: Vec<u8>,
    counts: Vec<u32>,
    pages: Vec<u8>,
    page_count: u64,
    section: Vec<u8>,
    entries: Vec<u8>,
    bits: Vec<u8>,
    lists: u64,
}

impl PassageWriter {
    /// Adds the next document, with the words of each of its passages.
    pub(crate) fn push(&mut self, words: &[u32]) {
        let count = if words.len() > 1 { words.len() as u32 } else { 0 };
        varint::write(&mut self.table, u64::from(count));
        if count > 0 {
            words.iter().for_each(|words| varint::write(&mut self.table, u64::from(*words)));
        }
        self.counts.push(count);
    }

    /// The number of passages of a document; 0 for one.
    pub(crate) fn count(&self, document: u32) -> u32 {
        self.counts.get(document as usize).copied().unwrap_or_default()
    }

    /// Adds the next term, with the passages of each of its documents that has several.
    pub(crate) fn push_term<'a>(&mut self, documents: impl Iterator<Item = (u32, &'a [u32])>) {
        let mut writer = BitWriter::default();
        for (document, passages) in documents {
            write_part(&mut writer, passages, self.count(document));
        }
        varint::write(&mut self.entries, writer.bytes.len() as u64);
        self.bits.append(&mut writer.bytes);
        self.lists += 1;
    }

    /// Ends a page.
    pub(crate) fn close(&mut self) {
        let mut page = Vec::with_capacity(self.entries.len() + self.bits.len() + 16);
        varint::write(&mut page, std::mem::take(&mut self.lists));
        page.append(&mut self.entries);
        page.append(&mut self.bits);
        let page = frame::seal(page);
        varint::write(&mut self.pages, page.len() as u64);
        self.page_count += 1;
        self.section.extend_from_slice(&page);
    }

    /// The table and the pages; [`None`] if no document has several passages.
    pub(crate) fn finish(self, packer: &mut Packer) -> Result<Option<Sections>, FormatError> {
        if self.counts.iter().all(|count| *count == 0) {
            return Ok(None);
        }
        let mut table = Vec::new();
        varint::write(&mut table, self.counts.len() as u64);
        table.extend_from_slice(&self.table);
        varint::write(&mut table, self.page_count);
        table.extend_from_slice(&self.pages);
        Ok(Some((packer.pack(&table)?, self.section)))
    }
}

/// The table of passages.
#[derive(Debug)]
pub struct Passages {
    /// For each document the start of its passages in `words`, and the end of the last.
    starts: Vec<u32>,
    words: Vec<u32>,
    /// The start of each page in the section, and the end of the last.
    offsets: Vec<u64>,
}

impl Passages {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let damaged = || FormatError::damaged(SectionName::Passages, "its content is inconsistent");
        let table = frame::unpack(part, SectionName::Passages, MAX_TABLE_BYTES)?;
        let mut rest = table.as_slice();
        let count = |rest: &mut &[u8]| varint::read(rest).filter(|count| *count <= rest.len() as u64);
        let next =
            |rest: &mut &[u8]| varint::read(rest).and_then(|number| u32::try_from(number).ok()).ok_or_else(damaged);
        let documents = count(&mut rest).ok_or_else(damaged)?;
        let mut starts = Vec::with_capacity(documents as usize + 1);
        let mut words = Vec::new();
        starts.push(0);
        for _ in 0..documents {
            let passages = next(&mut rest)?;
            if passages == 1 || passages as usize > MAX_PASSAGES {
                return Err(damaged());
            }
            for _ in 0..passages {
                words.push(next(&mut rest)?);
            }
            starts.push(u32::try_from(words.len()).map_err(|_| damaged())?);
        }
        let pages = count(&mut rest).ok_or_else(damaged)?;
        let mut offsets = vec![0];
        let mut offset = 0u64;
        for _ in 0..pages {
            offset += u64::from(next(&mut rest)?);
            offsets.push(offset);
        }
        if rest.is_empty() { Ok(Self { starts, words, offsets }) } else { Err(damaged()) }
    }

    /// The number of words of each passage of a document; empty if it is one passage.
    pub fn of(&self, document: u32) -> &[u32] {
        let at = |index: u32| self.starts.get(index as usize).map(|start| *start as usize);
        let range = at(document).zip(at(document.saturating_add(1))).map(|(from, to)| from..to);
        range.and_then(|range| self.words.get(range)).unwrap_or_default()
    }

    /// The page of the terms that are on page `number` of [`Terms`](crate::terms::Terms).
    pub fn page(&self, layout: &Layout, number: usize) -> Result<PartRef, FormatError> {
        let outside = || FormatError::damaged(SectionName::Passages, "a page lies outside the section");
        let section = layout.range(SectionName::PassagePostings)?;
        let (Some(start), Some(end)) = (self.offsets.get(number), self.offsets.get(number + 1)) else {
            return Err(outside());
        };
        let range = section.start + start..section.start + end;
        if range.end > section.end {
            return Err(outside());
        }
        Ok(PartRef { kind: PartKind::PassagePage, range })
    }

    /// All pages.
    pub fn pages(&self, layout: &Layout) -> Result<Vec<PartRef>, FormatError> {
        (0..self.offsets.len() - 1).map(|number| self.page(layout, number)).collect()
    }

    pub(crate) fn weight(&self) -> usize {
        (self.starts.len() + self.words.len()) * 4 + self.offsets.len() * 8
    }
}

/// A decoded page: for each term the passages that have it.
#[derive(Debug)]
pub struct PassagePage {
    /// The end of the bits of each list.
    ends: Vec<u32>,
    bits: Bytes,
}

impl PassagePage {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let damaged = || FormatError::damaged(SectionName::PassagePostings, "the content of a page is inconsistent");
        let page = frame::open(part, SectionName::PassagePostings)?;
        let mut rest: &[u8] = &page;
        let count = varint::read(&mut rest).filter(|count| *count <= rest.len() as u64).ok_or_else(damaged)?;
        let mut ends = Vec::with_capacity(count as usize);
        let mut end = 0u32;
        for _ in 0..count {
            let bytes = varint::read(&mut rest).and_then(|bytes| u32::try_from(bytes).ok()).ok_or_else(damaged)?;
            end = end.checked_add(bytes).ok_or_else(damaged)?;
            ends.push(end);
        }
        if end as usize != rest.len() {
            return Err(damaged());
        }
        let bits = page.slice(page.len() - rest.len()..);
        Ok(Self { ends, bits })
    }

    /// Calls `each` for those of `wanted` that are in list `list`, with the ascending passages that have the term. `documents` are all those
    /// of the term. Both ascend. Documents of one passage are left out, and of the others those whose text does not have the term have none.
    pub fn each_of(
        &self,
        list: u32,
        documents: impl Iterator<Item = u32>,
        wanted: impl Iterator<Item = u32>,
        passages: &Passages,
        mut each: impl FnMut(u32, &[u32]),
    ) {
        let list = list as usize;
        let Some(end) = self.ends.get(list) else { return };
        let start = list.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end);
        let Some(bits) = self.bits.get(start as usize..*end as usize) else { return };
        let mut reader = BitReader::new(bits);
        let mut found = Vec::new();
        let mut wanted = wanted.peekable();
        for document in documents {
            while wanted.next_if(|wanted| *wanted < document).is_some() {}
            let Some(next) = wanted.peek() else { return };
            let count = passages.of(document).len() as u32;
            if count > 0 && *next == document {
                read_part(&mut reader, count, &mut found);
                each(document, &found);
            } else {
                skip_part(&mut reader, count);
            }
        }
    }

    pub(crate) fn weight(&self) -> usize {
        self.ends.len() * 4 + self.bits.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn passages_begin_with_the_lines_of_headings() {
        let text = "intro\n# One\ntext\n\n## Two\nmore";
        let all = starts(text, [1, 4].into_iter());
        assert_eq!(all.iter().map(|start| &text[*start..]).collect::<Vec<_>>(), [&text[6..], "## Two\nmore"]);
        assert_eq!(starts("# One", [0, 9].into_iter()), [0]);
        assert_eq!(starts("# x\n", std::iter::repeat_n(0, 3000)).len(), MAX_PASSAGES - 1);
    }

    proptest! {
        #[test]
        fn passages_of_terms_survive(
            documents in prop::collection::vec((1usize..40, prop::collection::vec(prop::collection::btree_set(0u32..40, 0..40), 3)), 1..20),
            wanted in prop::collection::btree_set(0u32..20, 0..20),
        ) {
            let mut writer = PassageWriter::default();
            for (count, _) in &documents {
                writer.push(&vec![7; *count]);
            }
            let sets = |term: usize| -> Vec<(u32, Vec<u32>)> {
                (0u32..).zip(&documents).map(|(id, (count, terms))| {
                    let set: &BTreeSet<u32> = &terms[term];
                    (id, set.iter().copied().filter(|passage| (*passage as usize) < *count).collect())
                }).collect()
            };
            for term in 0..3 {
                writer.push_term(sets(term).iter().map(|(id, set)| (*id, set.as_slice())));
            }
            writer.close();
            let Some((table, pages)) = writer.finish(&mut Packer::new().unwrap()).unwrap() else {
                prop_assert!(documents.iter().all(|(count, _)| *count == 1));
                return Ok(());
            };
            let table = Passages::decode(&Bytes::from(table)).unwrap();
            let page = PassagePage::decode(&Bytes::from(pages)).unwrap();
            for term in 0..3 {
                let mut found = Vec::new();
                let all = 0..documents.len() as u32;
                page.each_of(term, all.clone(), all.clone(), &table, |id, set| found.push((id, set.to_vec())));
                let mut expected: Vec<_> = sets(term as usize).into_iter().filter(|(id, _)| documents[*id as usize].0 > 1).collect();
                prop_assert_eq!(&found, &expected);
                found.clear();
                page.each_of(term, all, wanted.iter().copied(), &table, |id, set| found.push((id, set.to_vec())));
                expected.retain(|(id, _)| wanted.contains(id));
                prop_assert_eq!(&found, &expected);
            }
        }
    }
}
