//! One note and its parts, as Obsidian reads them. Pure: no files, no clock, no environment.
//!
//! # Layout
//!
//! - [`path`]: [`VaultPath`], a vault-relative path that cannot hold a bad path
//! - [`fold`]: simple case folding, the equivalence of a regex's `(?i)`

pub mod fold;
pub mod path;

pub use fold::{fold, fold_bytes_into, fold_char, fold_into};
pub use path::{PathError, VaultPath};
