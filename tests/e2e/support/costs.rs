//! Limits on the cost of a call, and the notes of a folder.

use std::path::{Path, PathBuf};

pub const MAX_WAVES: u64 = 3;

/// The notes of a folder, by path.
pub fn notes_of(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(notes_of(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.sort_unstable();
    found
}
