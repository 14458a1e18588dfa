//! A segment's table of contents. The manifest has one layout per live segment, so that a reader without a cache can
//! request exactly the parts that a query needs. In that of a large vault, layouts leave the directories of pages in the objects.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::directories::{Directories, PageDirectories};
use crate::error::FormatError;
use crate::part_ref::{PartKind, PartRef};
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
    /// The directories of the pages of records and of grams.
    #[serde(flatten)]
    pub directories: PageDirectories,
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

    /// Both directories of pages.
    ///
    /// # Errors
    /// When the layout leaves them in the object, and they were not [given](Self::give_directories) yet.
    pub fn directories(&self) -> Result<&Directories, FormatError> {
        self.directories.get()
    }

    /// Whether the layout leaves the directories in the object.
    #[must_use]
    pub const fn leaves_directories(&self) -> bool {
        self.directories.are_left_out()
    }

    /// Leaves the directories in the object from now on, where they are too, and keeps their checksum.
    pub fn leave_directories(&mut self) {
        self.directories.leave_out();
    }

    /// The part with the directories of an object of so many bytes, if they are not known yet.
    #[must_use]
    pub fn missing_directories(&self, bytes: u64) -> Option<PartRef> {
        let crc32 = self.directories.missing()?;
        Some(PartRef { kind: PartKind::Directories { crc32 }, range: self.bytes..bytes })
    }

    /// Gives it the directories that were missing.
    pub fn give_directories(&self, directories: Arc<Directories>) {
        self.directories.set(directories);
    }

    /// Whether `path` can be in this segment, by its first and last path.
    pub fn may_hold(&self, path: &str) -> bool {
        self.documents > 0 && self.first.as_str() <= path && path <= self.last.as_str()
    }
}
