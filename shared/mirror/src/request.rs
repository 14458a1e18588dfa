//! Requests for a sync: an object that a process creates that cannot sync, and that the syncing process deletes.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::MirrorError;
use crate::mirror::Mirror;

/// The request's name, below `state/`.
const SYNC: &str = "requests/sync";

/// A request for a sync, as stored: JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncRequest {
    /// The caller.
    pub by: String,
    /// The time of the request.
    pub time: Timestamp,
}

impl Mirror {
    /// Requests a sync; returns the request that was already waiting, if any.
    ///
    /// # Errors [`MirrorError::Damaged`], [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`]. Requesting again
    /// is harmless.
    pub async fn request_sync(&self, by: &str, now: Timestamp) -> Result<Option<SyncRequest>, MirrorError> {
        self.get_or_create_state(SYNC, &SyncRequest { by: by.to_owned(), time: now }).await
    }

    /// The waiting request, if any.
    ///
    /// # Errors [`MirrorError::Damaged`], [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn sync_request(&self) -> Result<Option<SyncRequest>, MirrorError> {
        self.get_state(SYNC).await
    }

    /// Deletes the request when a sync begins: a later request means another sync.
    ///
    /// # Errors [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn take_sync_request(&self) -> Result<(), MirrorError> {
        self.delete_state(SYNC).await
    }
}
