//! Detects mistakes before `atlas up` creates anything: each is reported in one line that says what to do.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use atlas_sync::rules::{enters, of_placeholder};

use crate::remembered::Remembered;
use crate::vault_location::{GivenBy, VaultLocation};

/// Most entries that are searched for a note.
const MOST_ENTRIES: usize = 20_000;
/// Folders that only a vault has.
const OF_VAULTS: [&str; 1] = [".obsidian"];

/// Refuses a folder that probably contains no notes, if it was never synced.
///
/// # Errors The probable mistake, and what to do.
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
        return Err(format!(
            "{shown} contains more than notes: name the folder of your notes, as in `atlas up ~/notes`"
        )
        .into());
    }
    let is_meant = location.store.given_by == GivenBy::Argument;
    if let Some(above) = folder.parent().and_then(Remembered::around).filter(|_| !is_meant) {
        let above = above.display();
        return Err(format!("{shown} lies in {above}, which is synced already: run `atlas up {above}`, or name a store of its own with --store").into());
    }
    if let Some(below) = Remembered::below(folder).filter(|_| !is_meant) {
        let below = below.display();
        return Err(format!("{shown} holds {below}, which is synced already: run `atlas up {below}`, or name a store of its own with --store").into());
    }
    if is_vault(folder) {
        return Ok(());
    }
    match notes_in(folder) {
        Notes::Some => Ok(()),
        Notes::OfVault(_) if is_meant => Ok(()),
        Notes::OfVault(vault) => {
            let vault = vault.display();
            Err(format!("{shown} holds the vault {vault}: run `atlas up {vault}`, or name a store with --store to have all of it").into())
        }
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
    /// There are notes, or too many entries to search.
    Some,
    /// There is a folder that is a vault.
    OfVault(PathBuf),
    /// There are none but in iCloud, which leaves a placeholder for each.
    Elsewhere,
    None,
}

/// Whether Obsidian opened the folder as a vault.
pub(crate) fn is_vault(folder: &Path) -> bool {
    OF_VAULTS.iter().any(|name| folder.join(name).is_dir())
}

/// Whether a file of this name, in lower case, is a note.
fn is_note(name: &str) -> bool {
    name.ends_with(".md")
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
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && enters(&name) && is_vault(&path) => return Notes::OfVault(path),
                Ok(kind) if kind.is_dir() && enters(&name) => folders.push(path),
                Ok(kind) if kind.is_file() && is_note(&name) => found = Notes::Some,
                Ok(kind)
                    if kind.is_file() && of_placeholder(&name).is_some_and(is_note) && matches!(found, Notes::None) =>
                {
                    found = Notes::Elsewhere;
                }
                _ => {}
            }
        }
    }
    found
}
