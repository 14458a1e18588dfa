//! Errors in reading or writing a segment.

use crate::section::SectionName;

/// Why a segment, or a part of one, cannot be read or written.
///
/// The mirror adds the object's key, so that the full message names the object to replace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The bytes do not follow the format: the object is truncated or damaged.
    #[error("section {section:?} is damaged: {reason}")]
    Damaged {
        /// The section that the bytes belong to.
        section: SectionName,
        /// The problem.
        reason: &'static str,
    },
    /// The magic number or footer is not that of a segment.
    #[error("not a readable segment: {reason}")]
    Frame {
        /// The problem.
        reason: &'static str,
    },
    /// The segment was written by a newer version.
    #[error(
        "segment format {found} is newer than {supported}, the newest that this version reads: update Atlas Mirror"
    )]
    Version {
        /// The version that the segment states.
        found: u32,
        /// The newest version that this code reads.
        supported: u32,
    },
    /// The segment has no such section.
    #[error("the segment has no section {section:?}")]
    SectionMissing {
        /// The requested section.
        section: SectionName,
    },
    /// The directories of its pages are in its object only, and were not read before they were needed: a defect of this program.
    #[error("the directories of its pages were not read first")]
    NotRead,
    /// zstd could not allocate memory for its tables.
    #[error("compression failed: not enough memory")]
    Compression,
    /// A document was added out of order. Documents must be added in the byte order of their paths, each path once.
    #[error("{path:?} was added out of order or twice")]
    OutOfOrder {
        /// The path.
        path: String,
    },
    /// A document, path or text is larger than the format can hold.
    #[error("{what} is too large for a segment")]
    TooLarge {
        /// The thing that is too large.
        what: &'static str,
    },
}

impl FormatError {
    pub(crate) const fn damaged(section: SectionName, reason: &'static str) -> Self {
        Self::Damaged { section, reason }
    }
}
