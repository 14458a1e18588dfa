//! Commits over notes. [`update`] changes one note. [`batch`] is the only way to change documents, and checks whether a
//! change destroys text.

pub mod batch;
pub mod commit;
pub mod creating;
pub mod destruction;
pub mod editing;
pub mod one_name;
pub mod precondition;
pub mod relocate;
pub mod update;
pub mod writable;
