//! The last exchange with another memory of some of the vault's files, shared by all hosts.

use serde::{Deserialize, Serialize};

use crate::error::MirrorError;
use crate::id::Hash;
use crate::mirror::Mirror;

/// A completed exchange, as stored: JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchanged {
    /// The other memory's version.
    pub version: String,
    /// The generation that had what that version has.
    pub generation: u64,
    /// The hash of that generation's manifest.
    pub manifest: Hash,
}

fn name(other: &Hash) -> String {
    format!("exchanged/{other}")
}

impl Mirror {
    /// The last exchange with the memory `other`; at most one request.
    ///
    /// # Errors [`MirrorError::Damaged`], [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn exchanged(&self, other: &Hash) -> Result<Option<Exchanged>, MirrorError> {
        self.get_state(&name(other)).await
    }

    /// Records an exchange with the memory `other`. An older one that is recorded later does harm to nobody: the next
    /// exchange finds more differences than there are.
    ///
    /// # Errors [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn record_exchange(&self, other: &Hash, exchanged: &Exchanged) -> Result<(), MirrorError> {
        self.put_state(&name(other), exchanged).await
    }
}
