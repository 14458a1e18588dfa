//! The results of the last syncs, stored beside the sync state.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Most bytes stored of a run.
const MAX_BYTES: u64 = 64 << 10;

/// A completed sync.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// When it began.
    pub time: Timestamp,
    /// The newest generation then; 0 if there was none.
    pub generation: u64,
}

/// A failed sync.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// When it began.
    pub time: Timestamp,
    /// The reason.
    pub reason: String,
}

/// The results of the last syncs of one state folder. Nothing depends on them: what cannot be written or read is
/// ignored.
#[derive(Debug)]
pub struct Runs {
    success: PathBuf,
    failure: PathBuf,
    collection: PathBuf,
}

impl Runs {
    /// The results of the syncs with the state folder `state`.
    pub fn of(state: &Path) -> Self {
        Self {
            success: state.join("success.json"),
            failure: state.join("failure.json"),
            collection: state.join("collection.json"),
        }
    }

    /// Records a completed sync.
    pub fn succeeded(&self, run: &Run) {
        keep(&self.success, run);
        // The file may not exist.
        let _ = fs::remove_file(&self.failure);
    }

    /// Records a failed sync.
    pub fn failed(&self, time: Timestamp, reason: &impl Display) {
        keep(&self.failure, &Failure { time, reason: reason.to_string() });
    }

    /// Records a garbage collection, successful or not.
    pub fn collected(&self, run: &Run) {
        keep(&self.collection, run);
    }

    /// The last garbage collection, successful or not.
    pub fn last_collection(&self) -> Option<Run> {
        read(&self.collection)
    }

    /// The last completed sync.
    pub fn last_success(&self) -> Option<Run> {
        read(&self.success)
    }

    /// The last sync, if it failed.
    pub fn last_failure(&self) -> Option<Failure> {
        read(&self.failure)
    }
}

/// Writes a record to `path`, beside the sync state. A failure to write is logged, and ignored.
pub fn keep(path: &Path, run: &impl Serialize) {
    let temporary = path.with_extension("new");
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    let bytes = folder.and_then(|()| Ok(serde_json::to_vec(run)?));
    let kept = bytes.and_then(|bytes| fs::write(&temporary, bytes));
    if let Err(error) = kept.and_then(|()| fs::rename(&temporary, path)) {
        tracing::debug!(path = %path.display(), %error, "how the sync went was not kept");
    }
}

/// The record at `path`; [`None`] if there is none that can be read.
pub fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let is_small = fs::metadata(path).is_ok_and(|found| found.len() <= MAX_BYTES);
    if is_small { serde_json::from_slice(&fs::read(path).ok()?).ok() } else { None }
}
