//! Errors of a configuration.

use crate::settings::error::SettingsError;

/// Why a configuration is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The document cannot be read.
    #[error("the configuration in {place} cannot be read: {reason}")]
    Unreadable {
        /// Its location.
        place: String,
        /// The cause.
        reason: String,
    },
    /// A field is invalid.
    #[error("{0}")]
    Document(#[from] DocumentError),
    /// It contradicts the environment.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

/// An invalid field of a document, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{remedy}", of(path))]
pub struct DocumentError {
    /// The path of the invalid field, such as `vaults[0].id`; empty for the whole document.
    pub path: String,
    /// The text to write instead.
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

/// Refuses a number at `path` that is not from `min` to `max`.
pub(crate) fn range(path: &str, number: Option<u64>, min: u64, max: u64) -> Result<(), DocumentError> {
    match number {
        Some(number) if !(min..=max).contains(&number) => {
            Err(DocumentError::new(path, format!("write a number from {min} to {max} instead of {number}")))
        }
        _ => Ok(()),
    }
}
