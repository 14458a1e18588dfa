//! Errors of opening a deployment.

use atlas_access::AclError;
use atlas_mirror::MirrorError;

use crate::config::error::{ConfigError, DocumentError};
use crate::settings::SettingsError;

/// Why a deployment cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A setting.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The configuration document.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An access list.
    #[error(transparent)]
    Acl(#[from] AclError),
    /// The store.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
}

impl From<DocumentError> for OpenError {
    fn from(error: DocumentError) -> Self {
        Self::Config(error.into())
    }
}
