//! A segment's table of contents. The manifest has one layout per live segment, so that a reader without a cache can
//! request exactly the parts that a query needs.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::directory::{GramDirectory, KeyDirectory};
use crate::error::FormatError;
pub use crate::section::{Section, SectionName};

/// The format version that this crate writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;

/// A segment's table of contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Format version of the object.
    pub version: u32,
    /// Bytes of the object before the footer.
    pub bytes: u64,
    /// Number of document records; document ids are `0..documents`, in path order.
    pub documents: u32,
    /// How many of the documents are notes (markdown).
    pub notes: u32,
    /// Number of chunks of text.
    pub chunks: u32,
    /// Length of the text in bytes, before compression.
    pub text_bytes: u64,
    /// First path, in byte order.
    pub first: String,
    /// Last path, in byte order.
    pub last: String,
    /// The sections by name. A later version may write others besides those of [`SectionName`]; they are kept, but not read.
    pub sections: BTreeMap<String, Section>,
    /// The position of each page of document records, by path.
    pub record_pages: KeyDirectory,
    /// The position of each page of postings, by gram.
    pub gram_pages: GramDirectory,
}

impl Layout {
    /// The section `name`; an error that names it if the segment does not have it.
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
