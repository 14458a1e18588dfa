//! What a reader must know of a segment before it fetches a byte of it. The manifest carries one
//! layout per live segment, so that a cold reader can ask for exactly the parts a query needs.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::directory::{GramDirectory, KeyDirectory};
use crate::error::FormatError;

/// The format version written by this crate, and the newest it reads.
pub const FORMAT_VERSION: u32 = 1;

/// The sections of a segment, in the order in which they stand in the object.
///
/// Sections that one request usually wants together are neighbours, so that their ranges merge into one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SectionName {
    /// Note text in zstd blocks, path-sorted.
    Text,
    /// Postings in pages, sorted by gram.
    Grams,
    /// Document records in pages, sorted by path.
    Records,
    /// Postings of terms in pages, by ordinal.
    TermPostings,
    /// fst of terms, their pages, and the documents' lengths.
    Terms,
    /// Compressed length and text length of every text block.
    TextBlocks,
    /// Where each document's chunks are in the concatenated text.
    Chunks,
    /// fst of paths.
    Paths,
    /// Folded file names in document order.
    Names,
    /// Headings in document order.
    Headings,
    /// Properties of notes, by name. This section and those that follow may be missing.
    Properties,
    /// Tags of notes, and where they stand.
    Tags,
    /// Tasks of notes.
    Tasks,
    /// The lines that links stand on.
    LinkLines,
    /// What code defines.
    Symbols,
}

impl SectionName {
    /// The name in the table of contents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Grams => "grams",
            Self::Records => "records",
            Self::TermPostings => "term_postings",
            Self::Terms => "terms",
            Self::TextBlocks => "text_blocks",
            Self::Chunks => "chunks",
            Self::Paths => "paths",
            Self::Names => "names",
            Self::Headings => "headings",
            Self::Properties => "properties",
            Self::Tags => "tags",
            Self::Tasks => "tasks",
            Self::LinkLines => "link_lines",
            Self::Symbols => "symbols",
        }
    }
}

/// One section's place in the segment object. In JSON it is an array of these two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct Section {
    /// First byte, from the start of the object.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

impl From<(u64, u64)> for Section {
    fn from((offset, length): (u64, u64)) -> Self {
        Self { offset, length }
    }
}

impl From<Section> for (u64, u64) {
    fn from(section: Section) -> Self {
        (section.offset, section.length)
    }
}

impl Section {
    /// Its bytes in an object that has so many; none if it lies outside of it.
    pub fn range(&self, bytes: u64) -> Option<Range<u64>> {
        let end = self.offset.checked_add(self.length).filter(|end| *end <= bytes)?;
        Some(self.offset..end)
    }
}

/// A segment's table of contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Format version of the object.
    pub version: u32,
    /// Bytes of the object before the footer.
    pub bytes: u64,
    /// Number of document records; document ids are `0..documents`, in path order.
    pub documents: u32,
    /// How many of them are notes (markdown).
    pub notes: u32,
    /// Number of chunks of text.
    pub chunks: u32,
    /// Bytes of text held, before compression.
    pub text_bytes: u64,
    /// First path, in byte order.
    pub first: String,
    /// Last path, in byte order.
    pub last: String,
    /// The sections by name. A later version may write others beside those of [`SectionName`]; they are kept, and not read.
    pub sections: BTreeMap<String, Section>,
    /// Where each page of document records is, by path.
    pub record_pages: KeyDirectory,
    /// Where each page of postings is, by gram.
    pub gram_pages: GramDirectory,
}

impl Layout {
    /// The section `name`, or an error that names it when the segment has none.
    pub fn section(&self, name: SectionName) -> Result<&Section, FormatError> {
        self.sections.get(name.as_str()).ok_or(FormatError::SectionMissing { section: name })
    }

    /// The byte range of section `name` in the object.
    pub fn range(&self, name: SectionName) -> Result<Range<u64>, FormatError> {
        let range = self.section(name)?.range(self.bytes);
        range.ok_or(FormatError::damaged(name, "its range lies outside the object"))
    }

    /// Whether `path` can be in this segment, by its first and last path.
    pub fn may_hold(&self, path: &str) -> bool {
        self.documents > 0 && self.first.as_str() <= path && path <= self.last.as_str()
    }
}
