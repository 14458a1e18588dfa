//! What a sync did.

use atlas_mirror::manifest::Changes;
use atlas_mirror::{Collected, Repaired, Snapshot};
use serde::Serialize;

use crate::outcome::Changed;
use crate::pull::Conflicted;
use crate::report::{Reason, Skipped};

/// What a sync did, or without `--dry-run` would do.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// The newest generation; 0 if there is none.
    pub generation: u64,
    /// Notes in the mirror.
    pub notes: u64,
    /// Other files in the mirror.
    pub attachments: u64,
    /// What went from the folder to the mirror.
    pub pushed: Changes,
    /// What went from the mirror to the folder.
    pub pulled: Changes,
    /// The files of both, by path; of very many the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Changed>,
    /// Files of the folder that needed nothing.
    pub unchanged: u64,
    /// Bytes of the folder's files.
    pub bytes: u64,
    /// Bytes sent to the store.
    pub uploaded_bytes: u64,
    /// How long it took, in milliseconds; the caller's to fill in.
    pub duration_ms: u64,
    /// Paths that changed in the mirror and could not be brought to the folder.
    #[serde(skip_serializing_if = "is_zero")]
    pub waiting: u64,
    /// Attachments whose text a search finds from now on.
    #[serde(skip_serializing_if = "is_zero")]
    pub texts: u64,
    /// Attachments whose text the next syncs read: there was no more time.
    #[serde(skip_serializing_if = "is_zero")]
    pub texts_waiting: u64,
    /// Files and folders that were left as they are, and notes kept as attachments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// Paths that changed on both sides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Conflicted>,
    /// What was deleted from the store, if it was looked through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collected: Option<Collected>,
    /// What was repaired of the mirror, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repaired: Option<Repaired>,
    /// Copies of conflicts that were in the folder before: somebody is to look at them, keep what is right, and delete them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<String>,
}

impl Summary {
    /// Takes in what the newest generation has, if there is one.
    pub(crate) fn describe(&mut self, newest: Option<&Snapshot>) {
        if let Some(newest) = newest {
            let totals = newest.manifest().totals;
            (self.generation, self.notes, self.attachments) = (newest.generation(), totals.notes, totals.attachments);
        }
    }

    /// Whether something waits for the next sync, or for somebody: a file could not be brought to its side, or both sides changed it.
    pub fn needs_attention(&self) -> bool {
        let waits =
            |skipped: &Skipped| matches!(skipped.reason, Reason::Overtaken | Reason::Changed | Reason::Unsteady);
        self.waiting > 0 || !self.conflicts.is_empty() || self.skipped.iter().any(waits)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
