//! The configuration document, for deployments of several vaults or with rules for callers.
//!
//!
//! # Layout
//!
//!
//! - [`source`]: the location of the document, and reading it
//! - [`document`]: its fields; `unsupported_keys`: fields that are refused; `error_messages`: the wording of errors
//! - [`merge`]: merges the document and the environment
//! - [`listing`]: every setting with its value and source
//! - [`vaults`]: the vaults in it, and documents that vaults have of their own
//! - [`obsidian`]: how the app of a vault is reached
//! - [`embeddings`]: the model by which notes are found by meaning
//! - [`services`]: services outside that operations may ask
//! - [`upstream`]: an OpenID provider that says who the person is
//! - `reloader`: reads the document again while a process lives

pub mod document;
pub mod embeddings;
pub(crate) mod error;
mod error_messages;
pub mod listing;
pub mod merge;
pub mod obsidian;
pub(crate) mod reloader;
pub mod services;
pub mod source;
mod unsupported_keys;
pub mod upstream;
pub mod vaults;

pub use document::Document;
pub use error::{ConfigError, DocumentError};
pub use source::ConfigSource;

#[cfg(test)]
mod tests;
