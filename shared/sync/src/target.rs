//! A folder that files are written into: whole or not at all, never outside of it, never through a symbolic link.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use crate::error::SyncError;
use crate::report::Reason;
use crate::rules::TEMPORARY_PREFIX;

/// A folder to write into.
#[derive(Debug)]
pub(crate) struct Target {
    dir: Arc<Dir>,
    /// Whether files that are there may be replaced.
    replace: bool,
    /// Folders that are known to be folders.
    folders: Mutex<HashSet<String>>,
    /// Numbers the temporary files.
    begun: AtomicU64,
}

/// A file that is being written under a temporary name; it goes when it is not finished.
#[derive(Debug)]
pub(crate) struct Unfinished {
    dir: Arc<Dir>,
    file: File,
    path: String,
    temporary: String,
}

impl Target {
    /// Opens the folder at `path`, and makes it if need be. Unless `force` is set it must be empty.
    pub(crate) fn open(path: &Path, force: bool) -> Result<Self, SyncError> {
        let failed = |reason: String| SyncError::Target { to: path.to_owned(), reason };
        let io = |error: io::Error| failed(error.to_string());
        fs::create_dir_all(path).map_err(io)?;
        if !force && fs::read_dir(path).map_err(io)?.next().is_some() {
            return Err(failed(
                "it is not empty: name another folder, or write over what is there with --force".to_owned(),
            ));
        }
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(io)?;
        Ok(Self { dir: Arc::new(dir), replace: force, folders: Mutex::default(), begun: AtomicU64::new(0) })
    }

    /// Begins the file at `path`, and makes its folders.
    pub(crate) fn begin(&self, path: &str) -> Result<Unfinished, Reason> {
        let folder = path.rsplit_once('/').map(|(folder, _)| folder);
        if let Some(folder) = folder {
            self.make(folder)?;
        }
        match self.dir.symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unwritable(&error)),
            Ok(found) if found.is_dir() => {
                return Err(Reason::Unwritable("a folder has its name".to_owned()));
            }
            Ok(_) if self.replace => {}
            Ok(_) => return Err(Reason::Unwritable("another file has its name".to_owned())),
        }
        let name = format!("{TEMPORARY_PREFIX}{}.tmp", self.begun.fetch_add(1, Ordering::Relaxed));
        let temporary = folder.map_or_else(|| name.clone(), |folder| format!("{folder}/{name}"));
        if self.replace {
            // Left by an export that was killed.
            let _ = self.dir.remove_file(&temporary);
        }
        let file = self.dir.open_with(&temporary, OpenOptions::new().write(true).create_new(true));
        let file = file.map_err(|error| unwritable(&error))?.into_std();
        Ok(Unfinished { dir: self.dir.clone(), file, path: path.to_owned(), temporary })
    }

    /// Makes a folder and those above it; refuses symbolic links on the way.
    fn make(&self, folder: &str) -> Result<(), Reason> {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let ends = folder.match_indices('/').map(|(end, _)| end).chain([folder.len()]);
        for part in ends.filter_map(|end| folder.get(..end)) {
            if folders.contains(part) {
                continue;
            }
            match self.dir.symlink_metadata(part) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => {
                    return Err(Reason::Unwritable(format!("{part} is there and is not a folder")));
                }
                Err(_) => self.dir.create_dir(part).map_err(|error| unwritable(&error))?,
            }
            folders.insert(part.to_owned());
        }
        Ok(())
    }
}

impl Unfinished {
    /// Appends bytes.
    pub(crate) fn append(mut self, bytes: &[u8]) -> Result<Self, Reason> {
        match self.file.write_all(bytes) {
            Ok(()) => Ok(self),
            Err(error) => Err(unwritable(&error)),
        }
    }

    /// Gives the file its time and its name.
    pub(crate) fn finish(self, modified_ms: i64) -> Result<(), Reason> {
        let timed = self.file.set_modified(time(modified_ms));
        let named = timed.and_then(|()| self.dir.rename(&self.temporary, &self.dir, &self.path));
        named.map_err(|error| unwritable(&error))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // A finished file does not have this name any more.
        let _ = self.dir.remove_file(&self.temporary);
    }
}

fn unwritable(error: &io::Error) -> Reason {
    Reason::Unwritable(error.to_string())
}

fn time(modified_ms: i64) -> SystemTime {
    let distance = Duration::from_millis(modified_ms.unsigned_abs());
    let time = if modified_ms < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(distance)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(distance)
    };
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}
