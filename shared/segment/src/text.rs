//! Text: all documents' text in path order, cut into blocks that are compressed and fetched separately.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

use crate::error::FormatError;
use crate::frame::{self, Packer};
use crate::growing;
use crate::layout::Layout;
use crate::part_ref::{PartKind, PartRef};
use crate::record::TextSpan;
use crate::section::SectionName;
use crate::varint;

/// A block ends with the document that brings it to this many bytes. A longer document is cut at this size.
const BLOCK_BYTES: usize = 64 << 10;
/// Most text in one block, in bytes.
const MAX_BLOCK_BYTES: usize = 2 * BLOCK_BYTES;
/// Most text in one segment, in bytes.
pub(crate) const MAX_TEXT_BYTES: u32 = 1 << 30;
/// Most bytes of a table, decompressed.
const MAX_TABLE_BYTES: usize = 64 << 20;

/// Whether `text` has a UTF-16 byte order mark. Searches decode such a text.
pub(crate) fn is_utf16(text: &[u8]) -> bool {
    text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff")
}

/// `text` decoded: as UTF-16 if it has that byte order mark, else as UTF-8. Invalid parts become U+FFFD.
pub fn decoded(text: &[u8]) -> Cow<'_, str> {
    let unit: fn([u8; 2]) -> u16 = match text {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return String::from_utf8_lossy(text),
    };
    let units = text.chunks_exact(2).filter_map(|pair| pair.try_into().ok()).map(unit).skip(1);
    Cow::Owned(char::decode_utf16(units).map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

/// `text` in UTF-8 if it is in UTF-16 by its byte order mark, else as it is.
pub fn in_utf8(text: &[u8]) -> Cow<'_, [u8]> {
    if !is_utf16(text) {
        return Cow::Borrowed(text);
    }
    match decoded(text) {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Cuts text into packed blocks.
pub(crate) struct TextWriter {
    open: Vec<u8>,
    /// Packed length and text length of each block.
    lengths: Vec<(u32, u32)>,
    /// All packed blocks.
    pub(crate) packed: Vec<u8>,
    length: u32,
}

impl TextWriter {
    pub(crate) const fn new() -> Self {
        Self { open: Vec::new(), lengths: Vec::new(), packed: Vec::new(), length: 0 }
    }

    /// The number of text bytes so far.
    pub(crate) const fn length(&self) -> u32 {
        self.length
    }

    /// Adds the next document's text; empty if the document has none.
    pub(crate) fn push(&mut self, text: &[u8], packer: &mut Packer) -> Result<TextSpan, FormatError> {
        let too_large = FormatError::TooLarge { what: "the text of a document" };
        let span = TextSpan { start: self.length, length: u32::try_from(text.len()).map_err(|_| too_large.clone())? };
        self.length =
            span.start.checked_add(span.length).filter(|length| *length <= MAX_TEXT_BYTES).ok_or(too_large)?;
        for piece in text.chunks(BLOCK_BYTES) {
            if self.open.len() + piece.len() > MAX_BLOCK_BYTES {
                self.close(packer)?;
            }
            self.open.extend_from_slice(piece);
            if self.open.len() >= BLOCK_BYTES {
                self.close(packer)?;
            }
        }
        Ok(span)
    }

    pub(crate) fn close(&mut self, packer: &mut Packer) -> Result<(), FormatError> {
        if self.open.is_empty() {
            return Ok(());
        }
        let block = packer.pack(&self.open)?;
        self.lengths.push((block.len() as u32, self.open.len() as u32));
        growing::append(&mut self.packed, &block);
        self.open.clear();
        Ok(())
    }

    /// The number of closed blocks.
    pub(crate) const fn closed(&self) -> usize {
        self.lengths.len()
    }

    /// Packed length of each closed block.
    pub(crate) fn packed_lengths(&self) -> impl Iterator<Item = u32> {
        self.lengths.iter().map(|(packed, _)| *packed)
    }

    /// A reader over the text of all closed blocks.
    pub(crate) fn read(&self) -> TextReader<'_> {
        TextReader { packed: &self.packed, blocks: self.lengths.iter(), open: Vec::new(), at: 0 }
    }

    /// The packed block table.
    pub(crate) fn blocks(&self, packer: &mut Packer) -> Result<Vec<u8>, FormatError> {
        let mut table = Vec::new();
        for (packed, text) in &self.lengths {
            varint::write(&mut table, u64::from(*packed));
            varint::write(&mut table, u64::from(*text));
        }
        packer.pack(&table)
    }
}

/// Reads packed text from its beginning.
pub(crate) struct TextReader<'a> {
    packed: &'a [u8],
    blocks: std::slice::Iter<'a, (u32, u32)>,
    open: Vec<u8>,
    /// How many bytes of `open` were read.
    at: usize,
}

impl TextReader<'_> {
    /// The next `bytes` bytes.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<&[u8], FormatError> {
        let short = || FormatError::damaged(SectionName::Text, "a text is cut short");
        while self.open.len() - self.at < bytes {
            self.open.drain(..self.at);
            self.at = 0;
            let (packed, _) = self.blocks.next().ok_or_else(short)?;
            let (block, rest) = self.packed.split_at_checked(*packed as usize).ok_or_else(short)?;
            self.packed = rest;
            self.open.append(&mut frame::unpack(&Bytes::copy_from_slice(block), SectionName::Text, MAX_BLOCK_BYTES)?);
        }
        let from = self.at;
        self.at += bytes;
        self.open.get(from..self.at).ok_or_else(short)
    }
}

pub(crate) fn decode_block(part: &Bytes) -> Result<Bytes, FormatError> {
    frame::unpack(part, SectionName::Text, MAX_BLOCK_BYTES).map(Bytes::from)
}

/// The positions of all text blocks.
#[derive(Debug)]
pub struct TextBlocks {
    /// The start of each block in the section, and the end of the last.
    packed: Vec<u64>,
    /// The start of each block in the text, and the end of the last.
    text: Vec<u64>,
}

impl TextBlocks {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let numbers = read_table(part, SectionName::TextBlocks)?;
        let (mut packed, mut text) = (vec![0], vec![0]);
        let (mut packed_end, mut text_end) = (0u64, 0u64);
        for pair in numbers.chunks(2) {
            let &[packed_length, text_length] = pair else {
                return Err(FormatError::damaged(SectionName::TextBlocks, "it is cut short"));
            };
            packed_end += u64::from(packed_length);
            text_end += u64::from(text_length);
            packed.push(packed_end);
            text.push(text_end);
        }
        Ok(Self { packed, text })
    }

    fn blocks_of(&self, span: TextSpan) -> Range<usize> {
        if span.length == 0 {
            return 0..0;
        }
        let range = span.range();
        let first = self.text.partition_point(|start| *start <= range.start).saturating_sub(1);
        let end = self.text.partition_point(|start| *start < range.end);
        first..end.min(self.text.len().saturating_sub(1))
    }

    /// The offsets within `span` at which blocks end.
    pub fn ends(&self, span: TextSpan) -> impl Iterator<Item = u32> {
        let range = span.range();
        let first = self.text.partition_point(|start| *start <= range.start);
        let ends = self.text.iter().skip(first).take_while(move |end| **end < range.end);
        ends.filter_map(|end| u32::try_from(*end).ok())
    }

    /// References to the blocks that contain `span`.
    pub fn parts(&self, layout: &Layout, span: TextSpan) -> Result<Vec<PartRef>, FormatError> {
        let section = layout.range(SectionName::Text)?;
        let outside = || FormatError::damaged(SectionName::TextBlocks, "a text lies outside the section");
        let blocks = self.blocks_of(span);
        let mut parts = Vec::with_capacity(blocks.len());
        for block in blocks {
            let (Some(start), Some(end)) = (self.packed.get(block), self.packed.get(block + 1)) else {
                return Err(outside());
            };
            let range = section.start + start..section.start + end;
            if range.end > section.end {
                return Err(outside());
            }
            parts.push(PartRef { kind: PartKind::TextBlock, range });
        }
        Ok(parts)
    }

    /// Cuts `span` out of `blocks`, which must be those of [`TextBlocks::parts`]. Copies only if the span lies in several blocks.
    pub(crate) fn join<'a>(
        &self,
        span: TextSpan,
        mut blocks: impl Iterator<Item = Result<&'a Bytes, FormatError>>,
    ) -> Result<Bytes, FormatError> {
        let damaged = || FormatError::damaged(SectionName::Text, "a text is cut short");
        let first = self.blocks_of(span).start;
        let skip = span.range().start.saturating_sub(self.text.get(first).copied().unwrap_or(0)) as usize;
        let length = span.length as usize;
        let head = match blocks.next() {
            None if length == 0 => return Ok(Bytes::new()),
            None => return Err(damaged()),
            Some(block) => block?,
        };
        if let Some(end) = skip.checked_add(length).filter(|end| *end <= head.len()) {
            return Ok(head.slice(skip..end));
        }
        let mut text = Vec::with_capacity(length);
        text.extend_from_slice(head.get(skip..).ok_or_else(damaged)?);
        for block in blocks {
            let block = block?;
            let take = block.len().min(length - text.len().min(length));
            text.extend_from_slice(block.get(..take).ok_or_else(damaged)?);
        }
        if text.len() == length { Ok(Bytes::from(text)) } else { Err(damaged()) }
    }

    pub(crate) fn weight(&self) -> usize {
        (self.packed.len() + self.text.len()) * 8
    }
}

fn read_table(part: &Bytes, section: SectionName) -> Result<Vec<u32>, FormatError> {
    let table = frame::unpack(part, section, MAX_TABLE_BYTES)?;
    let mut rest = table.as_slice();
    let mut numbers = Vec::new();
    while !rest.is_empty() {
        let number = varint::read(&mut rest).and_then(|number| u32::try_from(number).ok());
        numbers.push(number.ok_or(FormatError::damaged(section, "it is cut short"))?);
    }
    Ok(numbers)
}
