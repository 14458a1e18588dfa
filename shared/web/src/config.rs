//! The configuration document: what a deployment of several vaults, or with rules for its callers, says in one place.
//!
//! # Layout
//!
//! - [`place`]: where the document is, and reading it
//! - [`document`]: what it can say; `foreign`: what it cannot; `wording`: what is wrong with it
//! - [`merge`]: the document and the environment together
//! - [`listing`]: every setting with its value and where that comes from
//! - `follower`: looking at the document again while a process lives

pub mod document;
pub(crate) mod error;
pub(crate) mod follower;
mod foreign;
pub mod listing;
pub mod merge;
pub mod place;
mod wording;

pub use document::{Document, Facade};
pub use error::{ConfigError, DocumentError};
pub use place::Place;

#[cfg(test)]
mod tests;
