//! The configuration document: what a deployment of several vaults, or with rules for its callers, says in one place.
//!
//! # Layout
//!
//! - [`source`]: where the document is, and reading it
//! - [`document`]: what it can say; `unsupported_keys`: what it cannot; `error_messages`: what is wrong with it
//! - [`merge`]: the document and the environment together
//! - [`listing`]: every setting with its value and where that comes from
//! - `reloader`: looking at the document again while a process lives

pub mod document;
pub(crate) mod error;
mod error_messages;
pub mod listing;
pub mod merge;
pub(crate) mod reloader;
pub mod source;
mod unsupported_keys;

pub use document::Document;
pub use error::{ConfigError, DocumentError};
pub use source::ConfigSource;

#[cfg(test)]
mod tests;
