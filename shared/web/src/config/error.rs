//! What can be wrong with a configuration.

use crate::settings::error::SettingsError;

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

/// A document that cannot be used; says where, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{remedy}", of(path))]
pub struct DocumentError {
    /// The path of what is wrong, as `vaults[0].id`; empty for all of it.
    pub path: String,
    /// What to write instead.
    pub remedy: String,
}

fn of(path: &str) -> String {
    if path.is_empty() { "the configuration cannot be used: ".to_owned() } else { format!("`{path}` cannot be used: ") }
}

impl DocumentError {
    pub(crate) fn new(path: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { path: path.into(), remedy: remedy.into() }
    }
}
