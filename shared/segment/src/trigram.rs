//! Trigrams of folded text, line by line, and the pages of their postings.
//!
//! Each line counts as its folded bytes and two line feeds, so that the last bytes of a line begin a
//! trigram too (and a term of one or two bytes is a range of trigrams), and no trigram spans two lines.

use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::error::FormatError;
use crate::frame;
use crate::layout::SectionName;
use crate::postings::Postings;
use crate::varint;

/// Three consecutive bytes of folded text.
pub type Trigram = [u8; 3];

/// Calls `each` with every trigram of `folded` text.
pub(crate) fn each_trigram(folded: &[u8], mut each: impl FnMut(Trigram)) {
    for line in folded.split(|byte| *byte == b'\n') {
        for window in line.windows(3) {
            if let Ok(trigram) = Trigram::try_from(window) {
                each(trigram);
            }
        }
        match line {
            [.., a, b] => {
                each([*a, *b, b'\n']);
                each([*b, b'\n', b'\n']);
            }
            [a] => each([*a, b'\n', b'\n']),
            [] => {}
        }
    }
}

/// What the index can say about chunks that hold a folded byte string within one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// They hold all these trigrams.
    All(Vec<Trigram>),
    /// They hold at least one trigram of this range.
    Any(RangeInclusive<Trigram>),
    /// No line holds it: it is empty or has a line feed.
    Nothing,
}

impl Probe {
    /// The probe for `folded`, with at most `limit` trigrams: the ones likely to be rare.
    pub fn new(folded: &[u8], limit: usize) -> Self {
        if folded.contains(&b'\n') {
            return Self::Nothing;
        }
        match folded {
            [] => Self::Nothing,
            [a] => Self::Any([*a, 0, 0]..=[*a, 0xff, 0xff]),
            [a, b] => Self::Any([*a, *b, 0]..=[*a, *b, 0xff]),
            _ => {
                let mut trigrams: Vec<Trigram> =
                    folded.windows(3).filter_map(|window| window.try_into().ok()).collect();
                trigrams.sort_unstable();
                trigrams.dedup();
                trigrams.sort_by_key(|trigram| std::cmp::Reverse(rarity(trigram)));
                trigrams.truncate(limit.max(1));
                trigrams.sort_unstable();
                Self::All(trigrams)
            }
        }
    }
}

/// How rare a trigram is, from the letters alone: the postings that would tell are what is to be fetched.
fn rarity(trigram: &Trigram) -> u32 {
    const BY_FREQUENCY: &[u8] = b" etaoinsrhldcumfpgwybvkxjqz";
    trigram
        .iter()
        .map(|byte| BY_FREQUENCY.iter().position(|common| common == byte).map_or(20, |rank| rank as u32))
        .sum()
}

/// Collects pages from lists that arrive in trigram order.
pub(crate) struct PageWriter {
    entries: Vec<u8>,
    bits: Vec<u8>,
    count: u64,
    first: Trigram,
    previous: u32,
}

/// A page is closed when it reaches this many bytes.
const PAGE_BYTES: usize = 16 << 10;

impl PageWriter {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), bits: Vec::new(), count: 0, first: [0; 3], previous: 0 }
    }

    /// Adds a list; returns the page and its first trigram when that fills one.
    pub(crate) fn push(&mut self, trigram: Trigram, chunks: u32, bits: &[u8]) -> Option<(Trigram, Vec<u8>)> {
        if self.count == 0 {
            self.first = trigram;
            self.previous = 0;
        }
        let value = number(trigram);
        varint::write(&mut self.entries, u64::from(value - self.previous));
        self.previous = value;
        varint::write(&mut self.entries, u64::from(chunks));
        varint::write(&mut self.entries, bits.len() as u64);
        self.bits.extend_from_slice(bits);
        self.count += 1;
        (self.entries.len() + self.bits.len() >= PAGE_BYTES).then(|| self.take()).flatten()
    }

    /// The page begun, if any.
    pub(crate) fn take(&mut self) -> Option<(Trigram, Vec<u8>)> {
        if self.count == 0 {
            return None;
        }
        let mut page = Vec::with_capacity(self.entries.len() + self.bits.len() + 16);
        varint::write(&mut page, self.count);
        page.append(&mut self.entries);
        page.append(&mut self.bits);
        self.count = 0;
        Some((self.first, frame::seal(page)))
    }
}

const fn number(trigram: Trigram) -> u32 {
    u32::from_be_bytes([0, trigram[0], trigram[1], trigram[2]])
}

/// A decoded page of postings.
#[derive(Debug)]
pub struct TrigramPage {
    entries: Vec<Entry>,
    bits: Bytes,
}

#[derive(Debug)]
struct Entry {
    trigram: u32,
    chunks: u32,
    start: u32,
    end: u32,
}

impl TrigramPage {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let damaged = || FormatError::damaged(SectionName::Trigrams, "a page does not hold what it says");
        let page = frame::open(part, SectionName::Trigrams)?;
        let mut rest: &[u8] = &page;
        let mut next = || varint::read(&mut rest).and_then(|value| u32::try_from(value).ok());
        let count = next().ok_or_else(damaged)?;
        let mut entries = Vec::with_capacity((count as usize).min(page.len()));
        let (mut trigram, mut start) = (0u32, 0u32);
        for _ in 0..count {
            let (Some(delta), Some(chunks), Some(length)) = (next(), next(), next()) else {
                return Err(damaged());
            };
            trigram = trigram.checked_add(delta).ok_or_else(damaged)?;
            let end = start.checked_add(length).ok_or_else(damaged)?;
            entries.push(Entry { trigram, chunks, start, end });
            start = end;
        }
        if start as usize != rest.len() {
            return Err(damaged());
        }
        let bits = page.slice(page.len() - rest.len()..);
        Ok(Self { entries, bits })
    }

    /// The chunks that hold `trigram`, of `universe` chunks in the segment.
    pub fn postings(&self, trigram: Trigram, universe: u32) -> Option<Postings<'_>> {
        let index = self.entries.binary_search_by_key(&number(trigram), |entry| entry.trigram).ok()?;
        self.entries.get(index).map(|entry| self.list(entry, universe))
    }

    /// The lists of all trigrams in `range`.
    pub fn postings_in(&self, range: &RangeInclusive<Trigram>, universe: u32) -> impl Iterator<Item = Postings<'_>> {
        let (start, end) = (number(*range.start()), number(*range.end()));
        let from = self.entries.partition_point(|entry| entry.trigram < start);
        self.entries
            .iter()
            .skip(from)
            .take_while(move |entry| entry.trigram <= end)
            .map(move |entry| self.list(entry, universe))
    }

    fn list(&self, entry: &Entry, universe: u32) -> Postings<'_> {
        let bits = self.bits.get(entry.start as usize..entry.end as usize).unwrap_or_default();
        Postings::new(bits, entry.chunks, universe)
    }

    pub(crate) fn weight(&self) -> usize {
        self.entries.len() * size_of::<Entry>() + self.bits.len()
    }
}

/// The chunks, ascending, that the fetched `pages` allow for `probe`: all that match, and maybe others.
pub fn candidates<'a>(probe: &Probe, pages: impl Iterator<Item = &'a TrigramPage> + Clone, universe: u32) -> Vec<u32> {
    match probe {
        Probe::Nothing => Vec::new(),
        Probe::All(trigrams) => {
            let mut lists = Vec::with_capacity(trigrams.len());
            for trigram in trigrams {
                match pages.clone().find_map(|page| page.postings(*trigram, universe)) {
                    Some(list) => lists.push(list),
                    None => return Vec::new(),
                }
            }
            lists.sort_by_key(Postings::count);
            let mut lists = lists.into_iter();
            let mut ids = lists.next().map(|list| list.ids()).unwrap_or_default();
            for list in lists {
                if ids.is_empty() {
                    break;
                }
                list.retain(&mut ids);
            }
            ids
        }
        Probe::Any(range) => {
            let mut found = vec![false; universe as usize];
            for list in pages.flat_map(|page| page.postings_in(range, universe)) {
                for id in list.ids() {
                    if let Some(slot) = found.get_mut(id as usize) {
                        *slot = true;
                    }
                }
            }
            (0u32..).zip(found).filter_map(|(id, found)| found.then_some(id)).collect()
        }
    }
}
