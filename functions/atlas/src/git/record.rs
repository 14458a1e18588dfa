//! The folders of an exchange, and the note beside them.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use atlas_sync::runs;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::program::GitError;

/// The last exchange that this host saw: whether one is due. The mirror knows the last one of all hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The branch's newest commit then.
    pub(super) commit: Option<String>,
    /// The mirror's generation then.
    pub(super) generation: u64,
    /// When the branch was last asked for.
    pub(super) asked: Option<Timestamp>,
}

/// The folders of an exchange. One process uses them at a time.
#[derive(Debug)]
pub(super) struct Place {
    folder: PathBuf,
    _lock: File,
}

impl Place {
    /// Opens `folder`, which is made if it is not there; [`None`] if another process uses it.
    pub(super) fn open(folder: PathBuf) -> Result<Option<Self>, GitError> {
        let unusable =
            |error: io::Error| GitError::new(format!("the folder {} cannot be used: {error}", folder.display()));
        fs::create_dir_all(&folder).map_err(unusable)?;
        let lock = File::create(folder.join("lock")).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self { folder, _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(unusable(error)),
        }
    }

    /// The clone.
    pub(super) fn repository(&self) -> PathBuf {
        self.folder.join("repository.git")
    }

    /// The branch's files, while they are exchanged.
    pub(super) fn files(&self) -> PathBuf {
        self.folder.join("files")
    }

    /// The state of their sync.
    pub(super) fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    /// Texts of earlier generations.
    pub(super) fn texts(&self) -> PathBuf {
        self.folder.join("texts")
    }

    fn record(&self) -> PathBuf {
        self.folder.join("last.json")
    }

    pub(super) fn last(&self) -> Record {
        runs::read(&self.record()).unwrap_or_default()
    }

    pub(super) fn keep(&self, record: &Record) {
        runs::keep(&self.record(), record);
    }

    /// Erases the files and texts that an interrupted exchange has left.
    pub(super) fn erase_texts(&self) -> io::Result<()> {
        for folder in [self.files(), self.texts(), self.state()] {
            match fs::remove_dir_all(folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// An empty folder at `path`.
pub(super) fn empty(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(path),
    }
}
