//! The vectors of a segment's notes: an object of its own beside the segment, since another model replaces all of them, and the texts of
//! none.
//!
//! Codes are a bit, rows a byte for each dimension of a passage's vector; what they mean is for who makes and compares them.

mod writer;

use std::ops::Range;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::error::FormatError;
use crate::frame;
use crate::part_ref::{PartKind, PartRef};
use crate::section::SectionName;
use crate::varint;

pub use writer::{BuiltVectors, VectorWriter};

/// Rows of a page.
const PAGE: u32 = 64;
/// Bytes before the first part: the magic number and the version.
const FRAME: u64 = 12;
const CHECKSUM: u64 = 4;
const KEY: u64 = 8;
/// Most bytes of the table before compression.
const MAX_TABLE_BYTES: usize = 64 << 20;
/// Most dimensions.
pub const MAX_DIMENSIONS: u32 = 4096;
/// Most rows of a segment.
pub const MAX_ROWS: u32 = 1 << 24;

/// Where the parts of the object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorLayout {
    /// Bytes of the object.
    pub bytes: u64,
    /// Dimensions of the vectors.
    pub dimensions: u32,
    /// How many vectors there are.
    pub rows: u32,
    /// How many documents wait for theirs.
    pub waiting: u32,
    /// Bytes of the table.
    pub table: u32,
}

/// The vector of a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredVector {
    /// Identifies the embedded text.
    pub key: u64,
    /// The passage's first line, counted from 0.
    pub line: u32,
    /// Its number of lines.
    pub lines: u32,
    /// The signs of the numbers.
    pub code: Vec<u8>,
    /// The scale and the numbers.
    pub row: Vec<u8>,
}

const fn code_bytes(dimensions: u32) -> u64 {
    dimensions.div_ceil(8) as u64
}

pub(crate) const fn row_bytes(dimensions: u32) -> u64 {
    dimensions as u64 + 4
}

impl VectorLayout {
    fn codes_start(&self) -> u64 {
        FRAME + u64::from(self.table)
    }

    fn keys_start(&self) -> u64 {
        self.codes_start() + u64::from(self.rows) * code_bytes(self.dimensions) + CHECKSUM
    }

    fn rows_start(&self) -> u64 {
        self.keys_start() + u64::from(self.rows) * KEY + CHECKSUM
    }

    fn page_start(&self, page: u32) -> u64 {
        let before = u64::from(page) * u64::from(PAGE);
        self.rows_start() + before.min(u64::from(self.rows)) * row_bytes(self.dimensions) + u64::from(page) * CHECKSUM
    }

    /// Whether its numbers fit together.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        (1..=MAX_DIMENSIONS).contains(&self.dimensions)
            && self.rows <= MAX_ROWS
            && self.bytes == self.page_start(self.rows.div_ceil(PAGE))
    }

    /// The table: which rows are of which document.
    #[must_use]
    pub fn table(&self) -> PartRef {
        PartRef { kind: PartKind::VectorTable, range: FRAME..self.codes_start() }
    }

    /// The codes of all vectors, one after the other.
    #[must_use]
    pub fn codes(&self) -> PartRef {
        PartRef { kind: PartKind::Vectors, range: self.codes_start()..self.keys_start() }
    }

    /// The keys of all vectors, each in eight bytes.
    #[must_use]
    pub fn keys(&self) -> PartRef {
        PartRef { kind: PartKind::Vectors, range: self.keys_start()..self.rows_start() }
    }

    /// The page with a row, and the bytes of the row in it.
    #[must_use]
    pub fn row(&self, row: u32) -> (PartRef, Range<usize>) {
        let page = row / PAGE;
        let end = if (page + 1) * PAGE >= self.rows { self.bytes } else { self.page_start(page + 1) };
        let size = row_bytes(self.dimensions) as usize;
        let at = (row % PAGE) as usize * size;
        (PartRef { kind: PartKind::Vectors, range: self.page_start(page)..end }, at..at + size)
    }

    /// All pages of rows.
    #[must_use]
    pub fn pages(&self) -> Vec<PartRef> {
        (0..self.rows).step_by(PAGE as usize).map(|row| self.row(row).0).collect()
    }

    /// Bytes of a whole page of rows.
    #[must_use]
    pub const fn page_bytes(&self) -> u64 {
        PAGE as u64 * row_bytes(self.dimensions) + CHECKSUM
    }

    /// The rows of a page, in order.
    pub fn rows_of<'p>(&self, page: &'p Bytes) -> impl Iterator<Item = &'p [u8]> + use<'p> {
        page.chunks_exact(row_bytes(self.dimensions) as usize)
    }

    /// The bytes of the code of row `row` in those of all.
    #[must_use]
    pub fn code_of(&self, row: u32) -> Range<usize> {
        let size = code_bytes(self.dimensions) as usize;
        row as usize * size..(row as usize + 1) * size
    }
}

/// Which rows are of which document.
#[derive(Debug)]
pub struct VectorTable {
    /// For each document its first row, and the number of all rows.
    starts: Vec<u32>,
    /// For each document whether it waits for its vectors.
    waits: Vec<bool>,
    /// For each row its first line and its number of lines.
    lines: Vec<(u32, u32)>,
}

impl VectorTable {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let damaged = || FormatError::damaged(SectionName::Vectors, "the content of the table is inconsistent");
        let table = frame::unpack(part, SectionName::Vectors, MAX_TABLE_BYTES)?;
        let mut rest = table.as_slice();
        let documents = varint::read(&mut rest).ok_or_else(damaged)?;
        Self::of_documents(0, rest).filter(|made| u64::from(made.documents()) == documents).ok_or_else(damaged)
    }

    /// The documents that `rest` has, of which the first one's first row is `first`.
    pub(crate) fn of_documents(first: u32, mut rest: &[u8]) -> Option<Self> {
        let mut made = Self { starts: vec![first], waits: Vec::new(), lines: Vec::new() };
        while !rest.is_empty() {
            let mut number = || varint::read(&mut rest).and_then(|number| u32::try_from(number).ok());
            let state = number()?;
            made.waits.push(state == 0);
            let mut line = 0u32;
            for _ in 1..state {
                line = line.checked_add(number()?)?;
                let lines = number()?;
                made.lines.push((line, lines));
                line = line.checked_add(lines)?;
            }
            made.starts.push(first.checked_add(u32::try_from(made.lines.len()).ok()?)?);
        }
        Some(made)
    }

    /// Appends these documents, as they were read.
    pub(crate) fn write(&self, documents: Range<u32>, out: &mut Vec<u8>) {
        for document in documents {
            let rows = self.rows(document);
            let count = if self.waits(document) { 0 } else { u64::from(rows.end - rows.start) + 1 };
            varint::write(out, count);
            let mut end = 0;
            for (line, lines) in rows.filter_map(|row| self.lines(row)) {
                varint::write(out, u64::from(line.saturating_sub(end)));
                varint::write(out, u64::from(lines));
                end = line.saturating_add(lines);
            }
        }
    }

    /// The number of documents.
    #[must_use]
    pub fn documents(&self) -> u32 {
        self.waits.len() as u32
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.lines.len() as u32
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Whether a document waits for its vectors. One that cannot have any does not.
    #[must_use]
    pub fn waits(&self, document: u32) -> bool {
        self.waits.get(document as usize).is_none_or(|waits| *waits)
    }

    /// The rows of a document.
    #[must_use]
    pub fn rows(&self, document: u32) -> Range<u32> {
        let at = |index: usize| self.starts.get(index).copied();
        at(document as usize).zip(at(document as usize + 1)).map_or(0..0, |(from, to)| from..to)
    }

    /// The first line of a row's passage, counted from 0, and its number of lines.
    #[must_use]
    pub fn lines(&self, row: u32) -> Option<(u32, u32)> {
        let first = self.starts.first().copied().unwrap_or(0);
        self.lines.get(row.checked_sub(first)? as usize).copied()
    }

    pub(crate) fn weight(&self) -> usize {
        self.starts.len() * 5 + self.lines.len() * 8
    }
}

/// All keys, in the order of the rows.
pub fn keys_of(keys: &Bytes) -> impl Iterator<Item = u64> + '_ {
    keys.as_chunks::<8>().0.iter().map(|key| u64::from_le_bytes(*key))
}

/// The vectors of a document, of which these are the codes, keys and pages of rows of its object, in order; [`None`] if it waits.
#[must_use]
pub fn of_document(
    layout: &VectorLayout,
    table: &VectorTable,
    [codes, keys]: [&Bytes; 2],
    pages: &[&Bytes],
    document: u32,
) -> Option<Vec<StoredVector>> {
    if table.waits(document) {
        return None;
    }
    let one = |row: u32| {
        let (line, lines) = table.lines(row)?;
        let key = keys.get(row as usize * KEY as usize..)?.first_chunk::<8>().map(|key| u64::from_le_bytes(*key))?;
        let code = codes.get(layout.code_of(row))?.to_vec();
        let row = pages.get((row / PAGE) as usize)?.get(layout.row(row).1)?.to_vec();
        Some(StoredVector { key, line, lines, code, row })
    };
    table.rows(document).map(one).collect()
}

#[cfg(test)]
mod tests;
