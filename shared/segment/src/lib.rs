//! A segment: an immutable, self-describing index over some of a vault's documents. A mirror is an
//! ordered list of segments; every query runs over their parts. No I/O: builders give bytes, readers take them.
//!
//! # Layout
//!
//! The object is framed as [`mod@object`] says. Its sections are arrays of parts, and a part is what is
//! fetched, checked, decoded and cached on its own ([`mod@part`]); directories of the many-part sections travel
//! in the manifest ([`mod@directory`]), so that a reader asks for exactly what it needs without asking where it is.
//!
//! | section | parts | content |
//! |---|---|---|
//! | `text` | zstd blocks of about 64 KiB | all text, path-sorted ([`mod@text`]) |
//! | `grams` | pages of about 16 KiB | which chunks hold which grams of folded text ([`mod@gram`]), as [`mod@postings`] says |
//! | `records` | zstd pages of about 32 KiB | everything about a document but its text, in bincode ([`mod@record`]) |
//! | `term_postings` | pages of about 16 KiB | which documents hold which terms, with weights ([`mod@terms`]) |
//! | `terms` | one | fst of terms, their pages, the documents' lengths ([`mod@terms`]) |
//! | `text_blocks`, `chunks` | one each | where blocks, documents and chunks are in the text ([`mod@text`], [`mod@chunk`]) |
//! | `paths` | one | fst of paths; document ids are ranks in path order ([`mod@paths`]) |
//! | `names` | one | folded file names ([`mod@paths`]) |
//! | `headings` | one | headings ([`mod@headings`]) |
//!
//! A part is its payload and the payload's CRC-32 (`frame`). Decoding checks it first: damage is an
//! error that names the section, never a panic, and every decompression has a limit.

pub mod builder;
mod candidates;
pub mod chunk;
pub mod directory;
pub mod error;
mod frame;
pub mod gram;
mod gram_builder;
pub mod headings;
pub mod layout;
mod lines;
pub mod object;
pub mod part;
pub mod paths;
pub mod postings;
pub mod record;
pub mod terms;
pub mod text;
mod varint;

pub use builder::{Body, Builder, Built, Document};
pub use candidates::candidates;
pub use error::FormatError;
pub use gram::Probe;
pub use layout::{FORMAT_VERSION, Layout, SectionName};
pub use part::{Part, PartKind, PartRef};
pub use record::{Kind, Record, TextSpan};

#[cfg(test)]
mod tests;
