//! How the last syncs went, kept beside the sync state for whoever asks.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Most bytes of what is kept of a run.
const MAX_BYTES: u64 = 64 << 10;

/// A sync that completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// When it began.
    pub time: Timestamp,
    /// The newest generation then; 0 if there was none.
    pub generation: u64,
}

/// A sync that did not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// When it began.
    pub time: Timestamp,
    /// Why.
    pub reason: String,
}

/// What is kept of the last syncs in one state folder. Nothing depends on it: what cannot be written is not kept, and what cannot be
/// read was not.
#[derive(Debug)]
pub struct Runs {
    success: PathBuf,
    failure: PathBuf,
    collection: PathBuf,
}

impl Runs {
    /// Those of the syncs with the state folder `state`.
    pub fn of(state: &Path) -> Self {
        Self {
            success: state.join("success.json"),
            failure: state.join("failure.json"),
            collection: state.join("collection.json"),
        }
    }

    /// Keeps that a sync completed.
    pub fn succeeded(&self, run: &Run) {
        keep(&self.success, run);
        // There may be none.
        let _ = fs::remove_file(&self.failure);
    }

    /// Keeps that a sync did not complete.
    pub fn failed(&self, time: Timestamp, reason: &impl Display) {
        keep(&self.failure, &Failure { time, reason: reason.to_string() });
    }

    /// Keeps that what is not needed any more was deleted, or was to be.
    pub fn collected(&self, run: &Run) {
        keep(&self.collection, run);
    }

    /// When that was tried last.
    pub fn last_collection(&self) -> Option<Run> {
        read(&self.collection)
    }

    /// The last sync that completed.
    pub fn last_success(&self) -> Option<Run> {
        read(&self.success)
    }

    /// The last sync, if it did not complete.
    pub fn last_failure(&self) -> Option<Failure> {
        read(&self.failure)
    }
}

fn keep(path: &Path, run: &impl Serialize) {
    let temporary = path.with_extension("new");
    let kept = serde_json::to_vec(run).map_err(std::io::Error::from).and_then(|bytes| fs::write(&temporary, bytes));
    if let Err(error) = kept.and_then(|()| fs::rename(&temporary, path)) {
        tracing::debug!(path = %path.display(), %error, "how the sync went was not kept");
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let is_small = fs::metadata(path).is_ok_and(|found| found.len() <= MAX_BYTES);
    if is_small { serde_json::from_slice(&fs::read(path).ok()?).ok() } else { None }
}
