//! Chunks: the text of all documents, cut into whole lines of about 4 KiB in total. Postings refer to chunks, because a long document
//! contains almost any few words somewhere. A search then reads only the matching chunk. A long document has several chunks; short ones
//! share one.

use std::ops::Range;

use bytes::Bytes;

use crate::error::FormatError;
use crate::frame::{self, Packer};
use crate::record::TextSpan;
use crate::section::SectionName;
use crate::text::is_utf16;
use crate::varint;

/// A chunk ends with the line or document that brings it to this many bytes.
const CHUNK_BYTES: usize = 4 << 10;
/// Most bytes of the table, decompressed.
const MAX_TABLE_BYTES: usize = 64 << 20;

/// Collects the table of chunks.
#[derive(Default)]
pub(crate) struct ChunkWriter {
    /// The length of each document in bytes.
    documents: Vec<u32>,
    /// The length of each chunk in bytes, and its first line within the document of its first byte.
    chunks: Vec<(u32, u32)>,
    /// Whether the next document continues the last chunk.
    is_open: bool,
    /// The documents that cannot be read chunk by chunk.
    whole: Vec<u32>,
}

/// The part of one document in a chunk.
pub(crate) struct Piece {
    pub(crate) chunk: u32,
    pub(crate) document: u32,
    pub(crate) bytes: usize,
}

impl ChunkWriter {
    /// The number of chunks so far.
    pub(crate) fn count(&self) -> u32 {
        self.chunks.len() as u32
    }

    /// Adds the next document; `text` is empty if the document has none.
    pub(crate) fn push(&mut self, text: &[u8]) {
        if is_whole(text) {
            self.whole.push(self.documents.len() as u32);
        }
        self.documents.push(text.len() as u32);
        let (mut rest, mut line) = (text, 0);
        while !rest.is_empty() {
            if !self.is_open {
                self.chunks.push((0, line));
            }
            let Some((chunk, _)) = self.chunks.last_mut() else { return };
            let missing = CHUNK_BYTES.saturating_sub(*chunk as usize).max(1);
            let ahead = rest.get(missing - 1..).unwrap_or_default();
            let end = memchr::memchr(b'\n', ahead).map_or(rest.len(), |end| missing + end);
            let Some((piece, after)) = rest.split_at_checked(end) else { return };
            *chunk += piece.len() as u32;
            self.is_open = (*chunk as usize) < CHUNK_BYTES;
            line += memchr::memchr_iter(b'\n', piece).count() as u32;
            rest = after;
        }
    }

    /// The parts of documents in the chunks, in order.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Piece> {
        let mut documents = (0u32..).zip(self.documents.iter().map(|bytes| *bytes as usize));
        let mut chunks = (0u32..).zip(self.chunks.iter().map(|(bytes, _)| *bytes as usize));
        let (mut document, mut chunk) = ((0, 0), (0, 0));
        std::iter::from_fn(move || {
            while document.1 == 0 {
                document = documents.next()?;
            }
            if chunk.1 == 0 {
                chunk = chunks.next()?;
            }
            let bytes = document.1.min(chunk.1);
            document.1 -= bytes;
            chunk.1 -= bytes;
            Some(Piece { chunk: chunk.0, document: document.0, bytes })
        })
    }

    pub(crate) fn finish(self, packer: &mut Packer) -> Result<Vec<u8>, FormatError> {
        let mut table = Vec::new();
        let mut column = |numbers: &mut dyn ExactSizeIterator<Item = u32>| {
            varint::write(&mut table, numbers.len() as u64);
            numbers.for_each(|number| varint::write(&mut table, u64::from(number)));
        };
        column(&mut self.documents.iter().copied());
        column(&mut self.chunks.iter().map(|(bytes, _)| *bytes));
        column(&mut self.chunks.iter().map(|(_, line)| *line));
        column(&mut self.whole.iter().copied());
        packer.pack(&table)
    }
}

/// Whether `text` must be searched as a whole: searches stop at a NUL byte, and a byte order mark determines the
/// decoding.
fn is_whole(text: &[u8]) -> bool {
    is_utf16(text) || text.starts_with(b"\xef\xbb\xbf") || memchr::memchr(0, text).is_some()
}

/// The position of every document's text and of every chunk.
#[derive(Debug)]
pub struct Chunks {
    /// Start of each document in the segment's text, and the end of the last.
    documents: Vec<u32>,
    /// Start of each chunk in the segment's text, and the end of the last.
    starts: Vec<u32>,
    /// The first line of each chunk, counted from 0 in the document that contains the chunk's first byte.
    lines: Vec<u32>,
    whole: Vec<u32>,
}

impl Chunks {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let damaged = || FormatError::damaged(SectionName::Chunks, "its content is inconsistent");
        let table = frame::unpack(part, SectionName::Chunks, MAX_TABLE_BYTES)?;
        let mut rest = table.as_slice();
        let mut column = || read_column(&mut rest).ok_or_else(damaged);
        let [documents, chunks, lines, whole] = [column()?, column()?, column()?, column()?];
        let documents = sums(&documents).ok_or_else(damaged)?;
        let starts = sums(&chunks).ok_or_else(damaged)?;
        let is_sound = rest.is_empty()
            && documents.last() == starts.last()
            && lines.len() == chunks.len()
            && !chunks.contains(&0)
            && whole.is_sorted();
        if is_sound { Ok(Self { documents, starts, lines, whole }) } else { Err(damaged()) }
    }

    /// The chunks that contain a part of `document`.
    pub fn of(&self, document: u32) -> Option<Range<u32>> {
        let text = self.text(document)?.range();
        let first = self.starts.partition_point(|start| u64::from(*start) <= text.start).checked_sub(1)?;
        let end = self.starts.partition_point(|start| u64::from(*start) < text.end);
        Some(first as u32..if text.is_empty() { first } else { end } as u32)
    }

    /// The documents with a part in `chunk`; documents without text between them may be included.
    pub fn documents(&self, chunk: u32) -> Option<Range<u32>> {
        let start = *self.starts.get(chunk as usize)?;
        let end = *self.starts.get(chunk as usize + 1)?;
        let first = self.documents.partition_point(|document| *document <= start).checked_sub(1)?;
        Some(first as u32..self.documents.partition_point(|document| *document < end) as u32)
    }

    /// The span of the text of `document` in `chunks`, which are consecutive.
    pub fn span(&self, document: u32, chunks: Range<u32>) -> Option<TextSpan> {
        let text = self.text(document)?;
        let start = (*self.starts.get(chunks.start as usize)?).max(text.start);
        let end = (*self.starts.get(chunks.end as usize)?).min(text.start.checked_add(text.length)?);
        Some(TextSpan { start, length: end.saturating_sub(start) })
    }

    /// The span of the text of `document`.
    pub fn text(&self, document: u32) -> Option<TextSpan> {
        let start = *self.documents.get(document as usize)?;
        Some(TextSpan { start, length: self.documents.get(document as usize + 1)?.checked_sub(start)? })
    }

    /// The document whose text contains the byte at `offset` of the segment's text.
    pub fn document_at(&self, offset: u32) -> Option<u32> {
        let after = self.documents.partition_point(|start| *start <= offset);
        if after < self.documents.len() { Some(after.checked_sub(1)? as u32) } else { None }
    }

    /// Whether `document` must be read whole to search it, since its text has a NUL byte or a byte order mark.
    pub fn is_whole(&self, document: u32) -> bool {
        self.whole.binary_search(&document).is_ok()
    }

    /// Those of `documents` that [must be read whole](Self::is_whole).
    pub fn whole(&self, documents: Range<u32>) -> impl Iterator<Item = u32> {
        let first = self.whole.partition_point(|document| *document < documents.start);
        self.whole.iter().skip(first).copied().take_while(move |document| *document < documents.end)
    }

    /// The first line of `document` in `chunk`, counted from 0. The chunk must be one of the document's.
    pub fn first_line(&self, document: u32, chunk: u32) -> Option<u32> {
        let start = *self.documents.get(document as usize)?;
        if *self.starts.get(chunk as usize)? <= start { Some(0) } else { self.lines.get(chunk as usize).copied() }
    }

    /// The chunk that contains line `line` of `document`.
    pub fn holding(&self, document: u32, line: u32) -> Option<u32> {
        let chunks = self.of(document)?;
        let (mut low, mut high) = (chunks.start, chunks.end);
        while low < high {
            let middle = low.midpoint(high);
            if self.first_line(document, middle)? <= line {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.checked_sub(1).filter(|chunk| chunks.contains(chunk))
    }

    pub(crate) fn weight(&self) -> usize {
        (self.documents.len() + self.starts.len() + self.lines.len() + self.whole.len()) * 4
    }
}

fn read_column(rest: &mut &[u8]) -> Option<Vec<u32>> {
    let count = varint::read(rest).filter(|count| *count <= rest.len() as u64)?;
    (0..count).map(|_| varint::read(rest).and_then(|number| u32::try_from(number).ok())).collect()
}

/// The start offset for each of these lengths, and the end of the last.
fn sums(lengths: &[u32]) -> Option<Vec<u32>> {
    let mut sums = Vec::with_capacity(lengths.len() + 1);
    sums.push(0u32);
    for length in lengths {
        sums.push(sums.last()?.checked_add(*length)?);
    }
    Some(sums)
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

    fn lines_in(bytes: &[u8]) -> u32 {
        memchr::memchr_iter(b'\n', bytes).count() as u32
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn chunks_are_whole_lines_and_the_table_says_where(texts in texts()) {
            let mut writer = ChunkWriter::default();
            for text in &texts {
                writer.push(text);
            }
            let count = writer.count();
            let pieces: Vec<Piece> = writer.pieces().collect();
            let table = Chunks::decode(&Bytes::from(writer.finish(&mut Packer::new().unwrap()).unwrap())).unwrap();
            let all = texts.concat();
            let bytes = |span: TextSpan| &all[span.start as usize..(span.start + span.length) as usize];
            let mut pieces = pieces.into_iter();
            for (document, text) in (0u32..).zip(&texts) {
                prop_assert_eq!(bytes(table.text(document).unwrap()), text);
                if !text.is_empty() {
                    let span = table.text(document).unwrap();
                    prop_assert_eq!(table.document_at(span.start), Some(document));
                    prop_assert_eq!(table.document_at(span.start + span.length - 1), Some(document));
                }
                let mut lines = 0;
                for chunk in table.of(document).unwrap() {
                    prop_assert!(table.documents(chunk).unwrap().contains(&document));
                    let piece = bytes(table.span(document, chunk..chunk + 1).unwrap());
                    let written = pieces.next().unwrap();
                    prop_assert_eq!((written.chunk, written.document, written.bytes), (chunk, document, piece.len()));
                    prop_assert_eq!(table.first_line(document, chunk), Some(lines));
                    prop_assert_eq!(table.holding(document, lines), Some(chunk));
                    lines += lines_in(piece);
                    prop_assert!(piece.ends_with(b"\n") || chunk + 1 == table.of(document).unwrap().end);
                }
                prop_assert_eq!(lines, lines_in(text));
            }
            prop_assert!(pieces.next().is_none());
            for chunk in 0..count {
                let range = table.starts[chunk as usize] as usize..table.starts[chunk as usize + 1] as usize;
                prop_assert!(range.len() >= CHUNK_BYTES || chunk + 1 == count);
                prop_assert!(range.len() < CHUNK_BYTES || !all[range][CHUNK_BYTES - 1..].iter().rev().skip(1).any(|byte| *byte == b'\n'));
            }
            prop_assert_eq!(table.of(texts.len() as u32), None);
            prop_assert_eq!(table.documents(count), None);
            prop_assert_eq!(table.document_at(all.len() as u32), None);
        }

        #[test]
        fn what_has_a_nul_or_a_mark_is_whole(texts in prop::collection::vec(prop::collection::vec(prop_oneof![Just(0u8), Just(0xff), Just(0xfe), Just(0xef), Just(0xbb), Just(0xbf), Just(b'x')], 0..6), 0..9)) {
            let mut writer = ChunkWriter::default();
            texts.iter().for_each(|text| writer.push(text));
            let table = Chunks::decode(&Bytes::from(writer.finish(&mut Packer::new().unwrap()).unwrap())).unwrap();
            for (document, text) in (0u32..).zip(&texts) {
                let has_mark = matches!(text.as_slice(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0xef, 0xbb, 0xbf, ..]);
                let expected = text.contains(&0) || has_mark;
                prop_assert_eq!(table.is_whole(document), expected);
            }
        }
    }
}
