//! Records when the vault was synced, and reads it.

use bytes::Bytes;
use serde::Serialize;

use crate::error::MirrorError;
use crate::last_sync::{Heartbeat, Told};
use crate::mirror::Mirror;

/// Its name below `state/`.
const SYNCED: &str = "synced";

impl Mirror {
    /// Records that the vault was synced.
    ///
    /// # Errors [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn record_sync(&self, beat: &Heartbeat) -> Result<(), MirrorError> {
        self.put_state(SYNCED, beat).await
    }

    /// Overwrites the object `name` below `state/` by `value`, as JSON.
    ///
    /// # Errors [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn put_state(&self, name: &str, value: &impl Serialize) -> Result<(), MirrorError> {
        let refused = |reason: String| MirrorError::StoreRefused { action: "write", reason };
        let key = self.keys().state(name).map_err(|error| refused(error.to_string()))?;
        let bytes = serde_json::to_vec(value).map_err(|error| refused(error.to_string()))?;
        self.store.put(&key, &Bytes::from(bytes)).await
    }

    /// The last recorded sync of the vault; at most one request.
    ///
    /// # Errors [`MirrorError::Damaged`], [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn synced(&self) -> Result<Option<Heartbeat>, MirrorError> {
        let mut kept = self.shared.synced.lock().await;
        let beat = self.get_state(SYNCED).await?;
        *kept = Some(Told::now(beat.clone()));
        Ok(beat)
    }

    /// The last recorded sync of the vault, as the store had it up to a minute ago: at most one request a minute, whoever asks. [`None`] too if it cannot
    /// be read.
    pub async fn synced_lately(&self) -> Option<Heartbeat> {
        let mut kept = self.shared.synced.lock().await;
        if let Some(told) = kept.as_ref().filter(|told| told.is_recent()) {
            return told.beat.clone();
        }
        let beat = self.get_state(SYNCED).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "the last sync is not known");
            None
        });
        *kept = Some(Told::now(beat.clone()));
        beat
    }

    /// The same without any request: [`None`] too if it was not read lately.
    pub fn synced_kept(&self) -> Option<Heartbeat> {
        let kept = self.shared.synced.try_lock().ok()?;
        kept.as_ref().filter(|told| told.is_recent())?.beat.clone()
    }
}
