//! Terms for ranked search: the words of documents ([`atlas_vault::words()`]) and their tags. Each term has a list of
//! the documents that contain it, with its weight in each.
//!
//! A tag's term is `#` and the folded name of the tag. No word can be equal to it.

use bytes::Bytes;
use fst::automaton::{Automaton, Str};
use fst::{IntoStreamer, Streamer};

use atlas_vault::fold;

use crate::error::FormatError;
use crate::frame;
use crate::layout::Layout;
use crate::near::near;
use crate::part_ref::{PartKind, PartRef};
use crate::postings::{self, Postings};
use crate::section::SectionName;
use crate::varint;

/// The weights that are stored, by level. A document's weight for a term is rounded down to one of these.
pub(crate) const WEIGHTS: [u32; postings::MAX_WEIGHT as usize] = [1, 2, 3, 5, 8, 13, 24, 48];

/// The levels of weights, ascending.
pub const LEVELS: [u32; postings::MAX_WEIGHT as usize] = [1, 2, 3, 4, 5, 6, 7, 8];

/// Most bytes of the table, decompressed.
const MAX_TABLE_BYTES: usize = 256 << 20;

/// The term of a tag.
pub fn tag_term(tag: &str) -> String {
    format!("#{}", fold::fold(tag))
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
        self.with_prefix_where(prefix, None, most, |_| true)
    }

    /// Like [`with_prefix`](Self::with_prefix), those that `is_wanted`, and if `after` is given only those after it.
    pub fn with_prefix_where(
        &self,
        prefix: &str,
        after: Option<&str>,
        most: usize,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Vec<(String, u32)> {
        let mut found = Vec::new();
        let mut search = self.fst.search(Str::new(prefix).starts_with());
        if let Some(after) = after {
            search = search.gt(after);
        }
        let mut stream = search.into_stream();
        while found.len() < most
            && let Some((term, ordinal)) = stream.next()
        {
            let term = std::str::from_utf8(term).unwrap_or_default();
            if is_wanted(term) {
                found.push((term.to_owned(), ordinal as u32));
            }
        }
        found
    }

    /// The terms at most `edits` edits away from `term` (a character added, removed or changed, or two exchanged), in order, each with its
    /// edits. More than two edits count as two, and those with two begin with the same character.
    pub fn near(&self, term: &str, edits: u8) -> Vec<(String, u32, u8)> {
        near(self.fst.as_fst(), term, edits)
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
