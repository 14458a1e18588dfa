//! The vault's folder, opened so that no path and no symbolic link leads out of it.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use atlas_segment::Kind;
use atlas_vault::file_kind::MAX_TEXT_BYTES;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, MetadataExt as _, OpenOptions};
use sha2::{Digest as _, Sha256};
use std::os::unix::fs::MetadataExt as _;
use unicode_normalization::UnicodeNormalization as _;

use crate::error::SyncError;
use crate::report::Reason;
use crate::rules::{Class, holds_secret};

/// Largest note in bytes; a larger one is stored as an attachment.
pub const MAX_NOTE_BYTES: u64 = 64 << 20;
/// How often a file that changes during the read is read.
const TRIES: u32 = 3;
/// Attachments are read in pieces of this many bytes.
pub(crate) const PIECE: usize = 256 << 10;

/// Size and time of a file: a quick and nearly certain sign whether it has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970 UTC.
    pub mtime_ns: i64,
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self { size: metadata.size(), mtime_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()) }
    }

    /// Modification time, milliseconds since 1970 UTC.
    pub const fn modified_ms(self) -> i64 {
        self.mtime_ns.div_euclid(1_000_000)
    }
}

/// A consistent read of a file: the whole content at one moment, as far as its stamp shows.
#[derive(Debug)]
pub struct Content {
    /// Its stamp at the time.
    pub stamp: Stamp,
    /// SHA-256 of its bytes.
    pub sha256: [u8; 32],
    /// Its kind.
    pub kind: Kind,
    /// Its bytes, unless it is an attachment.
    pub text: Option<Vec<u8>>,
}

/// A folder.
#[derive(Debug)]
pub struct Folder {
    pub(crate) dir: Dir,
    path: PathBuf,
}

impl Folder {
    /// Opens the folder at `path`.
    ///
    /// # Errors [`SyncError::RootMissing`] when it does not exist, is not a folder, or cannot be read.
    pub fn open(path: &Path) -> Result<Self, SyncError> {
        let missing = |error| SyncError::RootMissing { root: path.to_owned(), error };
        let path = path.canonicalize().map_err(missing)?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(missing)?;
        Ok(Self { dir, path })
    }

    /// Its path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The mount point of its file system.
    ///
    /// # Errors
    /// When the metadata of the folder or one above it cannot be read.
    pub fn mount_point(&self) -> io::Result<PathBuf> {
        // Of the opened folder: another file system may have been mounted at its path since.
        let device = self.dir.dir_metadata()?.dev();
        let mut mount_point = self.path.as_path();
        while let Some(parent) = mount_point.parent() {
            if parent.metadata()?.dev() != device {
                break;
            }
            mount_point = parent;
        }
        Ok(mount_point.to_owned())
    }

    /// Reads the file at `path`, in the folder's spelling, again until it did not change during the read.
    pub(crate) fn read(&self, path: &str, class: Class, is_link: bool) -> Result<Content, Reason> {
        for _ in 0..TRIES {
            if let Some(content) = self.read_once(path, class, is_link)? {
                return Ok(content);
            }
        }
        Err(Reason::Unsteady)
    }

    /// Reads the file once; [`None`] when it changed meanwhile.
    fn read_once(&self, path: &str, class: Class, is_link: bool) -> Result<Option<Content>, Reason> {
        let mut file = self.open_file(path, is_link)?;
        let stamp = stamp_of(&file)?;
        let (sha256, text) = match kept_as(class, stamp.size)? {
            Kind::Attachment => {
                let (sha256, length) = hash(&mut file).map_err(Reason::unreadable)?;
                if length != stamp.size {
                    return Ok(None);
                }
                (sha256, None)
            }
            _ => {
                let mut text = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or(0) + 1);
                // A read of one more byte than expected shows that the file grew.
                let limit = stamp.size.saturating_add(1);
                (&mut file).take(limit).read_to_end(&mut text).map_err(Reason::unreadable)?;
                if text.len() as u64 != stamp.size {
                    return Ok(None);
                }
                (Sha256::digest(&text).into(), Some(text))
            }
        };
        if stamp_of(&file)? != stamp {
            return Ok(None);
        }
        let kind = kind_of(class, path, stamp.size, text.as_deref().unwrap_or_default())?;
        let text = text.filter(|_| kind != Kind::Attachment);
        Ok(Some(Content { stamp, sha256, kind, text }))
    }

    /// The stamp of the file at `path`, if one is there.
    pub(crate) fn stamp(&self, path: &str) -> Option<Stamp> {
        let metadata = self.dir.symlink_metadata(path).ok().filter(Metadata::is_file)?;
        Some(Stamp::of(&metadata))
    }

    /// When the file at `path` came there or was changed last, whatever its modification time says; in milliseconds since 1970 UTC.
    pub(crate) fn placed_ms(&self, path: &str) -> Option<i64> {
        let metadata = self.dir.symlink_metadata(path).ok()?;
        Some(nanoseconds(metadata.ctime(), metadata.ctime_nsec()).div_euclid(1_000_000))
    }

    /// The vault's `path` as the folder spells it, if something is there: in NFC, or decomposed (NFD) in its name, its folder or both. The last part
    /// may be a symbolic link.
    pub fn spelt(&self, path: &str) -> Option<String> {
        spellings(path).into_iter().find(|spelling| self.dir.symlink_metadata(spelling).is_ok())
    }

    /// Whether a folder is at `path`.
    pub(crate) fn has_folder(&self, path: &str) -> bool {
        self.dir.symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
    }

    /// Opens a file to read it. A symbolic link is followed only if `is_link`, and never out of the folder.
    pub(crate) fn open_file(&self, path: &str, is_link: bool) -> Result<File, Reason> {
        let follow = if is_link { FollowSymlinks::Yes } else { FollowSymlinks::No };
        let mut options = OpenOptions::new();
        // Non-blocking: a pipe in the file's place would wait for a writer.
        options.read(true).follow(follow).nonblock(true);
        let file = self.dir.open_with(path, &options).map_err(Reason::unreadable)?;
        Ok(file.into_std())
    }
}

/// The kind of a file of this class and size at `path`, and with this `text` unless it is [`kept_as`] an attachment.
///
/// # Errors The reason why it belongs to no mirror.
pub fn kind_of(class: Class, path: &str, size: u64, text: &[u8]) -> Result<Kind, Reason> {
    match kept_as(class, size)? {
        Kind::Config if holds_secret(path, text) => Err(Reason::Secret),
        Kind::Text if memchr::memchr(0, text).is_some() => Ok(Kind::Attachment),
        kind => Ok(kind),
    }
}

/// The kind of a file of this class and size, before its content is checked.
///
/// # Errors The reason why it belongs to no mirror.
pub fn kept_as(class: Class, size: u64) -> Result<Kind, Reason> {
    match class {
        Class::Note if size <= MAX_NOTE_BYTES => Ok(Kind::Note),
        Class::MaybeText if size <= MAX_TEXT_BYTES => Ok(Kind::Text),
        Class::Config if size <= MAX_TEXT_BYTES => Ok(Kind::Config),
        Class::Config => Err(Reason::TooLarge),
        Class::Note | Class::MaybeText | Class::Attachment => Ok(Kind::Attachment),
    }
}

/// SHA-256 of the file `name` in `dir`, if it is a file.
pub(crate) fn hash_of(dir: &Dir, name: &str) -> Result<[u8; 32], Reason> {
    look(dir, name).map(|(_, _, sha256)| sha256)
}

/// Opens the file `name` in `dir`, if it is a file. Returns it with its stamp and the SHA-256 of its content.
pub(crate) fn look(dir: &Dir, name: &str) -> Result<(File, Stamp, [u8; 32]), Reason> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let mut file = dir.open_with(name, &options).map_err(Reason::unreadable)?.into_std();
    let stamp = stamp_of(&file)?;
    let (sha256, _) = hash(&mut file).map_err(Reason::unreadable)?;
    Ok((file, stamp, sha256))
}

/// The spellings of a path in NFC that may be on a disk.
fn spellings(path: &str) -> Vec<String> {
    let decomposed: String = path.nfd().collect();
    let [(folder, name), (other_folder, other_name)] =
        [path, &decomposed].map(|path| path.split_at(path.rfind('/').map_or(0, |slash| slash + 1)));
    let mixed = [(other_folder, other_name), (folder, other_name), (other_folder, name)];
    let mut all = vec![path.to_owned()];
    for spelling in mixed.map(|(folder, name)| format!("{folder}{name}")) {
        if !all.contains(&spelling) {
            all.push(spelling);
        }
    }
    all
}

/// The stamp of an open file, if it is a file.
pub(crate) fn stamp_of(file: &File) -> Result<Stamp, Reason> {
    let metadata = file.metadata().map_err(Reason::unreadable)?;
    if !metadata.is_file() {
        return Err(Reason::NotAFile);
    }
    Ok(Stamp { size: metadata.size(), mtime_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()) })
}

/// A file's time as nanoseconds since 1970, saturating.
const fn nanoseconds(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

/// SHA-256 and length of the rest of a file.
fn hash(file: &mut File) -> io::Result<([u8; 32], u64)> {
    let mut hasher = Sha256::new();
    let mut piece = vec![0; PIECE];
    let mut length = 0u64;
    loop {
        let read = match file.read(&mut piece) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if read == 0 {
            return Ok((hasher.finalize().into(), length));
        }
        hasher.update(piece.get(..read).unwrap_or_default());
        length = length.saturating_add(read as u64);
    }
}
