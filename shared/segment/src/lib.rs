//! A segment: an immutable, self-describing index over some of a vault's documents. A mirror is an
//! ordered list of segments; every query runs over their parts. No I/O: builders give bytes, readers take them.
//!
//! # Layout
//! - [`builder`]: documents to a segment; `gram_builder` collects its grams; `segments`: documents to as few segments as hold them.
//! - [`layout`]: the table of contents of `section`s, with the directories of pages ([`directory`]); [`object`]: the frame around it all.
//! - [`part`]: what is fetched, checked, decoded and cached on its own, and `part_ref`, which names it; `frame`: its checksum and compression.
//! - [`text`], [`chunk`], [`record`], [`paths`], [`headings`], [`gram`], [`terms`], [`facts`]: the sections.
//! - [`postings`], `varint`, `lines`: how they spell sets, numbers and many strings; [`candidates()`]: what sets of grams come to.
//!
//! Decoding a part checks it first: damage is an error that names the section, never a panic, and every decompression has a limit.
#![doc = ""]
#![doc = include_str!("../FORMAT.md")]

pub mod builder;
mod candidates;
pub mod chunk;
pub mod directory;
pub mod error;
pub mod facts;
mod frame;
pub mod gram;
mod gram_builder;
pub mod headings;
pub mod layout;
mod lines;
pub mod object;
pub mod part;
mod part_ref;
pub mod paths;
pub mod postings;
pub mod record;
mod section;
mod segments;
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
pub use segments::SegmentsBuilder;

#[cfg(test)]
mod tests;
