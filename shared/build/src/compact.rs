//! Compacts a vault: merges its small segments, and deletes what its history does not need any more. For vaults that no host syncs.

use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::{
    Attempt, ChangeSet, Collected, CommitInfo, Committed, Derived, Mirror, MirrorError, Retention, Snapshot, merge,
};
use jiff::Timestamp;
use serde::Serialize;

use crate::error::BuildError;

/// The author and the operation of its commits.
const AUTHOR: &str = "compact";
/// The time limit of each commit.
const COMMIT_TIME: Duration = Duration::from_secs(4 * 60);
/// Most merges of one call; the next one continues.
const MAX_MERGES: usize = 16;

/// What a compaction did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compacted {
    /// The newest generation; 0 if there is none.
    pub generation: u64,
    /// Segments before.
    pub segments_before: usize,
    /// Segments now.
    pub segments: usize,
    /// What was deleted.
    pub collected: Option<Collected>,
}

/// Compacts the vault of `mirror`. It is safe beside writers, readers, syncs and other compactions.
///
/// # Errors [`BuildError`]. You may repeat it: finished merges stay.
pub async fn compact(mirror: &Mirror, retention: Retention, now: Timestamp) -> Result<Compacted, BuildError> {
    let head = match mirror.head().await {
        Err(MirrorError::NotPublished { .. }) => return Ok(Compacted::default()),
        head => head?,
    };
    let mut compacted = Compacted {
        generation: head.generation(),
        segments_before: head.segments().len(),
        segments: head.segments().len(),
        collected: None,
    };
    mirror.check_writes_once().await?;
    let info = CommitInfo {
        author: AUTHOR.to_owned(),
        caller: None,
        operation: AUTHOR.to_owned(),
        message: None,
        session: None,
        key: None,
        time: now,
        deadline: COMMIT_TIME,
    };
    for _ in 0..MAX_MERGES {
        let Committed::New(head, ()) = mirror.commit(&info, &Merge).await? else { break };
        (compacted.generation, compacted.segments) = (head.generation(), head.segments().len());
    }
    compacted.collected = Some(mirror.collect(retention, now).await?);
    Ok(compacted)
}

/// The commit of one merge.
struct Merge;

impl ChangeSet for Merge {
    type Error = MirrorError;
    type Outcome = ();

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<()>, MirrorError> {
        let Some(head) = head else { return Ok(Attempt::nothing(())) };
        let mut derived = Derived { totals: head.manifest().totals, ..Derived::default() };
        merge::compact(head, merge::LARGE, &mut derived).await?;
        if derived.dropped.is_empty() {
            return Ok(Attempt::nothing(()));
        }
        Ok(Attempt::changes(derived, ()))
    }
}
