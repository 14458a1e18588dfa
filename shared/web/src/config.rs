//! The configuration document, for deployments of several vaults or with rules for callers.
//!
//! # Layout
//!
//! - [`source`]: where the document is, and reading it
//! - [`document`]: its fields; `unsupported_keys`: fields that are refused; `error_messages`: how errors read
//! - [`merge`]: the document and the environment together
//! - [`listing`]: every setting with its value and where that comes from
//! - [`obsidian`]: how the app of a vault is reached
//! - [`services`]: services outside that operations may ask
//! - `reloader`: reads the document again while a process lives

pub mod document;
pub(crate) mod error;
mod error_messages;
pub mod listing;
pub mod merge;
pub mod obsidian;
pub(crate) mod reloader;
pub mod services;
pub mod source;
mod unsupported_keys;

pub use document::Document;
pub use error::{ConfigError, DocumentError};
pub use source::ConfigSource;

#[cfg(test)]
mod tests;
