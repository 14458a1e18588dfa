//! The properties of all readers of foreign bytes, as functions of arbitrary input that panic on a violation. libFuzzer
//! runs them through `fuzz_targets/`; `tests/smoke.rs` runs them over the seeds, and damaged copies of these, on any
//! toolchain.
//!
//! Checksums would stop a fuzzer, so the input is the content *inside* them: most targets add right checksums, and
//! compress where the format does.
//!
//!
//! # Layout
//! - [`part`]: one part of a segment; [`segment`]: a whole one, made by [`forge`] of arbitrary parts.
//! - [`manifest`]: manifests and tombstones.
//! - [`note`]: the note parser; [`path`]: vault paths.
//! - [`edit`]: edits of a note.
//! - [`published`]: arbitrary notes are published, and found again.
//! - [`call`]: arbitrary arguments of every operation.
//! - [`seeds`]: valid inputs to start with; `input` splits inputs.

pub mod call;
pub mod edit;
pub mod forge;
mod input;
pub mod manifest;
pub mod note;
pub mod part;
pub mod path;
pub mod published;
pub mod seeds;
pub mod segment;
