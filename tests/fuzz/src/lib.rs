//! What must hold of every reader of foreign bytes, as functions of arbitrary input that panic where it does not.
//! libFuzzer runs them by way of `fuzz_targets/`; `tests/smoke.rs` runs them over the seeds, and damaged copies of
//! these, on any toolchain.
//!
//! Checksums would keep a fuzzer out, so the input is what is *inside* them: most of the targets put right checksums
//! around it, and compress it where the format does.
//!
//! # Layout
//! - [`part`]: one part of a segment; [`segment`]: a whole one, made by [`forge`] of arbitrary parts.
//! - [`manifest`]: manifests and tombstones.
//! - [`note`]: the note parser; [`path`]: vault paths.
//! - [`edit`]: edits of a note.
//! - [`published`]: arbitrary notes are published, and found again.
//! - [`call`]: arbitrary arguments of every operation.
//! - [`seeds`]: sound inputs to begin with; `input` takes inputs apart.

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
