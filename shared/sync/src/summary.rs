//! The summary of a sync.

use atlas_mirror::manifest::Changes;
use atlas_mirror::{Collected, LeftOut, LeftOutFile, Repaired, Snapshot};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;

use crate::merged::Merged;
use crate::outcome::Changed;
use crate::pull::Conflicted;
use crate::report::{Reason, Skipped};

/// The result of an exchange with a Git repository.
#[derive(Debug, Default, Serialize)]
pub struct GitSummary {
    /// Files that the mirror took from it.
    pub taken: u64,
    /// Commits that it got.
    pub commits: u64,
    /// The newest commit of the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Files that could not be brought to one of the two, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// Paths that changed on both sides, and were not merged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Conflicted>,
    /// The reason why it failed. The next sync tries again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Links that followed files which a person moved in the folder.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct LinkSummary {
    /// The number of moved files.
    pub moved: u64,
    /// The number of rewritten links.
    pub links: u64,
    /// The number of notes with such links.
    pub notes: u64,
    /// Why other links stay as they are.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub left: Vec<String>,
    /// The reason why it failed. The next sync tries again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
}

/// The result of a sync, or with `--dry-run` the result that it would have.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// The newest generation; 0 if there is none.
    pub generation: u64,
    /// Notes in the mirror.
    pub notes: u64,
    /// Other files in the mirror.
    pub attachments: u64,
    /// Changes from the folder to the mirror.
    pub pushed: Changes,
    /// Changes from the mirror to the folder.
    pub pulled: Changes,
    /// The files of both, by path; at most a thousand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Changed>,
    /// Unchanged files of the folder.
    pub unchanged: u64,
    /// Bytes of the folder's files.
    pub bytes: u64,
    /// Bytes sent to the store.
    pub uploaded_bytes: u64,
    /// The duration in milliseconds; the caller fills it in.
    pub duration_ms: u64,
    /// Paths that changed in the mirror and could not be written to the folder.
    #[serde(skip_serializing_if = "is_zero")]
    pub waiting: u64,
    /// Attachments whose text searches find from now on.
    #[serde(skip_serializing_if = "is_zero")]
    pub texts: u64,
    /// Attachments left to the next syncs, for lack of time.
    #[serde(skip_serializing_if = "is_zero")]
    pub texts_waiting: u64,
    /// Notes that got their vectors.
    #[serde(skip_serializing_if = "is_zero")]
    pub embedded: u64,
    /// Notes that wait for their vectors.
    #[serde(skip_serializing_if = "is_zero")]
    pub embedding_waiting: u64,
    /// Why they wait, where that is not for lack of a sync.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedding_failure: Option<String>,
    /// Skipped files and folders, and notes stored as attachments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// The first files and folders that rules exclude, and by which rule.
    #[serde(skip)]
    pub excluded: Vec<(String, String)>,
    /// Files that both sides changed, and that were merged; in a dry run those that would be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<Merged>,
    /// Paths that changed on both sides, and were not merged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Conflicted>,
    /// The result of the garbage collection, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collected: Option<Collected>,
    /// The result of the repair, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repaired: Option<Repaired>,
    /// The links that followed files which were moved in the folder, if there are such files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relinked: Option<LinkSummary>,
    /// The result of the exchange with a Git repository, if it was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitSummary>,
    /// Conflict copies that were in the folder before. A person should merge and delete them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<String>,
}

impl Summary {
    /// What the sync left out, for the mirror's readers.
    #[must_use]
    pub fn left_out(&self, began: Timestamp) -> LeftOut {
        let skipped = self.skipped.iter().map(|skipped| (skipped.path.clone(), skipped.reason.to_string()));
        let excluded = self.excluded.iter().map(|(path, rule)| (path.clone(), format!("the rule {rule} excludes it")));
        let files =
            skipped.chain(excluded).map(|(path, reason)| LeftOutFile::new(&path.nfc().collect::<String>(), reason));
        LeftOut::of(began, files.collect())
    }

    /// Adds the generation and totals of the newest generation, if there is one.
    pub(crate) fn describe(&mut self, newest: Option<&Snapshot>) {
        if let Some(newest) = newest {
            let totals = newest.manifest().totals;
            (self.generation, self.notes, self.attachments) = (newest.generation(), totals.notes, totals.attachments);
        }
    }

    /// Adds the summary of the sync that followed at once.
    pub fn continued(&mut self, later: Self) {
        let sum = |a: Changes, b: Changes| Changes {
            added: a.added + b.added,
            changed: a.changed + b.changed,
            removed: a.removed + b.removed,
        };
        let earlier = std::mem::replace(self, later);
        self.pushed = sum(earlier.pushed, self.pushed);
        self.pulled = sum(earlier.pulled, self.pulled);
        self.uploaded_bytes += earlier.uploaded_bytes;
        self.texts += earlier.texts;
        self.embedded += earlier.embedded;
        self.git = earlier.git;
        self.relinked = earlier.relinked;
        self.collected = self.collected.or(earlier.collected);
        self.repaired = self.repaired.take().or(earlier.repaired);
        self.changed.splice(0..0, earlier.changed);
        self.merged.splice(0..0, earlier.merged);
        self.conflicts.splice(0..0, earlier.conflicts);
    }

    /// Whether something is left for the next sync or for a person: a file could not be written to its side, both
    /// sides changed it, or its embedding model fails.
    pub fn needs_attention(&self) -> bool {
        let waits =
            |skipped: &Skipped| matches!(skipped.reason, Reason::Overtaken | Reason::Changed | Reason::Unsteady);
        let git = |git: &GitSummary| git.error.is_some() || !git.conflicts.is_empty() || git.skipped.iter().any(waits);
        let is_git_waiting = self.git.as_ref().is_some_and(git);
        let links = |links: &LinkSummary| links.error.is_some() || !links.left.is_empty();
        let are_links_left = self.relinked.as_ref().is_some_and(links);
        self.waiting > 0
            || self.embedding_failure.is_some()
            || is_git_waiting
            || are_links_left
            || !self.conflicts.is_empty()
            || self.skipped.iter().any(waits)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_fails_needs_attention() {
        assert!(!Summary::default().needs_attention());
        let failing =
            Summary { embedding_failure: Some("the configuration cannot be read".to_owned()), ..Summary::default() };
        assert!(failing.needs_attention());
    }
}
