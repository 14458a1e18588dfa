//! Notes: reading, writing and moving them.

pub(crate) mod anchor;
pub mod append_note;
pub mod copy_note;
pub mod delete_note;
pub mod edit_note;
pub mod list_notes;
pub mod move_note;
pub mod note_exists;
pub mod patch_note;
pub mod read_note;
pub mod read_notes;
pub mod upsert_note;
pub mod write_note;
