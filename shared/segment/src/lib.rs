//! A segment: an immutable, self-describing index over some of a vault's documents. A mirror is an ordered list of segments; every query
//! runs over their parts. No I/O: builders return bytes, and readers take them.
//!
//! # Layout
//! - [`builder`]: builds a segment from documents, which `parsed` reads before; `gram_source` and `gram_builder` collect its grams, `term_writer` its terms; `segments`: splits documents into as few segments
//!   as possible.
//! - [`layout`]: the table of contents, which lists the `section`s and has the [`directories`] of pages ([`directory`]); [`object`]: the
//!   frame around all sections.
//! - [`part`]: the unit that is fetched, checked, decoded and cached; `part_ref`: names a part; `frame`: its checksum and compression.
//! - [`text`], [`chunk`], [`record`], [`paths`], [`headings`], [`gram`], [`terms`], [`passages`], [`passage_page`], [`facts`], [`code`]: the sections.
//!   `recent_paths`: decoded paths.
//! - [`vectors`]: an object of its own, with the vectors of a segment's notes; [`clusters`]: one with lists of all that are near each other.
//! - [`postings`], `varint`, `lines`, `spelled`: encodings of sets, numbers and many strings; `byte_lists`: many lists under construction; `growing`: long buffers; `near`: terms like a word; [`candidates()`]: combines sets of grams into matching
//!   chunks.
//!
//! Decoding a part checks it first: damage is an error that names the section, never a panic, and every decompression has a limit.
#![doc = ""]
#![doc = include_str!("../FORMAT.md")]

pub mod builder;
mod byte_lists;
mod candidates;
pub mod chunk;
pub mod clusters;
pub mod code;
pub mod directories;
pub mod directory;
pub mod error;
pub mod facts;
mod frame;
pub mod gram;
mod gram_builder;
mod gram_runs;
mod gram_source;
mod growing;
pub mod headings;
pub mod layout;
mod lines;
mod near;
pub mod object;
mod parsed;
pub mod part;
mod part_ref;
pub mod passage_page;
pub mod passages;
pub mod paths;
pub mod postings;
mod recent_paths;
pub mod record;
mod section;
mod segments;
mod spelled;
mod term_writer;
pub mod terms;
pub mod text;
mod varint;
pub mod vectors;

pub use builder::{Body, Builder, Built, Document, FULL_BYTES};
pub use candidates::candidates;
pub use clusters::{BuiltClusters, ClusterHead, ClusterLayout, ClusterList, ClusterWriter};
pub use error::FormatError;
pub use gram::Probe;
pub use layout::{FORMAT_VERSION, Layout, SectionName};
pub use parsed::Parsed;
pub use part::{Part, PartKind, PartRef};
pub use record::{Kind, Record, TextSpan};
pub use segments::SegmentsBuilder;
pub use vectors::{BuiltVectors, StoredVector, VectorLayout, VectorTable, VectorWriter};

#[cfg(test)]
mod tests;
