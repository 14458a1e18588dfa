//! Headings of all documents, in document order.

use std::borrow::Cow;

use bytes::Bytes;

use crate::error::FormatError;
use crate::frame::{self, Packer};
use crate::section::SectionName;
use crate::spelled::SpelledLines;
use crate::varint;

const MAX_HEADINGS_BYTES: usize = 256 << 20;

/// Collects headings.
pub(crate) struct HeadingWriter {
    entries: Vec<u8>,
    texts: Vec<u8>,
    count: u64,
    document: u32,
}

impl HeadingWriter {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), texts: Vec::new(), count: 0, document: 0 }
    }

    pub(crate) fn push(&mut self, document: u32, level: u8, line: u32, text: &str) {
        varint::write(&mut self.entries, u64::from(document - self.document));
        self.entries.push(level);
        varint::write(&mut self.entries, u64::from(line));
        self.texts.extend(text.bytes().map(|byte| if byte == b'\n' { b' ' } else { byte }));
        self.texts.push(b'\n');
        self.count += 1;
        self.document = document;
    }

    pub(crate) fn finish(self, packer: &mut Packer) -> Result<Vec<u8>, FormatError> {
        let mut table = Vec::with_capacity(self.entries.len() + self.texts.len() + 10);
        varint::write(&mut table, self.count);
        table.extend_from_slice(&self.entries);
        table.extend_from_slice(&self.texts);
        packer.pack(&table)
    }
}

/// One heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading<'a> {
    /// The document that contains it.
    pub document: u32,
    /// 1 to 6.
    pub level: u8,
    /// Its line, counted from 0.
    pub line: u32,
    /// Its text without the marks.
    pub text: Cow<'a, str>,
}

/// The headings of a segment.
#[derive(Debug)]
pub struct Headings {
    entries: Vec<Entry>,
    texts: SpelledLines,
}

#[derive(Debug)]
struct Entry {
    document: u32,
    /// The line, and in the lowest bits the level.
    line_and_level: u32,
}

impl Entry {
    fn new(document: u32, line: u32, level: u8) -> Option<Self> {
        Some(Self { document, line_and_level: line.checked_mul(1 << LEVEL_BITS)? | u32::from(level) })
            .filter(|_| level < 1 << LEVEL_BITS)
    }

    const fn line(&self) -> u32 {
        self.line_and_level >> LEVEL_BITS
    }

    const fn level(&self) -> u8 {
        (self.line_and_level & ((1 << LEVEL_BITS) - 1)) as u8
    }
}

/// Levels are at most 6.
const LEVEL_BITS: u32 = 3;

impl Headings {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let damaged = || FormatError::damaged(SectionName::Headings, "its content is inconsistent");
        let table = frame::unpack(part, SectionName::Headings, MAX_HEADINGS_BYTES)?;
        let mut rest = table.as_slice();
        let count = varint::read(&mut rest).filter(|count| *count <= rest.len() as u64).ok_or_else(damaged)?;
        let mut entries = Vec::with_capacity(count as usize);
        let mut document = 0u32;
        for _ in 0..count {
            let delta = varint::read(&mut rest).and_then(|delta| u32::try_from(delta).ok()).ok_or_else(damaged)?;
            let (level, tail) = rest.split_first().ok_or_else(damaged)?;
            rest = tail;
            let line = varint::read(&mut rest).and_then(|line| u32::try_from(line).ok()).ok_or_else(damaged)?;
            document = document.checked_add(delta).ok_or_else(damaged)?;
            entries.push(Entry::new(document, line, *level).ok_or_else(damaged)?);
        }
        let texts = SpelledLines::new(std::str::from_utf8(rest).map_err(|_| damaged())?, SectionName::Headings)?;
        if texts.len() != entries.len() {
            return Err(damaged());
        }
        Ok(Self { entries, texts })
    }

    /// The headings, in order, whose folded text contains `folded`.
    pub fn holding<'a>(&'a self, folded: &'a [u8]) -> impl Iterator<Item = Heading<'a>> + 'a {
        self.texts.holding(folded).filter_map(|index| self.get(index as usize))
    }

    /// The headings of `document`, in order.
    pub fn of(&self, document: u32) -> impl Iterator<Item = Heading<'_>> {
        let from = self.entries.partition_point(|entry| entry.document < document);
        (from..).map_while(move |index| self.get(index).filter(|heading| heading.document == document))
    }

    /// The folded texts of the headings of `document`, in order, which costs less than how they are spelled.
    pub fn folded_of(&self, document: u32) -> impl Iterator<Item = &str> {
        let from = self.entries.partition_point(|entry| entry.document < document);
        let own = self.entries.iter().skip(from).take_while(move |entry| entry.document == document);
        (0..).skip(from).zip(own).map_while(|(index, _)| self.texts.folded(index))
    }

    fn get(&self, index: usize) -> Option<Heading<'_>> {
        let entry = self.entries.get(index)?;
        let text = self.texts.get(u32::try_from(index).ok()?)?;
        Some(Heading { document: entry.document, level: entry.level(), line: entry.line(), text })
    }

    pub(crate) fn weight(&self) -> usize {
        self.entries.len() * size_of::<Entry>() + self.texts.weight()
    }
}
