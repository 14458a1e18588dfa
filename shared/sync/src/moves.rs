//! Moves of single files between folders that are open: at once where the file system can, and never over another file.

use std::io;

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::report::Reason;

/// Moves a file to a free path, or over a folder without files.
pub(crate) fn move_new(from: &Dir, name: &str, to: &Dir, new_name: &str) -> Result<(), Reason> {
    match rename_new(from, name, to, new_name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let found = to.symlink_metadata(new_name).map_err(|error| unwritable(&error))?;
            if !found.is_dir() {
                return Err(Reason::Unwritable("another file has its name".to_owned()));
            }
            // Only a folder without files can be removed.
            if let Ok(below) = to.open_dir_nofollow(new_name) {
                remove_empty(&below);
            }
            to.remove_dir(new_name)
                .map_err(|_| Reason::Unwritable("a folder that is not empty has its name".to_owned()))?;
            rename_new(from, name, to, new_name).map_err(|error| unwritable(&error))
        }
        moved => moved.map_err(|error| unwritable(&error)),
    }
}

/// Renames a file of ours without replacing. If the file system supports neither an atomic rename nor links, existence
/// is checked just before.
fn rename_new(from: &Dir, name: &str, to: &Dir, new_name: &str) -> io::Result<()> {
    if let Some(done) = rename_at_once(from, name, to, new_name) {
        return done;
    }
    match from.hard_link(name, to, new_name) {
        Ok(()) => return from.remove_file(name),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
        Err(_) => {}
    }
    rename_after_look(from, name, to, new_name)
}

/// Moves another program's file away, to a free path of ours.
pub(crate) fn move_away(from: &Dir, name: &str, to: &Dir, new_name: &str) -> Result<(), Reason> {
    match rename_away(from, name, to, new_name) {
        Err(_) if from.symlink_metadata(name).is_err() => Err(Reason::Changed),
        moved => moved.map_err(|error| unwritable(&error)),
    }
}

/// Moves another program's file to a path of ours without replacing. It is never linked and then removed: that would
/// remove a save in between.
pub(crate) fn rename_away(from: &Dir, name: &str, to: &Dir, new_name: &str) -> io::Result<()> {
    rename_at_once(from, name, to, new_name).unwrap_or_else(|| rename_after_look(from, name, to, new_name))
}

/// Renames atomically; [`None`] where the file system cannot.
fn rename_at_once(from: &Dir, name: &str, to: &Dir, new_name: &str) -> Option<io::Result<()>> {
    match renameat_with(from, name, to, new_name, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => None,
        done => Some(done.map_err(io::Error::from)),
    }
}

fn rename_after_look(from: &Dir, name: &str, to: &Dir, new_name: &str) -> io::Result<()> {
    match to.symlink_metadata(new_name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => from.rename(name, to, new_name),
        Err(error) => Err(error),
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
    }
}

/// Removes the folders in `dir` that contain no files.
pub(crate) fn remove_empty(dir: &Dir) {
    let Ok(entries) = dir.entries() else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|file_type| file_type.is_dir())
            && let Ok(below) = dir.open_dir_nofollow(entry.file_name())
        {
            remove_empty(&below);
            let _ = dir.remove_dir(entry.file_name());
        }
    }
}

pub(crate) fn unwritable(error: &io::Error) -> Reason {
    Reason::Unwritable(error.to_string())
}
