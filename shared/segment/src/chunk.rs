//! Chunks: documents' text in whole lines, about 4 KiB at a time. Postings are of chunks, since almost any few words stand
//! somewhere in a long document; and a match is looked for, and read, in the chunk alone.

use std::ops::Range;

use bytes::Bytes;

use crate::error::FormatError;
use crate::frame::{self, Packer};
use crate::layout::SectionName;
use crate::record::TextSpan;
use crate::varint;

/// A chunk is closed at the end of the line that takes it to this many bytes.
const CHUNK_BYTES: usize = 4 << 10;
/// Most bytes of the table, decompressed.
const MAX_TABLE_BYTES: usize = 64 << 20;

/// The chunks of `text`; together they are all of it.
pub(crate) fn chunks(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let ahead = rest.get(CHUNK_BYTES - 1..).unwrap_or_default();
        let end = memchr::memchr(b'\n', ahead).map_or(rest.len(), |end| CHUNK_BYTES + end);
        let (chunk, after) = rest.split_at_checked(end)?;
        rest = after;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// Collects the table of chunks.
pub(crate) struct ChunkWriter {
    /// Number of chunks of each document.
    counts: Vec<u8>,
    /// Bytes of each chunk.
    lengths: Vec<u8>,
    /// Line ends in each chunk but the last of a document.
    lines: Vec<u8>,
    documents: u32,
    /// Chunks so far.
    pub(crate) chunks: u32,
}

impl ChunkWriter {
    pub(crate) const fn new() -> Self {
        Self { counts: Vec::new(), lengths: Vec::new(), lines: Vec::new(), documents: 0, chunks: 0 }
    }

    /// Adds the next document, whose text is empty if it has none.
    pub(crate) fn push(&mut self, text: &[u8]) {
        let mut lines = None;
        let mut count = 0u32;
        for chunk in chunks(text) {
            if let Some(lines) = lines.replace(memchr::memchr_iter(b'\n', chunk).count()) {
                varint::write(&mut self.lines, lines as u64);
            }
            varint::write(&mut self.lengths, chunk.len() as u64);
            count += 1;
        }
        varint::write(&mut self.counts, u64::from(count));
        self.chunks += count;
        self.documents += 1;
    }

    /// Bytes of each chunk.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = usize> {
        let mut rest = self.lengths.as_slice();
        std::iter::from_fn(move || varint::read(&mut rest).map(|bytes| bytes as usize))
    }

    pub(crate) fn finish(self, packer: &mut Packer) -> Result<Vec<u8>, FormatError> {
        let mut table = Vec::new();
        varint::write(&mut table, u64::from(self.documents));
        for column in [self.counts, self.lengths, self.lines] {
            table.extend_from_slice(&column);
        }
        packer.pack(&table)
    }
}

/// Where every document's text is, and every chunk's.
#[derive(Debug)]
pub struct Chunks {
    /// The first chunk of each document, and the number of chunks.
    first: Vec<u32>,
    /// Start of each chunk in the segment's text, and the end of the last.
    starts: Vec<u32>,
    /// The first line of each chunk, counted from 0 in its document.
    lines: Vec<u32>,
}

impl Chunks {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let damaged = || FormatError::damaged(SectionName::Chunks, "it does not hold what it says");
        let table = frame::unpack(part, SectionName::Chunks, MAX_TABLE_BYTES)?;
        let mut rest = table.as_slice();
        let mut next = || varint::read(&mut rest).and_then(|number| u32::try_from(number).ok());
        let sums = |count: u32, next: &mut dyn FnMut() -> Option<u32>| {
            let mut sums = vec![0u32];
            for _ in 0..count {
                sums.push(sums.last()?.checked_add(next()?)?);
            }
            Some(sums)
        };
        let documents = next().ok_or_else(damaged)?;
        let first = sums(documents, &mut next).ok_or_else(damaged)?;
        let chunks = first.last().copied().unwrap_or(0);
        let starts = sums(chunks, &mut next).ok_or_else(damaged)?;
        let mut lines = Vec::with_capacity(starts.len());
        for (from, to) in first.iter().zip(first.iter().skip(1)) {
            let mut line = 0u32;
            for chunk in *from..*to {
                lines.push(line);
                if chunk + 1 < *to {
                    line = line.checked_add(next().ok_or_else(damaged)?).ok_or_else(damaged)?;
                }
            }
        }
        if rest.is_empty() { Ok(Self { first, starts, lines }) } else { Err(damaged()) }
    }

    /// The chunks of `document`.
    pub fn of(&self, document: u32) -> Option<Range<u32>> {
        let at = document as usize;
        Some(*self.first.get(at)?..*self.first.get(at + 1)?)
    }

    /// The document that `chunk` is of.
    pub fn document(&self, chunk: u32) -> Option<u32> {
        let after = self.first.partition_point(|first| *first <= chunk);
        if after < self.first.len() { Some(after.checked_sub(1)? as u32) } else { None }
    }

    /// Where the text of `chunks`, which follow each other, is.
    pub fn span(&self, chunks: Range<u32>) -> Option<TextSpan> {
        let start = *self.starts.get(chunks.start as usize)?;
        Some(TextSpan { start, length: self.starts.get(chunks.end as usize)?.checked_sub(start)? })
    }

    /// Where the text of `document` is.
    pub fn text(&self, document: u32) -> Option<TextSpan> {
        self.span(self.of(document)?)
    }

    /// The first line of `chunk`, counted from 0 in its document.
    pub fn first_line(&self, chunk: u32) -> Option<u32> {
        self.lines.get(chunk as usize).copied()
    }

    /// The chunk of `document` that holds its line `line`.
    pub fn holding(&self, document: u32, line: u32) -> Option<u32> {
        let chunks = self.of(document)?;
        let lines = self.lines.get(chunks.start as usize..chunks.end as usize)?;
        chunks.start.checked_add(lines.partition_point(|first| *first <= line).checked_sub(1)? as u32)
    }

    pub(crate) fn weight(&self) -> usize {
        (self.first.len() + self.starts.len() + self.lines.len()) * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let line = prop_oneof![4 => 0..200usize, 1 => 0..3 * CHUNK_BYTES];
        let text = prop::collection::vec(line, 0..40).prop_map(|lines| {
            let lines: Vec<String> = lines.into_iter().map(|length| "x".repeat(length)).collect();
            lines.join("\n").into_bytes()
        });
        prop::collection::vec(text, 0..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn chunks_are_whole_lines_and_the_table_says_where(texts in texts()) {
            let mut writer = ChunkWriter::new();
            for text in &texts {
                writer.push(text);
            }
            let written: Vec<&[u8]> = texts.iter().flat_map(|text| chunks(text)).collect();
            prop_assert_eq!(writer.bytes().collect::<Vec<_>>(), written.iter().map(|chunk| chunk.len()).collect::<Vec<_>>());
            let table = Chunks::decode(&Bytes::from(writer.finish(&mut Packer::new().unwrap()).unwrap())).unwrap();
            let all = texts.concat();
            for (document, text) in (0u32..).zip(&texts) {
                prop_assert_eq!(table.text(document).unwrap().length as usize, text.len());
                let mut lines = 0;
                for chunk in table.of(document).unwrap() {
                    let span = table.span(chunk..chunk + 1).unwrap().range();
                    let bytes = &all[span.start as usize..span.end as usize];
                    prop_assert_eq!(written[chunk as usize], bytes);
                    prop_assert_eq!(table.document(chunk), Some(document));
                    prop_assert_eq!(table.first_line(chunk), Some(lines));
                    prop_assert_eq!(table.holding(document, lines), Some(chunk));
                    lines += memchr::memchr_iter(b'\n', bytes).count() as u32;
                    prop_assert!(bytes.ends_with(b"\n") || chunk + 1 == table.of(document).unwrap().end);
                    prop_assert!(bytes.len() < CHUNK_BYTES || !bytes[CHUNK_BYTES - 1..bytes.len() - 1].contains(&b'\n'));
                }
            }
            prop_assert_eq!(table.of(texts.len() as u32), None);
            prop_assert_eq!(table.document(written.len() as u32), None);
        }
    }
}
