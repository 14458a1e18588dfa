//! The sections of a segment, and their positions.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The sections of a segment, in their order in the object.
///
/// Sections that a request usually needs together are neighbours, so that their ranges are fetched in one request.
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
    /// Folded file names, in document order.
    Names,
    /// Headings in document order.
    Headings,
    /// Properties of notes, by name. This section and the ones below are optional.
    Properties,
    /// Tags of notes, and where they occur.
    Tags,
    /// Tasks of notes.
    Tasks,
    /// The lines that links are on.
    LinkLines,
    /// Symbols that code defines.
    Symbols,
    /// Inline fields of notes, by name.
    Fields,
    /// List items of notes.
    Lists,
    /// The definitions, uses and imports of source files.
    Code,
    /// The words of each passage of documents, and the pages of the section below. Optional.
    Passages,
    /// For each term the passages of documents that have it, in pages, by ordinal. Optional.
    PassagePostings,
    /// The documents that link to files of a name. Optional.
    Linked,
    /// The words of links' texts, and the links' targets. Optional.
    Anchors,
    /// The vectors of passages, which are in an object of their own.
    Vectors,
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
            Self::Fields => "fields",
            Self::Lists => "lists",
            Self::Code => "code",
            Self::Passages => "passages",
            Self::PassagePostings => "passage_postings",
            Self::Linked => "linked",
            Self::Anchors => "anchors",
            Self::Vectors => "vectors",
        }
    }
}

/// The position of a section in the segment object. In JSON it is an array of the two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct Section {
    /// First byte, from the start of the object.
    pub offset: u64,
    /// Length in bytes.
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
    /// Its byte range in an object of `bytes` bytes; `None` if it lies outside of the object.
    pub fn range(&self, bytes: u64) -> Option<Range<u64>> {
        let end = self.offset.checked_add(self.length).filter(|end| *end <= bytes)?;
        Some(self.offset..end)
    }
}
