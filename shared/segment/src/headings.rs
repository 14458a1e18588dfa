//! Headings of all documents, in document order.

use bytes::Bytes;

use atlas_vault::fold;

use crate::error::FormatError;
use crate::frame::{self, Packer};
use crate::lines::LineStrings;
use crate::section::SectionName;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading<'a> {
    /// The document that contains it.
    pub document: u32,
    /// 1 to 6.
    pub level: u8,
    /// Its line, counted from 0.
    pub line: u32,
    /// Its text without the marks.
    pub text: &'a str,
}

/// The headings of a segment.
#[derive(Debug)]
pub struct Headings {
    entries: Vec<Entry>,
    texts: String,
    /// Start of each text, and the end of the last.
    starts: Vec<u32>,
    folded: LineStrings,
}

#[derive(Debug)]
struct Entry {
    document: u32,
    line: u32,
    level: u8,
}

impl Headings {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let damaged = || FormatError::damaged(SectionName::Headings, "its content is inconsistent");
        let mut table = frame::unpack(part, SectionName::Headings, MAX_HEADINGS_BYTES)?;
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
            entries.push(Entry { document, line, level: *level });
        }
        let texts = String::from_utf8(table.split_off(table.len() - rest.len())).map_err(|_| damaged())?;
        let folded = LineStrings::new(fold::fold(&texts).into_bytes(), SectionName::Headings)?;
        let starts: Vec<u32> =
            std::iter::once(0).chain(memchr::memchr_iter(b'\n', texts.as_bytes()).map(|end| end as u32 + 1)).collect();
        if folded.len() != entries.len() || starts.len() != entries.len() + 1 {
            return Err(damaged());
        }
        Ok(Self { entries, texts, starts, folded })
    }

    /// The headings, in order, whose folded text contains `folded`.
    pub fn holding<'a>(&'a self, folded: &'a [u8]) -> impl Iterator<Item = Heading<'a>> + 'a {
        self.folded.holding(folded).filter_map(|index| self.get(index as usize))
    }

    /// The headings of `document`, in order.
    pub fn of(&self, document: u32) -> impl Iterator<Item = Heading<'_>> {
        let from = self.entries.partition_point(|entry| entry.document < document);
        (from..).map_while(move |index| self.get(index).filter(|heading| heading.document == document))
    }

    fn get(&self, index: usize) -> Option<Heading<'_>> {
        let entry = self.entries.get(index)?;
        let start = *self.starts.get(index)? as usize;
        let end = *self.starts.get(index + 1)? as usize;
        Some(Heading {
            document: entry.document,
            level: entry.level,
            line: entry.line,
            text: self.texts.get(start..end - 1)?,
        })
    }

    pub(crate) fn weight(&self) -> usize {
        self.entries.len() * size_of::<Entry>() + self.texts.len() + self.starts.len() * 4 + self.folded.weight()
    }
}
