//! Earlier versions of notes.

pub(crate) mod commit;
pub(crate) mod gone;
pub mod list_commits;
mod merged;
pub mod note_history;
pub mod read_commit;
pub(crate) mod renames;
pub mod restore_note;
mod undo;
pub mod undo_changes;

use std::sync::Arc;

use atlas_mirror::Snapshot;
use jiff::{SignedDuration, Timestamp};

/// Times in history differ from its order by less than this: clocks of hosts differ, and the commit of a sync has the time at which the sync began.
const TIMES_DIFFER: SignedDuration = SignedDuration::from_hours(24);

/// Whether a page of history is so old that no commit before it is of that time or later.
pub(crate) fn is_before(page: &[Arc<Snapshot>], since: Timestamp) -> bool {
    page.iter().all(|snapshot| since.duration_since(snapshot.manifest().time) > TIMES_DIFFER)
}
