//! Mistakes that are noticed before `atlas up` makes anything: each is told in one line that says what to do.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use crate::remembered::Remembered;
use crate::vault_location::{GivenBy, VaultLocation};

/// Most entries that are looked at for a note.
const MOST_ENTRIES: usize = 20_000;
/// Folders that only a vault has.
const OF_VAULTS: [&str; 1] = [".obsidian"];

/// Refuses a folder that is not likely to be somebody's notes, if it was never synced.
///
/// # Errors
/// What is likely meant instead.
pub(crate) fn check(location: &VaultLocation) -> Result<(), Box<dyn Error>> {
    let folder = location.folder()?;
    let shown = folder.display();
    match fs::metadata(folder) {
        Err(error) => return Err(format!("{shown} cannot be opened: {error}; name the folder of your notes").into()),
        Ok(found) if !found.is_dir() => return Err(format!("{shown} is a file: name the folder of your notes").into()),
        Ok(_) => {}
    }
    if Remembered::of(folder).is_some() {
        return Ok(());
    }
    let home = env::var_os("HOME").map(PathBuf::from).and_then(|home| home.canonicalize().ok());
    if folder.parent().is_none() || home.as_deref() == Some(folder) {
        return Err(
            format!("{shown} holds more than notes: name the folder of your notes, as in `atlas up ~/notes`").into()
        );
    }
    let above = folder.parent().and_then(Remembered::around);
    if let Some(above) = above.filter(|_| location.store.given_by != GivenBy::Argument) {
        let above = above.display();
        return Err(format!("{shown} lies in {above}, which is synced already: run `atlas up {above}`, or name a store of its own with --store").into());
    }
    if OF_VAULTS.iter().any(|name| folder.join(name).is_dir()) {
        return Ok(());
    }
    match notes_in(folder) {
        Notes::Some => Ok(()),
        Notes::Elsewhere => {
            Err(format!("the notes in {shown} are in iCloud and not on this disk: download them first").into())
        }
        Notes::None => {
            Err(format!("{shown} has no notes (*.md): name the folder of your notes, or write the first one there")
                .into())
        }
    }
}

enum Notes {
    /// There are some, or there is too much to look at.
    Some,
    /// There are none but in iCloud, which leaves a placeholder for each.
    Elsewhere,
    None,
}

/// Which notes lie in `folder` and below it.
fn notes_in(folder: &Path) -> Notes {
    let mut looked_at = 0;
    let mut found = Notes::None;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            looked_at += 1;
            if looked_at > MOST_ENTRIES {
                return Notes::Some;
            }
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy().to_lowercase();
            let is_hidden = name.starts_with('.');
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !is_hidden => folders.push(path),
                Ok(kind) if kind.is_file() && name.ends_with(".md") => return Notes::Some,
                Ok(kind) if kind.is_file() && is_hidden && name.ends_with(".md.icloud") => found = Notes::Elsewhere,
                _ => {}
            }
        }
    }
    found
}
