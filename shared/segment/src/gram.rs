//! Grams of folded text: the three bytes at a place of a line, or more bytes where those three are common.
//!
//! In most languages, three bytes occur in a word by chance; in some, they are one character. So a gram in more than a
//! few chunks is *split*: longer grams replace it, one for each byte that follows it, up to six bytes. No gram is a
//! prefix of another, and each place has exactly one gram. The gram of a text is therefore a prefix of the text, or the
//! text is a prefix of some grams. Grams are sorted, so all these are neighbours.
//!
//! Each line is indexed as its folded bytes and two line feeds. So a gram begins at each of its last bytes too (a text
//! shorter than a gram is the prefix of some gram), and no gram spans two lines.

use std::cmp::Reverse;
use std::fmt;
use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::error::FormatError;
use crate::frame;
use crate::postings::{self, Postings};
use crate::section::SectionName;
use crate::varint;

/// Bytes of the longest gram.
pub(crate) const MAX_BYTES: usize = 6;

/// Up to six consecutive bytes of folded text, in the order of their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gram {
    bytes: [u8; MAX_BYTES],
    length: u8,
}

impl Gram {
    /// The first bytes of `bytes`, up to the length of the longest gram.
    pub fn of(bytes: &[u8]) -> Self {
        let length = bytes.len().min(MAX_BYTES);
        let mut padded = [0; MAX_BYTES];
        for (to, from) in padded.iter_mut().zip(bytes) {
            *to = *from;
        }
        Self { bytes: padded, length: length as u8 }
    }

    /// The gram with `byte` appended, if there is room.
    pub(crate) fn then(mut self, byte: u8) -> Self {
        if let Some(after) = self.bytes.get_mut(usize::from(self.length)) {
            *after = byte;
            self.length += 1;
        }
        self
    }

    /// The gram's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }

    /// The range from this gram to the last one that begins with it.
    pub(crate) fn and_longer(self) -> RangeInclusive<Self> {
        let mut last = Self { bytes: [0xff; MAX_BYTES], length: MAX_BYTES as u8 };
        for (to, from) in last.bytes.iter_mut().zip(self.as_bytes()) {
            *to = *from;
        }
        self..=last
    }
}

impl fmt::Debug for Gram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

/// Calls `each` for every place of `folded` text, with the three bytes there and the bytes of the line after them.
pub(crate) fn each_place(folded: &[u8], mut each: impl FnMut([u8; 3], &[u8])) {
    for line in folded.split(|byte| *byte == b'\n') {
        let mut rest = line;
        while let Some((first, after)) = rest.split_first_chunk::<3>() {
            each(*first, after);
            rest = rest.get(1..).unwrap_or_default();
        }
        match line {
            [.., a, b] => {
                each([*a, *b, b'\n'], &[]);
                each([*b, b'\n', b'\n'], &[]);
            }
            [a] => each([*a, b'\n', b'\n'], &[]),
            [] => {}
        }
    }
}

/// A query to the index: which chunks contain the folded bytes within one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The text at each of its places, the most selective first. Empty if no line can contain it.
    places: Vec<Gram>,
    limit: usize,
}

impl Probe {
    /// A probe for `folded` with at most `limit` of its grams, and at least one.
    pub fn new(folded: &[u8], limit: usize) -> Self {
        let limit = limit.max(1);
        let is_impossible = folded.contains(&b'\n');
        Self { places: if is_impossible { Vec::new() } else { places(folded, limit) }, limit }
    }

    /// Whether no line can contain it: it is empty or has a line feed.
    pub(crate) const fn is_impossible(&self) -> bool {
        self.places.is_empty()
    }

    pub(crate) fn places(&self) -> &[Gram] {
        &self.places
    }

    pub(crate) const fn limit(&self) -> usize {
        self.limit
    }
}

/// The text at each place of `bytes`, the most selective first.
fn places(bytes: &[u8], limit: usize) -> Vec<Gram> {
    // A text shorter than a gram excludes almost nothing, so it is used only if there is nothing else.
    let count = bytes.len().saturating_sub(2).max(bytes.len().min(1));
    let grams: Vec<Gram> = (0..count).filter_map(|at| Some(Gram::of(bytes.get(at..)?))).collect();
    // The last places are less selective, and neighbours overlap: so one place of each stretch comes first.
    let whole = grams.iter().filter(|gram| gram.as_bytes().len() == MAX_BYTES).count().max(1);
    let mut places: Vec<(usize, Gram)> = grams.into_iter().enumerate().collect();
    let stretch = |at: usize| at.min(whole - 1) * limit / whole;
    places.sort_by_key(|(at, gram)| (Reverse(gram.as_bytes().len()), stretch(*at), Reverse(rarity(gram))));
    let mut rank = 0;
    let mut before = None;
    let mut ranked: Vec<(usize, usize, Gram)> = Vec::with_capacity(places.len());
    for (at, gram) in places {
        let group = Some((gram.as_bytes().len(), stretch(at)));
        rank = if before == group { rank + 1 } else { 0 };
        before = group;
        ranked.push((MAX_BYTES - gram.as_bytes().len(), rank, gram));
    }
    ranked.sort_by_key(|(short, rank, _)| (*short, *rank));
    ranked.into_iter().map(|(_, _, gram)| gram).collect()
}

/// An estimate of how rare a gram is, from its letters alone, since its postings are not fetched yet.
fn rarity(gram: &Gram) -> u32 {
    const BY_FREQUENCY: &[u8] = b" etaoinsrhldcumfpgwybvkxjqz";
    gram.as_bytes()
        .iter()
        .map(|byte| BY_FREQUENCY.iter().position(|common| common == byte).map_or(20, |rank| rank as u32))
        .sum()
}

/// Collects lists into pages. Lists arrive in the order of their grams.
pub(crate) struct PageWriter {
    /// The number of chunks in the segment.
    universe: u32,
    entries: Vec<u8>,
    bits: Vec<u8>,
    count: u64,
    first: Option<Gram>,
    previous: Option<Gram>,
}

/// A page ends when it reaches this many bytes. Most page lengths then take two bytes in the directory.
const PAGE_BYTES: usize = 16_000;
const ONE: u8 = 1 << 7;

/// The byte before a gram: `shared` bytes are the same as in the gram before, and `more` bytes follow.
pub(crate) const fn head(shared: usize, more: usize) -> u8 {
    shared as u8 | (more as u8) << 3
}

/// Reads a gram from the front of `bytes`, with the byte before it. `None` if it is damaged.
pub(crate) fn read(bytes: &mut &[u8], before: Option<&Gram>) -> Option<(u8, Gram)> {
    let (head, tail) = bytes.split_first()?;
    let (suffix, tail) = tail.split_at_checked(usize::from(head >> 3 & 7))?;
    let shared = match usize::from(head & 7) {
        0 => &[][..],
        shared => before?.as_bytes().get(..shared)?,
    };
    if !(3..=MAX_BYTES).contains(&(shared.len() + suffix.len())) {
        return None;
    }
    *bytes = tail;
    Some((*head, Gram::of(&[shared, suffix].concat())))
}

impl PageWriter {
    pub(crate) const fn new(universe: u32) -> Self {
        Self { universe, entries: Vec::new(), bits: Vec::new(), count: 0, first: None, previous: None }
    }

    /// The length in bytes of a list with one chunk.
    const fn alone(&self) -> usize {
        (u32::BITS - self.universe.leading_zeros()).div_ceil(8) as usize
    }

    /// Adds a list. Returns the page and its first gram when the page is full.
    pub(crate) fn push(&mut self, gram: Gram, chunks: &[u32]) -> Option<(Gram, Vec<u8>)> {
        let mut bits = postings::encode(chunks, self.universe);
        self.first.get_or_insert(gram);
        let shared = self
            .previous
            .replace(gram)
            .map_or(0, |previous| previous.as_bytes().iter().zip(gram.as_bytes()).take_while(|(a, b)| a == b).count());
        let suffix = gram.as_bytes().get(shared..).unwrap_or_default();
        let is_one = chunks.len() == 1;
        self.entries.push(head(shared, suffix.len()) | if is_one { ONE } else { 0 });
        self.entries.extend_from_slice(suffix);
        if is_one {
            bits.resize(self.alone(), 0);
        } else {
            varint::write(&mut self.entries, chunks.len() as u64);
            varint::write(&mut self.entries, bits.len() as u64);
        }
        self.bits.append(&mut bits);
        self.count += 1;
        (self.entries.len() + self.bits.len() >= PAGE_BYTES).then(|| self.take()).flatten()
    }

    /// The unfinished page, if there is one.
    pub(crate) fn take(&mut self) -> Option<(Gram, Vec<u8>)> {
        self.previous = None;
        let first = self.first.take()?;
        let mut page = Vec::with_capacity(self.entries.len() + self.bits.len() + 16);
        varint::write(&mut page, std::mem::take(&mut self.count));
        page.push(self.alone() as u8);
        page.append(&mut self.entries);
        page.append(&mut self.bits);
        Some((first, frame::seal(page)))
    }
}

/// A decoded page of postings.
#[derive(Debug)]
pub struct GramPage {
    entries: Vec<Entry>,
    bits: Bytes,
}

#[derive(Debug)]
struct Entry {
    gram: Gram,
    chunks: u32,
    start: u32,
    end: u32,
}

impl GramPage {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let damaged = || FormatError::damaged(SectionName::Grams, "the content of a page is inconsistent");
        let page = frame::open(part, SectionName::Grams)?;
        let mut rest: &[u8] = &page;
        let count = varint::read(&mut rest).ok_or_else(damaged)?;
        let (alone, tail) = rest.split_first().ok_or_else(damaged)?;
        rest = tail;
        let mut entries: Vec<Entry> = Vec::with_capacity((count as usize).min(page.len()));
        for _ in 0..count {
            let before = entries.last();
            let entry = read_entry(&mut rest, before, *alone).ok_or_else(damaged)?;
            if before.is_some_and(|before| before.gram >= entry.gram) {
                return Err(damaged());
            }
            entries.push(entry);
        }
        if entries.last().map_or(0, |last| last.end as usize) != rest.len() {
            return Err(damaged());
        }
        let bits = page.slice(page.len() - rest.len()..);
        Ok(Self { entries, bits })
    }

    /// The lists for the text at `place`: of the gram that is a prefix of it, or of all grams that begin with it. `universe` is the
    /// number of chunks in the segment.
    pub fn postings(&self, place: Gram, universe: u32) -> impl Iterator<Item = Postings<'_>> {
        let range = place.and_longer();
        let from = self.entries.partition_point(|entry| entry.gram < place);
        let begun = self.entries.get(..from).and_then(|before| before.last());
        let begun = begun.filter(|entry| place.as_bytes().starts_with(entry.gram.as_bytes()));
        let longer = self.entries.iter().skip(from).take_while(move |entry| entry.gram <= *range.end());
        begun.into_iter().chain(longer).map(move |entry| self.list(entry, universe))
    }

    fn list(&self, entry: &Entry, universe: u32) -> Postings<'_> {
        let bits = self.bits.get(entry.start as usize..entry.end as usize).unwrap_or_default();
        Postings::new(bits, entry.chunks, universe)
    }

    pub(crate) fn weight(&self) -> usize {
        self.entries.len() * size_of::<Entry>() + self.bits.len()
    }
}

fn read_entry(rest: &mut &[u8], before: Option<&Entry>, alone: u8) -> Option<Entry> {
    let (head, gram) = read(rest, before.map(|before| &before.gram))?;
    let mut next = || varint::read(rest).and_then(|value| u32::try_from(value).ok());
    let (chunks, bytes) = if head & ONE == 0 { (next()?, next()?) } else { (1, u32::from(alone)) };
    let start = before.map_or(0, |before| before.end);
    Some(Entry { gram, chunks, start, end: start.checked_add(bytes)? })
}
