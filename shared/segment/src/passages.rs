//! Passages: a note from one heading to the next. For each term they say in which passages of a document it is.
//!
//! A document without headings is one passage, of which nothing is stored. Nor is anything in a segment of such documents.

use bytes::Bytes;

use crate::error::FormatError;
use crate::frame::{self, Packer};
use crate::growing;
use crate::layout::Layout;
use crate::part_ref::{PartKind, PartRef};
use crate::postings::{BitWriter, write_part};
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
        growing::append(&mut self.section, &page);
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

    /// The number of passages of a document; 0 if it is one.
    pub(crate) fn count(&self, document: u32) -> u32 {
        let at = |document: u32| self.starts.get(document as usize);
        at(document).zip(at(document.saturating_add(1))).map_or(0, |(from, to)| to.saturating_sub(*from))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_begin_with_the_lines_of_headings() {
        let text = "intro\n# One\ntext\n\n## Two\nmore";
        let all = starts(text, [1, 4].into_iter());
        assert_eq!(all.iter().map(|start| &text[*start..]).collect::<Vec<_>>(), [&text[6..], "## Two\nmore"]);
        assert_eq!(starts("# One", [0, 9].into_iter()), [0]);
        assert_eq!(starts("# x\n", std::iter::repeat_n(0, 3000)).len(), MAX_PASSAGES - 1);
    }
}
