//! The state of the last sync, stored outside the vault: for each path the last version that was equal in the folder
//! and in the mirror.
//!
//!
//! ```text
//! "ATLASYNC"  version u32  CRC-32 of the rest u32  State in bincode
//! ```
//! Version 4 has losses without their files, which are forgotten; version 3 also ends before `earlier`. Integers are little-endian. A lost or damaged state deletes nothing: without
//! ancestors, differences are conflicts.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Cursor, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atlas_segment::Kind;
use bincode::{Decode, Encode};

use crate::error::SyncError;
use crate::folder::Stamp;
use crate::guard::{FileKind, Loss, SeenGeneration};

const MAGIC: &[u8; 8] = b"ATLASYNC";
const VERSION: u32 = 5;
/// The version whose losses are numbers.
const WITH_NUMBERS: u32 = 4;
/// The version before, without `earlier`.
const WITHOUT_EARLIER: u32 = 3;
/// Most earlier generations that are stored.
const MAX_EARLIER: usize = 64;
const HEADER_BYTES: usize = 16;
/// Bytes that a rehearsal writes if there is no state yet.
const SMALL: usize = 64 << 10;
/// Stands for the time of a file that no sync brought to the folder, and that the mirror removed. No file has it.
pub const CARRIED_NS: i64 = i64::MIN;
/// The name of an unfinished state file.
const DRAFT: &str = "state.new";
/// Most bytes of a state: enough for millions of paths.
const MAX_BYTES: usize = 1 << 30;

const fn codec() -> bincode::config::Configuration<
    bincode::config::LittleEndian,
    bincode::config::Varint,
    bincode::config::Limit<MAX_BYTES>,
> {
    bincode::config::standard().with_limit::<MAX_BYTES>()
}

/// The state of the last sync.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct State {
    /// The vault's folder, without symbolic links.
    pub root: String,
    /// The vault's id.
    pub vault: String,
    /// The mount point of the folder's file system.
    pub mount_point: String,
    /// The newest generation then.
    pub seen: SeenGeneration,
    /// Whether the mirror's files that a folder can have were exactly the `entries`.
    pub settled: bool,
    /// Files that vanished from the folder recently.
    pub losses: Vec<Loss>,
    /// Files that vanished from the mirror recently.
    pub head_losses: Vec<Loss>,
    /// The equal files, by path. A sync shares those that stay with the state before.
    pub entries: Vec<Arc<Entry>>,
    /// Generations seen earlier, the oldest first, and the older the sparser. They show how far a damaged mirror still
    /// has the same history.
    pub earlier: Vec<SeenGeneration>,
}

/// A path whose content was equal in the folder and in the mirror.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Entry {
    /// Path in the vault.
    pub path: String,
    /// SHA-256 of the content.
    pub sha256: [u8; 32],
    /// Its kind.
    pub kind: Kind,
    /// Its size in the folder.
    pub size: u64,
    /// Its modification time in the folder; [`None`] if the time may not change with the content, [`CARRIED_NS`] if no sync brought it.
    pub mtime_ns: Option<i64>,
}

impl Entry {
    /// Whether no sync brought the folder's file, but the mirror removed it, and the folder keeps it for now.
    pub fn is_carried(&self) -> bool {
        self.mtime_ns == Some(CARRIED_NS)
    }

    /// Whether a file with `stamp` is unchanged.
    pub fn matches(&self, stamp: Stamp) -> bool {
        !self.is_carried() && self.size == stamp.size && self.mtime_ns == Some(stamp.mtime_ns)
    }
}

impl State {
    /// The earlier generations for the next state, which saw `next`.
    pub fn earlier_than(&self, next: &SeenGeneration) -> Vec<SeenGeneration> {
        let is_kept = |seen: &&SeenGeneration| seen.lineage == next.lineage && seen.generation < next.generation;
        let mut earlier: Vec<SeenGeneration> =
            self.earlier.iter().chain([&self.seen]).filter(is_kept).cloned().collect();
        if earlier.len() > MAX_EARLIER {
            // Of the older half, every second one is dropped.
            let mut at = 0;
            earlier.retain(|_| {
                at += 1;
                at > MAX_EARLIER / 2 || at % 2 == 1
            });
        }
        earlier
    }

    /// The content of the state file.
    ///
    /// # Errors
    /// When it is too large.
    pub fn encode(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Cursor::new(Vec::new());
        self.write(&mut bytes)?;
        Ok(bytes.into_inner())
    }

    /// Writes the content of the state file to an empty file. That of a large folder is not held in memory.
    fn write(&self, file: &mut (impl io::Write + io::Seek)) -> io::Result<()> {
        file.write_all(&[0; HEADER_BYTES])?;
        let mut body = BufWriter::new(Checksummed { file, checksum: crc32fast::Hasher::new() });
        bincode::encode_into_std_write(self, &mut body, codec()).map_err(io::Error::other)?;
        let Checksummed { file, checksum } = body.into_inner()?;
        file.rewind()?;
        let header = [&MAGIC[..], &VERSION.to_le_bytes(), &checksum.finalize().to_le_bytes()].concat();
        file.write_all(&header)
    }

    /// Reads a state file; [`None`] when it is damaged, or of an unknown version.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (version, rest) = rest.split_first_chunk()?;
        let (checksum, body) = rest.split_first_chunk()?;
        if u32::from_le_bytes(*checksum) != crc32fast::hash(body) {
            return None;
        }
        let (state, read, all) = match u32::from_le_bytes(*version) {
            VERSION => {
                let (state, read) = bincode::decode_from_slice::<Self, _>(body, codec()).ok()?;
                (state, read, body.len())
            }
            WITH_NUMBERS => Self::decode_with_numbers(body)?,
            WITHOUT_EARLIER => Self::decode_with_numbers(&[body, &[0]].concat())?,
            _ => return None,
        };
        (read == all && state.entries.is_sorted_by(|a, b| a.path < b.path)).then_some(state)
    }

    /// Reads the state of version 4; with it, how many of how many bytes were read.
    fn decode_with_numbers(body: &[u8]) -> Option<(Self, usize, usize)> {
        let (fields, read): (WithNumbers, usize) = bincode::decode_from_slice(body, codec()).ok()?;
        let (root, vault, mount_point, seen, settled, _, _, entries, earlier) = fields;
        let (losses, head_losses) = (Vec::new(), Vec::new());
        let state = Self { root, vault, mount_point, seen, settled, losses, head_losses, entries, earlier };
        Some((state, read, body.len()))
    }
}

/// A loss of version 4: time, kind, number of files, and of how many.
type Numbers = (i64, FileKind, u64, u64);

/// The fields of a state of version 4.
type WithNumbers =
    (String, String, String, SeenGeneration, bool, Vec<Numbers>, Vec<Numbers>, Vec<Arc<Entry>>, Vec<SeenGeneration>);

/// Writes to a file, and computes the checksum of what is written.
struct Checksummed<'a, W> {
    file: &'a mut W,
    checksum: crc32fast::Hasher,
}

impl<W: io::Write> io::Write for Checksummed<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.checksum.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The folder of a state, locked while this value lives: one sync per host and vault.
#[derive(Debug)]
pub struct StateFolder {
    path: PathBuf,
    lock: File,
}

impl Drop for StateFolder {
    fn drop(&mut self) {
        // A child process that is just starting has the file open too, so closing it is not enough.
        if let Err(error) = self.lock.unlock() {
            tracing::warn!(path = %self.path.display(), %error, "the lock of the sync state is kept until this process ends");
        }
    }
}

impl StateFolder {
    /// Creates the folder if necessary, and locks it.
    ///
    /// # Errors [`SyncError::Locked`] when another sync has it; [`SyncError::State`].
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

    /// Whether the last sync with this folder was interrupted, so that it may have uploaded objects without committing
    /// them.
    pub fn was_interrupted(&self) -> bool {
        self.path.join(DRAFT).exists()
    }

    /// The state; [`None`] when there is none, or none that is valid.
    ///
    /// # Errors [`SyncError::State`] when it cannot be read.
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

    /// Replaces the stored state by `state`, atomically.
    ///
    /// # Errors [`SyncError::State`].
    pub fn save(&self, state: &State) -> Result<(), SyncError> {
        let failed = |error| SyncError::State { path: self.file(), action: "written", error };
        self.replace(state).map_err(failed)
    }

    /// Checks that a state like `before` can be written, before anything is done that the state must record.
    ///
    /// # Errors [`SyncError::State`].
    pub fn rehearse(&self, before: Option<&State>) -> Result<(), SyncError> {
        let failed = |error| SyncError::State { path: self.file(), action: "written", error };
        self.draft(before).map_err(failed)
    }

    fn draft(&self, state: Option<&State>) -> io::Result<()> {
        let mut file = File::create(self.path.join(DRAFT))?;
        match state {
            Some(state) => state.write(&mut file)?,
            None => file.write_all(&[0; SMALL])?,
        }
        file.sync_all()
    }

    fn replace(&self, state: &State) -> io::Result<()> {
        self.draft(Some(state))?;
        fs::rename(self.path.join(DRAFT), self.file())?;
        File::open(&self.path)?.sync_all()
    }

    fn file(&self) -> PathBuf {
        self.path.join("state")
    }
}

#[cfg(test)]
mod tests;
