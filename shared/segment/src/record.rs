//! Document records: all index data about one document, in pages of a few dozen records.

use std::ops::Range;

use bincode::{BorrowDecode, Decode, Encode};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::error::FormatError;
use crate::frame::{self, Packer};
use crate::section::SectionName;

/// The kind of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A markdown note.
    Note,
    /// Another text file whose text is in the segment: canvas, base, YAML, JSON, source code.
    Text,
    /// Any other file; its bytes are in a separate object.
    Attachment,
    /// A configuration file of the vault (`.obsidian/…`) that operations read; never shown.
    Config,
}

/// How a link is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum LinkKind {
    /// `[[target]]`
    Wikilink,
    /// `![[target]]`
    Embed,
    /// `[text](target)`
    Markdown,
    /// `![text](target)`
    MarkdownEmbed,
}

/// An outgoing link.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Link {
    /// How it is written.
    pub kind: LinkKind,
    /// The target's path or name as written, without the part after `#`.
    pub target: String,
    /// The part after `#`.
    pub subpath: Option<String>,
}

/// One document.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Record {
    /// Vault path.
    pub path: String,
    /// The path as spelled in the folder, if that differs (not NFC).
    pub path_on_disk: Option<String>,
    /// The kind of document.
    pub kind: Kind,
    /// SHA-256 of its bytes.
    pub sha256: [u8; 32],
    /// Its size in bytes.
    pub bytes: u64,
    /// Modification time, milliseconds since 1970 UTC.
    pub modified_ms: i64,
    /// The generation that wrote this version; 0 means the one that first listed the segment.
    pub generation: u64,
    /// The generation that wrote the version of this path that this one replaced; 0 if none.
    pub replaces: u64,
    /// The span of its text in the segment's text; for an attachment the extracted text, mostly empty.
    pub text: TextSpan,
    /// Name of the object that holds an attachment's bytes.
    pub blob: Option<String>,
    /// Other names of the note that links may use.
    pub aliases: Vec<String>,
    /// Tags, without `#`, in order of first use.
    pub tags: Vec<String>,
    /// Outgoing links within the vault, in order.
    pub links: Vec<Link>,
}

/// The beginning of a [`Record`], all but its links, which are most of it.
#[derive(Debug, BorrowDecode)]
pub struct RecordHead<'a> {
    /// As [`Record::path`].
    pub path: &'a str,
    _path_on_disk: Option<&'a str>,
    _kind: Kind,
    _sha256: [u8; 32],
    /// As [`Record::bytes`].
    pub bytes: u64,
    /// As [`Record::modified_ms`].
    pub modified_ms: i64,
    _generation: u64,
    _replaces: u64,
    _text: TextSpan,
    _blob: Option<&'a str>,
    /// As [`Record::aliases`].
    pub aliases: Vec<&'a str>,
    /// As [`Record::tags`].
    pub tags: Vec<&'a str>,
}

/// A range of a segment's concatenated text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Encode, Decode)]
pub struct TextSpan {
    /// First byte.
    pub start: u32,
    /// Length in bytes.
    pub length: u32,
}

impl TextSpan {
    /// The span as a range.
    pub const fn range(self) -> Range<u64> {
        self.start as u64..self.start as u64 + self.length as u64
    }
}

/// A page ends when its records reach this many bytes.
const PAGE_BYTES: usize = 32 << 10;
/// Most bytes of one record. A page holds at most twice this many.
const MAX_RECORD_BYTES: usize = 16 << 20;

const fn codec() -> bincode::config::Configuration<
    bincode::config::LittleEndian,
    bincode::config::Varint,
    bincode::config::Limit<MAX_RECORD_BYTES>,
> {
    bincode::config::standard().with_limit::<MAX_RECORD_BYTES>()
}

/// Collects records into pages.
pub(crate) struct PageWriter {
    ends: Vec<u32>,
    records: Vec<u8>,
}

/// A finished page: the number of its records, and the sealed bytes.
pub(crate) type Page = (u32, Vec<u8>);

impl PageWriter {
    pub(crate) const fn new() -> Self {
        Self { ends: Vec::new(), records: Vec::new() }
    }

    /// Adds a record. Returns the page when it is full.
    pub(crate) fn push(&mut self, record: &Record, packer: &mut Packer) -> Result<Option<Page>, FormatError> {
        let bytes =
            bincode::encode_to_vec(record, codec()).map_err(|_| FormatError::TooLarge { what: "a document record" })?;
        self.records.extend_from_slice(&bytes);
        self.ends
            .push(u32::try_from(self.records.len()).map_err(|_| FormatError::TooLarge { what: "a page of records" })?);
        if self.records.len() >= PAGE_BYTES { self.take(packer) } else { Ok(None) }
    }

    /// The unfinished page, if there is one.
    pub(crate) fn take(&mut self, packer: &mut Packer) -> Result<Option<Page>, FormatError> {
        let count = self.ends.len() as u32;
        if count == 0 {
            return Ok(None);
        }
        let mut page = Vec::with_capacity(4 + self.ends.len() * 4 + self.records.len());
        page.extend_from_slice(&count.to_le_bytes());
        for end in self.ends.drain(..) {
            page.extend_from_slice(&end.to_le_bytes());
        }
        page.append(&mut self.records);
        Ok(Some((count, packer.pack(&page)?)))
    }
}

/// A fetched page of records. Each record is decoded when it is requested.
#[derive(Debug)]
pub struct RecordPage {
    ends: Vec<u32>,
    records: Vec<u8>,
}

impl RecordPage {
    pub(crate) fn decode(part: &Bytes) -> Result<Self, FormatError> {
        let page = frame::unpack(part, SectionName::Records, 2 * MAX_RECORD_BYTES)?;
        let ends = page
            .split_first_chunk::<4>()
            .and_then(|(count, rest)| rest.get(..(u32::from_le_bytes(*count) as usize).checked_mul(4)?))
            .ok_or_else(damaged)?;
        let records = page.get(4 + ends.len()..).ok_or_else(damaged)?.to_vec();
        let ends: Vec<u32> =
            ends.chunks_exact(4).filter_map(|end| Some(u32::from_le_bytes(end.try_into().ok()?))).collect();
        if !ends.is_sorted() || ends.last().is_some_and(|end| *end as usize != records.len()) {
            return Err(damaged());
        }
        Ok(Self { ends, records })
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the page has no records; builders never write such a page.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Record `index` of the page.
    pub fn get(&self, index: usize) -> Result<Record, FormatError> {
        let bytes = self.bytes(index)?;
        match bincode::decode_from_slice(bytes, codec()) {
            Ok((record, used)) if used == bytes.len() => Ok(record),
            _ => Err(damaged()),
        }
    }

    /// The beginning of record `index` of the page.
    pub fn head(&self, index: usize) -> Result<RecordHead<'_>, FormatError> {
        let (head, _) = bincode::borrow_decode_from_slice(self.bytes(index)?, codec()).map_err(|_| damaged())?;
        Ok(head)
    }

    fn bytes(&self, index: usize) -> Result<&[u8], FormatError> {
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end as usize);
        self.ends.get(index).and_then(|end| self.records.get(start..*end as usize)).ok_or_else(damaged)
    }

    /// The record of `path`, and its index in the page.
    pub fn find(&self, path: &str) -> Result<Option<(usize, Record)>, FormatError> {
        let index = self.first_from(path)?;
        if index == self.len() {
            return Ok(None);
        }
        let record = self.get(index)?;
        Ok((record.path == path).then_some((index, record)))
    }

    /// The index of the first record whose path is not before `path`; the number of records if there is none.
    pub fn first_from(&self, path: &str) -> Result<usize, FormatError> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.head(middle)?.path < path {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low)
    }

    pub(crate) fn weight(&self) -> usize {
        self.ends.len() * 4 + self.records.len()
    }
}

const fn damaged() -> FormatError {
    FormatError::damaged(SectionName::Records, "the content of a page is inconsistent")
}
