//! Earlier versions of notes.

pub mod note_history;
pub mod restore_note;
mod undo;
pub mod undo_changes;
