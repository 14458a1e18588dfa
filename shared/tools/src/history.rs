//! Earlier versions of notes.

pub mod note_history;
pub mod restore_note;
pub mod undo_changes;
