//! What a reader must know of a segment before it fetches a byte of it. The manifest carries one
//! layout per live segment, so that a cold reader can ask for exactly the parts a query needs.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::directory::{GramDirectory, KeyDirectory};
use crate::error::FormatError;
pub use crate::section::{Section, SectionName};

/// The format version written by this crate, and the newest it reads.
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
