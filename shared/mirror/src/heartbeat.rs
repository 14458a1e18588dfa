//! The time of the last sync, for readers who see only the mirror.

use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::error::MirrorError;
use crate::mirror::Mirror;

/// Its name below `state/`.
const SYNCED: &str = "synced";
/// The shortest time between two heartbeats, in seconds.
const STRETCH: i64 = 5 * 60;
/// How long a process keeps what it read, for [`Mirror::synced_lately`].
const KEPT: Duration = Duration::from_secs(60);

/// What the store last said of the last sync, and when.
pub(crate) type Kept = Mutex<Option<Told>>;
type Told = (Instant, Option<Heartbeat>);

/// What was read lately.
fn lately(kept: &Option<Told>) -> Option<&Option<Heartbeat>> {
    kept.as_ref().filter(|(at, _)| at.elapsed() < KEPT).map(|(_, beat)| beat)
}

/// A completed sync, as stored: JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// When it began, by its host's clock.
    pub time: Timestamp,
    /// The newest generation then; 0 if there was none.
    pub generation: u64,
}

impl Heartbeat {
    /// Whether to write it, after the one of the sync at `before`.
    #[must_use]
    pub fn is_due(&self, before: Option<Timestamp>) -> bool {
        let stretch = |time: Timestamp| time.as_second().div_euclid(STRETCH);
        before.is_none_or(|before| stretch(before) != stretch(self.time))
    }
}

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
        *kept = Some((Instant::now(), beat.clone()));
        Ok(beat)
    }

    /// The last recorded sync of the vault, as the store had it up to a minute ago: at most one request a minute, whoever asks. [`None`] too if it cannot
    /// be read.
    pub async fn synced_lately(&self) -> Option<Heartbeat> {
        let mut kept = self.shared.synced.lock().await;
        if let Some(beat) = lately(&kept) {
            return beat.clone();
        }
        let beat = self.get_state(SYNCED).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "the last sync is not known");
            None
        });
        *kept = Some((Instant::now(), beat.clone()));
        beat
    }

    /// The same without any request: [`None`] too if it was not read lately.
    pub fn synced_kept(&self) -> Option<Heartbeat> {
        lately(&*self.shared.synced.try_lock().ok()?).cloned().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_once_in_five_minutes_however_often_the_vault_is_synced() {
        let mut before = None;
        let mut written = 0;
        for second in (0..3600).step_by(10) {
            let beat = Heartbeat { time: Timestamp::from_second(1_700_000_000 + second).unwrap(), generation: 1 };
            written += u32::from(beat.is_due(before));
            before = Some(beat.time);
        }
        assert!((12..=13).contains(&written), "{written}");
    }
}
