//! What the last sync left, kept outside the vault: for each path what was last equal in the folder and in the mirror.
//!
//! ```text
//! "ATLASYNC"  version u32  CRC-32 of the rest u32  State in bincode
//! ```
//! Version 3 ends before `earlier`. Integers are little-endian. A state that is lost or damaged deletes nothing: without ancestors, differences
//! are conflicts.

use std::borrow::Cow;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use atlas_segment::Kind;
use bincode::{Decode, Encode};

use crate::error::SyncError;
use crate::folder::Stamp;
use crate::guard::{Loss, Seen};

const MAGIC: &[u8; 8] = b"ATLASYNC";
const VERSION: u32 = 4;
/// A version without `earlier`.
const WITHOUT_EARLIER: u32 = 3;
/// Most generations seen earlier that are kept.
const MAX_EARLIER: usize = 64;
const HEADER_BYTES: usize = 16;
/// Bytes of a state of few paths.
const SMALL: usize = 64 << 10;
/// The name of a state that is being written.
const DRAFT: &str = "state.new";
/// Most bytes of a state: millions of paths.
const MAX_BYTES: usize = 1 << 30;

const fn codec() -> bincode::config::Configuration<
    bincode::config::LittleEndian,
    bincode::config::Varint,
    bincode::config::Limit<MAX_BYTES>,
> {
    bincode::config::standard().with_limit::<MAX_BYTES>()
}

/// What the last sync left.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct State {
    /// The vault's folder, without symbolic links.
    pub root: String,
    /// The vault's id.
    pub vault: String,
    /// Where the folder's file system was mounted.
    pub mount_point: String,
    /// The newest generation then.
    pub seen: Seen,
    /// Whether the mirror then had, of what a folder can have, the `entries` and nothing else.
    pub settled: bool,
    /// What vanished from the folder lately.
    pub losses: Vec<Loss>,
    /// What vanished from the mirror lately.
    pub head_losses: Vec<Loss>,
    /// By path.
    pub entries: Vec<Entry>,
    /// Generations seen before that, the oldest first: the older, the fewer. They tell how far a mirror that was damaged still has the same history.
    pub earlier: Vec<Seen>,
}

/// A path whose content was equal in the folder and in the mirror.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Entry {
    /// Path in the vault.
    pub path: String,
    /// SHA-256 of the content.
    pub sha256: [u8; 32],
    /// What it was.
    pub kind: Kind,
    /// Its size in the folder.
    pub size: u64,
    /// Its modification time in the folder; [`None`] if that cannot be trusted to change with the content.
    pub mtime_ns: Option<i64>,
}

impl Entry {
    /// Whether a file with `stamp` is still what it was.
    pub fn matches(&self, stamp: Stamp) -> bool {
        self.size == stamp.size && self.mtime_ns == Some(stamp.mtime_ns)
    }
}

impl State {
    /// The generations seen until now, for the state after this one, which saw `next`.
    pub fn earlier_than(&self, next: &Seen) -> Vec<Seen> {
        let is_kept = |seen: &&Seen| seen.lineage == next.lineage && seen.generation < next.generation;
        let mut earlier: Vec<Seen> = self.earlier.iter().chain([&self.seen]).filter(is_kept).cloned().collect();
        if earlier.len() > MAX_EARLIER {
            // Of the older half, each second one goes.
            let mut at = 0;
            earlier.retain(|_| {
                at += 1;
                at > MAX_EARLIER / 2 || at % 2 == 1
            });
        }
        earlier
    }

    /// The state as a file has it.
    ///
    /// # Errors
    /// When it is too large.
    pub fn encode(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; HEADER_BYTES];
        bincode::encode_into_std_write(self, &mut bytes, codec()).map_err(io::Error::other)?;
        let body = bytes.get(HEADER_BYTES..).unwrap_or_default();
        let header = [&MAGIC[..], &VERSION.to_le_bytes(), &crc32fast::hash(body).to_le_bytes()].concat();
        if let Some(start) = bytes.get_mut(..HEADER_BYTES) {
            start.copy_from_slice(&header);
        }
        Ok(bytes)
    }

    /// Reads what a file has; [`None`] when it is damaged, or of another version.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (version, rest) = rest.split_first_chunk()?;
        let (checksum, body) = rest.split_first_chunk()?;
        if u32::from_le_bytes(*checksum) != crc32fast::hash(body) {
            return None;
        }
        let none = [0];
        let body = match u32::from_le_bytes(*version) {
            VERSION => Cow::Borrowed(body),
            WITHOUT_EARLIER => Cow::Owned([body, &none].concat()),
            _ => return None,
        };
        let (state, read): (Self, usize) = bincode::decode_from_slice(&body, codec()).ok()?;
        (read == body.len() && state.entries.is_sorted_by(|a, b| a.path < b.path)).then_some(state)
    }
}

/// The folder that a state is kept in, locked as long as this lives: one sync per host and vault.
#[derive(Debug)]
pub struct StateFolder {
    path: PathBuf,
    lock: File,
}

impl Drop for StateFolder {
    fn drop(&mut self) {
        // A program that this process is just about to start holds the file open too: to close it alone is not enough.
        if let Err(error) = self.lock.unlock() {
            tracing::warn!(path = %self.path.display(), %error, "the lock of the sync state is kept until this process ends");
        }
    }
}

impl StateFolder {
    /// Makes the folder if need be, and locks it.
    ///
    /// # Errors
    /// [`SyncError::Locked`] when another sync has it; [`SyncError::State`].
    pub fn lock(path: &Path) -> Result<Self, SyncError> {
        let failed = |action| move |error| SyncError::State { path: path.to_owned(), action, error };
        fs::create_dir_all(path).map_err(failed("kept"))?;
        let lock = path.join("lock");
        let file = File::options().create(true).truncate(false).write(true).open(&lock).map_err(failed("locked"))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), lock: file }),
            Err(TryLockError::WouldBlock) => Err(SyncError::Locked { lock }),
            Err(TryLockError::Error(error)) => Err(failed("locked")(error)),
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the last sync with this folder did not come to its end, so that it may have uploaded what it has not committed.
    pub fn was_interrupted(&self) -> bool {
        self.path.join(DRAFT).exists()
    }

    /// The state; [`None`] when there is none, or none that can be used.
    ///
    /// # Errors
    /// [`SyncError::State`] when there is one that cannot be read.
    pub fn load(&self) -> Result<Option<State>, SyncError> {
        let path = self.file();
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(SyncError::State { path, action: "read", error });
            }
        };
        let state = State::decode(&bytes);
        if state.is_none() {
            tracing::warn!(path = %path.display(), "the sync state is damaged or of another version and is made anew");
        }
        Ok(state)
    }

    /// Puts `state` in the place of the one before, whole or not at all.
    ///
    /// # Errors
    /// [`SyncError::State`].
    pub fn save(&self, state: &State) -> Result<(), SyncError> {
        let failed = |error| SyncError::State { path: self.file(), action: "written", error };
        let bytes = state.encode().map_err(failed)?;
        self.replace(&bytes).map_err(failed)
    }

    /// Makes sure that a state like `before` can be written, before anything is done that it is to remember.
    ///
    /// # Errors
    /// [`SyncError::State`].
    pub fn rehearse(&self, before: Option<&State>) -> Result<(), SyncError> {
        let failed = |error| SyncError::State { path: self.file(), action: "written", error };
        let bytes = before.map_or_else(|| Ok(vec![0; SMALL]), State::encode).map_err(failed)?;
        self.draft(&bytes).map(drop).map_err(failed)
    }

    fn draft(&self, bytes: &[u8]) -> io::Result<File> {
        let mut file = File::create(self.path.join(DRAFT))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(file)
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        drop(self.draft(bytes)?);
        fs::rename(self.path.join(DRAFT), self.file())?;
        File::open(&self.path)?.sync_all()
    }

    fn file(&self) -> PathBuf {
        self.path.join("state")
    }
}

#[cfg(test)]
mod tests;
