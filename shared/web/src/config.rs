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
pub(crate) mod follower;
mod foreign;
pub mod listing;
pub mod merge;
pub mod place;
mod wording;

pub use document::{Document, DocumentError, Facade};
pub use place::Place;

use crate::settings::SettingsError;

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The document cannot be read.
    #[error("the configuration in {place} cannot be read: {reason}")]
    Unreadable {
        /// Where it is.
        place: String,
        /// Why not.
        reason: String,
    },
    /// It says what cannot be used.
    #[error("{0}")]
    Document(#[from] DocumentError),
    /// It and the environment do not fit together.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

#[cfg(test)]
mod tests;
