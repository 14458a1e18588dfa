//! Grams of folded text: every three bytes of a line, and where those are common the four to six that begin with them.
//!
//! Three bytes are a whole word's worth of chance in few languages and one character in some, so a trigram that more than
//! a few chunks hold is *split*: for each byte that follows it there is a longer gram, and so on up to six bytes.
//! The layout lists the split trigrams; a longer gram says itself whether it is. So a reader knows, before it
//! fetches anything, which page answers for each place of what it looks for.
//!
//! Each line counts as its folded bytes and two line feeds, so that the last bytes of a line begin a
//! trigram too (and a term of one or two bytes is a range of trigrams), and no gram spans two lines.

use std::fmt;
use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::error::FormatError;
use crate::frame;
use crate::layout::SectionName;
use crate::postings::Postings;
use crate::varint;

/// Three consecutive bytes of folded text.
pub type Trigram = [u8; 3];

/// Bytes of the longest gram.
pub(crate) const MAX_BYTES: usize = 6;

/// Three to six consecutive bytes of folded text. Trigrams come before all longer ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gram {
    is_long: bool,
    bytes: [u8; MAX_BYTES],
    length: u8,
}

impl Gram {
    /// The gram that `bytes` begins with, as long as may be; [`None`] for less than three bytes.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let length = bytes.len().min(MAX_BYTES);
        let mut padded = [0; MAX_BYTES];
        padded.get_mut(..length)?.copy_from_slice(bytes.get(..length)?);
        (length >= 3).then_some(Self { is_long: length > 3, bytes: padded, length: length as u8 })
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}

impl From<Trigram> for Gram {
    fn from([a, b, c]: Trigram) -> Self {
        Self { is_long: false, bytes: [a, b, c, 0, 0, 0], length: 3 }
    }
}

impl fmt::Debug for Gram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

/// Calls `each` with every trigram of `folded` text, and the bytes of its line that follow it.
pub(crate) fn each_trigram(folded: &[u8], mut each: impl FnMut(Trigram, &[u8])) {
    for line in folded.split(|byte| *byte == b'\n') {
        let mut rest = line;
        while let Some((trigram, after)) = rest.split_first_chunk::<3>() {
            each(*trigram, after);
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

/// What the index is asked about chunks that hold a folded byte string within one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// They hold these bytes, three or more, of which at most `limit` grams are looked up.
    Literal {
        /// The bytes.
        bytes: Vec<u8>,
        /// Most grams to look up.
        limit: usize,
    },
    /// They hold at least one trigram of this range.
    Any(RangeInclusive<Trigram>),
    /// No line holds it: it is empty or has a line feed.
    Nothing,
}

impl Probe {
    /// The probe for `folded`, of which at most `limit` grams are looked up, one at least.
    pub fn new(folded: &[u8], limit: usize) -> Self {
        match folded {
            _ if folded.contains(&b'\n') => Self::Nothing,
            [] => Self::Nothing,
            [a] => Self::Any([*a, 0, 0]..=[*a, 0xff, 0xff]),
            [a, b] => Self::Any([*a, *b, 0]..=[*a, *b, 0xff]),
            _ => Self::Literal { bytes: folded.to_vec(), limit: limit.max(1) },
        }
    }
}

/// The grams to look up for a literal where `is_split` tells which trigrams are split: the ones likely to be rare, ascending.
pub(crate) fn lookups(literal: &[u8], limit: usize, is_split: impl Fn(Trigram) -> bool) -> Vec<Gram> {
    let mut rare = Vec::new();
    let mut long = Vec::new();
    let mut short = Vec::new();
    for at in 0..literal.len().saturating_sub(2) {
        let ahead = literal.get(at..).unwrap_or_default();
        let (Some(trigram), Some(gram)) = (ahead.first_chunk::<3>(), Gram::of(ahead)) else { continue };
        match gram.as_bytes().len() {
            _ if !is_split(*trigram) => rare.push(Gram::from(*trigram)),
            MAX_BYTES => long.push(gram),
            4.. => short.push(gram),
            _ if literal.len() == 3 => rare.push(gram),
            _ => {}
        }
    }
    rare.sort_by_key(|gram| std::cmp::Reverse(rarity(gram)));
    // Neighbours say much the same.
    let step = long.len().div_ceil(limit).max(1);
    let spread = (0..step).flat_map(|first| long.iter().copied().skip(first).step_by(step));
    let mut grams: Vec<Gram> =
        rare.into_iter().take(limit.div_ceil(2)).chain(spread).chain(short).take(limit).collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// How rare a trigram is, from the letters alone: the postings that would tell are what is to be fetched.
fn rarity(gram: &Gram) -> u32 {
    const BY_FREQUENCY: &[u8] = b" etaoinsrhldcumfpgwybvkxjqz";
    gram.as_bytes()
        .iter()
        .map(|byte| BY_FREQUENCY.iter().position(|common| common == byte).map_or(20, |rank| rank as u32))
        .sum()
}

/// Collects pages from lists that arrive in the order of their grams.
///
/// A page is the number of its lists, then for each an entry, then the lists' bits. An entry is one byte that says how many
/// bytes the gram shares with the one before (bits 0 to 2) and how many follow (bits 3 to 5), whether the gram is split (bit 6)
/// and whether its list has one chunk only (bit 7); the bytes that follow; the number of chunks if it is not one; the
/// bytes of the list.
pub(crate) struct PageWriter {
    entries: Vec<u8>,
    bits: Vec<u8>,
    count: u64,
    first: Option<Gram>,
    previous: Option<Gram>,
}

/// A page is closed when it reaches this many bytes.
const PAGE_BYTES: usize = 16 << 10;
const SPLIT: u8 = 1 << 6;
const ONE: u8 = 1 << 7;

impl PageWriter {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), bits: Vec::new(), count: 0, first: None, previous: None }
    }

    /// Adds a list; returns the page and its first gram when that fills one.
    pub(crate) fn push(&mut self, gram: Gram, is_split: bool, chunks: u32, bits: &[u8]) -> Option<(Gram, Vec<u8>)> {
        self.first.get_or_insert(gram);
        let shared = self
            .previous
            .replace(gram)
            .map_or(0, |previous| previous.as_bytes().iter().zip(gram.as_bytes()).take_while(|(a, b)| a == b).count());
        let suffix = gram.as_bytes().get(shared..).unwrap_or_default();
        let flags = if is_split { SPLIT } else { 0 } | if chunks == 1 { ONE } else { 0 };
        self.entries.push(shared as u8 | (suffix.len() as u8) << 3 | flags);
        self.entries.extend_from_slice(suffix);
        if chunks != 1 {
            varint::write(&mut self.entries, u64::from(chunks));
        }
        varint::write(&mut self.entries, bits.len() as u64);
        self.bits.extend_from_slice(bits);
        self.count += 1;
        (self.entries.len() + self.bits.len() >= PAGE_BYTES).then(|| self.take()).flatten()
    }

    /// The page begun, if any.
    pub(crate) fn take(&mut self) -> Option<(Gram, Vec<u8>)> {
        self.previous = None;
        let first = self.first.take()?;
        let mut page = Vec::with_capacity(self.entries.len() + self.bits.len() + 16);
        varint::write(&mut page, std::mem::take(&mut self.count));
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
    is_split: bool,
    chunks: u32,
    start: u32,
    end: u32,
}

impl GramPage {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let damaged = || FormatError::damaged(SectionName::Grams, "a page does not hold what it says");
        let page = frame::open(part, SectionName::Grams)?;
        let mut rest: &[u8] = &page;
        let count = varint::read(&mut rest).ok_or_else(damaged)?;
        let mut entries: Vec<Entry> = Vec::with_capacity((count as usize).min(page.len()));
        for _ in 0..count {
            let before = entries.last();
            let entry = read_entry(&mut rest, before).ok_or_else(damaged)?;
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

    /// The list that answers for `gram`, of `universe` chunks in the segment; [`None`] when no chunk holds it.
    ///
    /// For a gram of more than three bytes, whose trigram is split, that is the list of the longest beginning of it that has one.
    pub fn postings(&self, gram: &Gram, universe: u32) -> Option<Postings<'_>> {
        let entry = self.entries.get(self.entries.partition_point(|entry| entry.gram <= *gram).checked_sub(1)?)?;
        let answers = entry.gram == *gram
            || (entry.gram.is_long && !entry.is_split && gram.as_bytes().starts_with(entry.gram.as_bytes()));
        answers.then(|| self.list(entry, universe))
    }

    /// The lists of all trigrams in `range`.
    pub fn postings_in(&self, range: &RangeInclusive<Trigram>, universe: u32) -> impl Iterator<Item = Postings<'_>> {
        let (start, end) = (Gram::from(*range.start()), Gram::from(*range.end()));
        let from = self.entries.partition_point(|entry| entry.gram < start);
        self.entries
            .iter()
            .skip(from)
            .take_while(move |entry| entry.gram <= end)
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

fn read_entry(rest: &mut &[u8], before: Option<&Entry>) -> Option<Entry> {
    let (head, tail) = rest.split_first()?;
    let (suffix, tail) = tail.split_at_checked(usize::from(head >> 3 & 7))?;
    *rest = tail;
    let shared = match usize::from(head & 7) {
        0 => &[][..],
        shared => before?.gram.as_bytes().get(..shared)?,
    };
    if shared.len() + suffix.len() > MAX_BYTES {
        return None;
    }
    let gram = Gram::of(&[shared, suffix].concat())?;
    let mut next = || varint::read(rest).and_then(|value| u32::try_from(value).ok());
    let chunks = if head & ONE == 0 { next()? } else { 1 };
    let start = before.map_or(0, |before| before.end);
    Some(Entry { gram, is_split: head & SPLIT != 0, chunks, start, end: start.checked_add(next()?)? })
}
