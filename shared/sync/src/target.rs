//! A folder to write files into: completely or not at all, never outside of it, never through a symbolic link, and
//! never over an unchecked file.
//!
//! A file is written below [`STAGING`] first and moved to its path when it is complete. The file that it replaces is
//! moved aside there, checked, and put back if it is not the expected one; so a concurrent edit survives. Else it is kept
//! there for a while ([`replaced`]). The next sync restores what a killed one left there
//! ([`mod@crate::recovery`]).

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use atlas_mirror::Id;
use atlas_vault::conflict::free_names;
use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, OpenOptions};
use jiff::Timestamp;

use crate::error::SyncError;
use crate::folder::{self, Folder, Stamp};
use crate::moves::{move_away, move_new, remove_empty, rename_away, unwritable};
use crate::ownership::{self, keep_owner};
use crate::report::Reason;
use crate::rules::STAGING;

pub(crate) mod replaced;

use replaced::{Checked, IGNORE_FILE, REPLACED, ROOM, Room};

/// The folder of files that were moved aside, each at its path.
pub(crate) const ASIDE: &str = ".atlas-mirror/aside";
/// Obsidian's trash, where files that a pull deletes go.
pub(crate) const TRASH: &str = ".trash/";
/// Most files of the trash that are read for one that goes there.
const MAX_COMPARED: usize = 8;

/// A folder to write into. Cloning is cheap.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    dir: Dir,
    /// Whether a file must be flushed to the disk before it is moved to its path.
    is_durable: bool,
    /// Folders whose changed entries are not flushed yet.
    changed: Mutex<BTreeSet<String>>,
    /// When the sync began.
    began: Timestamp,
    /// The room that is left for replaced files.
    room: Mutex<Room>,
}

/// A file that is being written; deleted if it is not finished.
#[derive(Debug)]
pub(crate) struct Unfinished {
    target: Target,
    file: File,
    staging: Dir,
    name: String,
}

/// The file that a new one may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpectedTarget {
    /// Any file, or none.
    Anything,
    /// No file.
    Nothing,
    /// A file with this SHA-256.
    Version([u8; 32]),
}

/// A file that was moved aside.
pub(crate) struct Aside {
    target: Target,
    /// Its original path.
    path: String,
    checked: Checked,
    /// Its original folder.
    parent: Dir,
    /// The folder that it is in.
    folder: Dir,
    name: String,
    /// The file as it was checked.
    found: File,
}

impl Target {
    /// Opens the folder at `path`, and creates it if necessary. Unless `force` is set it must be empty.
    pub(crate) fn open(path: &Path, force: bool) -> Result<Self, SyncError> {
        let failed = |reason: String| SyncError::Target { to: path.to_owned(), reason };
        let io = |error: io::Error| failed(error.to_string());
        fs::create_dir_all(path).map_err(io)?;
        if !force && fs::read_dir(path).map_err(io)?.next().is_some() {
            return Err(failed("it is not empty: name another folder, or overwrite its files with --force".to_owned()));
        }
        Ok(Self::new(Dir::open_ambient_dir(path, ambient_authority()).map_err(io)?, false, Timestamp::UNIX_EPOCH))
    }

    /// The vault's folder, for a sync that began then.
    ///
    /// # Errors
    /// When it cannot be opened again.
    pub(crate) fn of(folder: &Folder, began: Timestamp) -> Result<Self, Reason> {
        folder.dir.try_clone().map(|dir| Self::new(dir, true, began)).map_err(|error| unwritable(&error))
    }

    fn new(dir: Dir, is_durable: bool, began: Timestamp) -> Self {
        let (changed, room) = (Mutex::default(), Mutex::new(ROOM));
        Self { shared: Arc::new(Shared { dir, is_durable, changed, began, room }) }
    }

    /// When the sync began.
    pub(crate) fn began(&self) -> Timestamp {
        self.shared.began
    }

    /// Whether this sync may keep a replaced file of this size. It counts as kept.
    pub(crate) fn takes(&self, bytes: u64) -> bool {
        self.shared.room.lock().unwrap_or_else(PoisonError::into_inner).take(bytes)
    }

    /// Begins a file.
    pub(crate) fn begin(&self) -> Result<Unfinished, Reason> {
        let staging = self.below(STAGING, true).map_err(|error| refused(STAGING, &error))?;
        // Another host may be writing here too, with the same process number.
        let id = Id::random().map_err(|error| Reason::Unwritable(error.to_string()))?;
        let name = format!("new-{id}");
        let file = staging.open_with(&name, OpenOptions::new().write(true).create_new(true));
        let file = file.map_err(|error| refused(STAGING, &error))?.into_std();
        Ok(Unfinished { target: self.clone(), file, staging, name })
    }

    /// Removes the file at `path` if its SHA-256 is `version`.
    pub(crate) fn remove(&self, path: &str, version: [u8; 32]) -> Result<(), Reason> {
        self.set_aside(path, version)?.discard()
    }

    /// Moves the file at `path` to the free path `to`. A concurrent save moves with it, or creates a new file at
    /// `path`.
    pub(crate) fn rename(&self, path: &str, to: &str) -> Result<(), Reason> {
        let ((folder, name), (new_folder, new_name)) = (self.place_of(path)?, self.place_of(to)?);
        rename_away(&folder, &name, &new_folder, &new_name).map_err(|error| unwritable(&error))
    }

    /// Moves the file at `path`, if its SHA-256 is `version`, to its first free name in the trash, unless the trash has it already. The file is not
    /// touched before there is a place for it, and moves at once: neither a failure nor a killed sync leaves a file that seems to have come after its
    /// removal.
    pub(crate) fn trash(&self, path: &str, version: [u8; 32]) -> Result<(), Reason> {
        let (parent, name) = self.place_of_existing(path)?;
        let size = parent.symlink_metadata(&name).map_err(|_| Reason::Changed)?.len();
        let mut compared = 0;
        let mut refused = Reason::Changed;
        for kept in free_names(path) {
            let (trash, new_name) = self.place_of(&format!("{TRASH}{kept}"))?;
            if let Ok(found) = trash.symlink_metadata(&new_name) {
                if found.len() == size && compared < MAX_COMPARED {
                    compared += 1;
                    if folder::hash_of(&trash, &new_name) == Ok(version) {
                        return self.remove(path, version);
                    }
                }
                refused = Reason::Unwritable("all of its names in .trash are taken".to_owned());
                continue;
            }
            move_away(&parent, &name, &trash, &new_name)?;
            if folder::hash_of(&trash, &new_name) == Ok(version) {
                return Ok(());
            }
            // If the path is taken, it stays in the trash.
            put_back(&trash, &new_name, &parent, &name);
            return Err(Reason::Changed);
        }
        Err(refused)
    }

    /// As [`place_of`](Self::place_of), if the folder is there.
    fn place_of_existing(&self, path: &str) -> Result<(Dir, String), Reason> {
        let is_gone = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
        if self.below(folder_of(path), false).is_err_and(is_gone) {
            return Err(Reason::Changed);
        }
        self.place_of(path)
    }

    /// The folder of `path`, created if necessary, and the name in it.
    pub(crate) fn place_of(&self, path: &str) -> Result<(Dir, String), Reason> {
        let folder = folder_of(path);
        let name = path.rsplit('/').next().unwrap_or(path);
        let dir = self.below(folder, true).map_err(|error| refused(folder, &error))?;
        self.shared.changed.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned());
        Ok((dir, name.to_owned()))
    }

    /// Opens the folder at `path`, step by step, so that no symbolic link is followed.
    pub(crate) fn below(&self, path: &str, make: bool) -> io::Result<Dir> {
        let mut dir = self.shared.dir.try_clone()?;
        for (level, name) in path.split('/').filter(|name| !name.is_empty()).enumerate() {
            dir = match dir.open_dir_nofollow(name) {
                Err(error) if make && error.kind() == io::ErrorKind::NotFound => {
                    match path.split('/').next() {
                        Some(STAGING) => {
                            // Files of closed folders are kept there too.
                            let is_private = level > 0 && path.starts_with(REPLACED);
                            ownership::make_shared(&self.shared.dir, &dir, name, is_private)?;
                        }
                        _ => ownership::make(&dir, name, &DirBuilder::new()).map(drop)?,
                    }
                    dir.open_dir_nofollow(name)?
                }
                Err(error) => {
                    return Err(io::Error::new(error.kind(), format!("the folder {name} on its way: {error}")));
                }
                Ok(below) => below,
            };
        }
        Ok(dir)
    }

    /// Whether something is at `path` that its folders list under another name: the file system does not tell cases apart.
    pub(crate) fn is_listed_otherwise(&self, path: &str) -> bool {
        let dir = &self.shared.dir;
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        let is_listed = |part: &str| {
            let (folder, name) = part.rsplit_once('/').unwrap_or((".", part));
            dir.read_dir(folder).is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name() == name))
        };
        dir.symlink_metadata(path).is_ok() && !ends.filter_map(|end| path.get(..end)).all(is_listed)
    }

    /// Moves the file at `path` aside if its SHA-256 is `version`.
    pub(crate) fn set_aside(&self, path: &str, version: [u8; 32]) -> Result<Aside, Reason> {
        let (parent, name) = self.place_of_existing(path)?;
        let (folder, _) = self.place_of(&format!("{ASIDE}/{path}"))?;
        move_away(&parent, &name, &folder, &name)?;
        match folder::look(&folder, &name) {
            Ok((found, stamp, sha256)) if sha256 == version => {
                let checked = Checked { sha256, stamp };
                Ok(Aside { target: self.clone(), path: path.to_owned(), checked, parent, folder, name, found })
            }
            _ => {
                // If the path is taken, the file stays aside, and the next sync restores it.
                put_back(&folder, &name, &parent, &name);
                Err(Reason::Changed)
            }
        }
    }

    /// Flushes all moves to the disk, as far as the file system supports it.
    pub(crate) fn sync(&self) {
        let changed = std::mem::take(&mut *self.shared.changed.lock().unwrap_or_else(PoisonError::into_inner));
        for folder in changed {
            let synced = self.below(&folder, false).and_then(|dir| dir.into_std_file().sync_all());
            if let Err(error) = synced {
                tracing::debug!(folder, %error, "a folder was not synced");
            }
        }
    }

    /// Hides the staging folder from Git, while files are kept in it.
    pub(crate) fn hide_from_git(&self) {
        let dir = &self.shared.dir;
        if dir.symlink_metadata(IGNORE_FILE).is_err()
            && let Err(error) = dir.write(IGNORE_FILE, "*\n")
        {
            tracing::debug!(%error, "the staging folder is not hidden from Git");
        }
    }

    /// Removes the staging folder, if nothing is kept in it.
    pub(crate) fn clear(&self) {
        self.remove_folder(ASIDE);
        let dir = &self.shared.dir;
        // A folder that is not empty stays, and so does what hides it from Git.
        let _ = dir.remove_dir(REPLACED);
        if dir.symlink_metadata(REPLACED).is_err() {
            let _ = dir.remove_file(IGNORE_FILE);
        }
        let _ = dir.remove_dir(STAGING);
    }

    /// Removes the folder at `path`, unless it has files.
    pub(crate) fn remove_folder(&self, path: &str) {
        if let Ok(folder) = self.below(path, false) {
            remove_empty(&folder);
        }
        // A folder that is not empty stays.
        let _ = self.shared.dir.remove_dir(path);
    }
}

impl Aside {
    /// Keeps it only for as long as a program that has it open may write into it.
    pub(crate) fn discard(self) -> Result<(), Reason> {
        // Some file systems only hide an open file that is deleted.
        drop(self.found);
        replaced::put_away(&self.target, &self.path, self.checked, &self.folder, &self.name)
    }
}

/// The folder of `path`; the root is empty.
fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The reason for an error of making or using a folder.
fn refused(folder: &str, error: &io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::PermissionDenied if folder.split('/').next() == Some(STAGING) => Reason::Unwritable(format!(
            "{error}; if `{STAGING}` in the vault's folder belongs to another user, give it and all that is in it to the one that syncs"
        )),
        _ => unwritable(error),
    }
}

fn put_back(folder: &Dir, name: &str, parent: &Dir, old_name: &str) {
    if let Err(error) = move_new(folder, name, parent, old_name) {
        tracing::warn!(name, %error, "a file that was moved aside could not be put back yet");
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

    /// Its size and time.
    pub(crate) fn stamp(&self) -> Result<Stamp, Reason> {
        folder::stamp_of(&self.file)
    }

    /// Sets the file's time, and moves it to `path`, over the file that `instead` allows.
    pub(crate) fn finish(&self, path: &str, modified_ms: i64, instead: ExpectedTarget) -> Result<Stamp, Reason> {
        if let Err(error) = self.file.set_modified(time(modified_ms)) {
            // The time is optional: some file systems let only their owner set it.
            tracing::debug!(path, %error, "a file has another time than the commit");
        }
        if self.target.shared.is_durable {
            self.file.sync_all().map_err(|error| unwritable(&error))?;
        }
        let stamp = self.stamp()?;
        match instead {
            ExpectedTarget::Anything => {
                let (parent, name) = self.target.place_of(path)?;
                if parent.symlink_metadata(&name).is_ok_and(|found| found.is_dir()) {
                    return Err(Reason::Unwritable("a folder has its name".to_owned()));
                }
                self.staging.rename(&self.name, &parent, &name).map_err(|error| unwritable(&error))?;
            }
            ExpectedTarget::Nothing => {
                let (parent, name) = self.target.place_of(path)?;
                move_new(&self.staging, &self.name, &parent, &name)?;
            }
            ExpectedTarget::Version(version) => {
                let aside = self.target.set_aside(path, version)?;
                keep_owner(&aside.found, &self.file);
                // Some file systems have no permissions.
                let _ = aside.found.metadata().and_then(|found| self.file.set_permissions(found.permissions()));
                if let Err(reason) = move_new(&self.staging, &self.name, &aside.parent, &aside.name) {
                    put_back(&aside.folder, &aside.name, &aside.parent, &aside.name);
                    return Err(reason);
                }
                // If this fails, the new version is here all the same.
                if let Err(reason) = aside.discard() {
                    tracing::warn!(path, %reason, "a replaced file could not be deleted, and may come back as a copy");
                }
            }
        }
        Ok(stamp)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // A finished file does not have this name any more.
        let _ = self.staging.remove_file(&self.name);
    }
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
