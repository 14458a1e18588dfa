//! Requests for a sync: an object that whoever cannot sync makes, and whoever can takes away.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::MirrorError;
use crate::mirror::Mirror;

/// Where the request is, below `state/`.
const SYNC: &str = "requests/sync";

/// A request for a sync, as the store keeps it: JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncRequest {
    /// Who asks.
    pub by: String,
    /// When.
    pub time: Timestamp,
}

impl Mirror {
    /// Asks for a sync; gives the request that was waiting already, if one was.
    ///
    /// # Errors
    /// [`MirrorError::Damaged`], [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`]. Asking again does no harm.
    pub async fn ask_for_sync(&self, by: &str, now: Timestamp) -> Result<Option<SyncRequest>, MirrorError> {
        self.get_or_create_state(SYNC, &SyncRequest { by: by.to_owned(), time: now }).await
    }

    /// The request that is waiting.
    ///
    /// # Errors
    /// [`MirrorError::Damaged`], [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn sync_asked_for(&self) -> Result<Option<SyncRequest>, MirrorError> {
        self.get_state(SYNC).await
    }

    /// Takes the request away, for who begins a sync: one that is made from now on asks for another.
    ///
    /// # Errors
    /// [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn take_sync_request(&self) -> Result<(), MirrorError> {
        self.delete_state(SYNC).await
    }
}
