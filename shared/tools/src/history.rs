//! Earlier versions of notes.

pub(crate) mod commit;
pub mod list_commits;
mod merged;
pub mod note_history;
pub mod read_commit;
pub(crate) mod renames;
pub mod restore_note;
mod undo;
pub mod undo_changes;
