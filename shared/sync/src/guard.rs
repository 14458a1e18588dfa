//! Stops a sync before it destroys notes. Pure.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use atlas_mirror::Hash;
use atlas_segment::Kind;
use bincode::{Decode, Encode};
use serde::Serialize;

/// This many files of a kind may always vanish.
const FEW: u64 = 10;
/// One file in this many may vanish.
const SHARE: u64 = 5;
/// How long vanished files count, in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A sign that the folder or the mirror was replaced, so that carrying over its changes could destroy notes. Nothing
/// was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Danger {
    /// The folder was on a file system that is not mounted any more.
    #[error(
        "{} is not mounted any more, so the vault folder {} is not what it was: mount it and sync again. If the vault has \
         moved to a plain folder for good, delete the sync state in {} (nothing in the vault will be lost)",
        was.display(), root.display(), state.display()
    )]
    NotMounted {
        /// The vault's folder.
        root: PathBuf,
        /// The mount point that it was on.
        was: PathBuf,
        /// The folder of the sync state.
        state: PathBuf,
    },
    /// The store has no such vault any more, or a different or older one.
    #[error(
        "the mirror is not the one that this folder was synced with ({reason}): check the store's address. If the \
         store was restored or begun anew on purpose, delete the sync state in {} and sync again (nothing in the vault will be lost)",
        state.display()
    )]
    OtherMirror {
        /// The difference.
        reason: String,
        /// The folder of the sync state.
        state: PathBuf,
    },
    /// The last seen generation was collected.
    #[error(
        "generation {generation}, with which this folder was synced last, is not kept any more, so what changed since cannot be told: \
         delete the sync state in {} and sync again (nothing in the vault will be lost; what differs is kept twice)", state.display()
    )]
    Forgotten {
        /// The generation.
        generation: u64,
        /// The folder of the sync state.
        state: PathBuf,
    },
    /// The sync state belongs to another folder or vault.
    #[error("the sync state in {} is of the folder {} and the vault {vault}: name another folder with --state", state.display(), root.display())]
    OtherState {
        /// The folder of the sync state.
        state: PathBuf,
        /// The folder that it belongs to.
        root: PathBuf,
        /// The vault that it belongs to.
        vault: String,
    },
    /// The folder is empty.
    #[error(
        "the vault folder {} is empty, and had {of} files: check that it is mounted. To have them again from the mirror, delete the \
         sync state in {} and sync again; if they are meant to be gone, sync with --allow-mass-delete",
        root.display(), state.display()
    )]
    Emptied {
        /// The vault's folder.
        root: PathBuf,
        /// The folder of the sync state.
        state: PathBuf,
        /// How many files it had.
        of: u64,
    },
    /// The folder was apparently never synced with this mirror, and has little in common with it.
    #[error(
        "the vault folder {} and the vault in the store have little in common ({shared} of {files} files), and were not synced with each \
         other before: check both addresses. Joining them would bring {to_mirror} files to the mirror and {to_folder} to the folder, and \
         keep {conflicts} twice; to do that, sync with --join", root.display()
    )]
    Unrelated {
        /// The vault's folder.
        root: PathBuf,
        /// How many files it has.
        files: u64,
        /// How many of them the mirror has, or had.
        shared: u64,
        /// How many files would go to the mirror.
        to_mirror: u64,
        /// How many would come from it.
        to_folder: u64,
        /// How many differ.
        conflicts: u64,
    },
    /// Many files vanished.
    #[error(
        "{lost} of {of} {what} vanished from {} or became empty {when}, more than a fifth: {}. If they are meant to be gone, sync \
         with --allow-mass-delete", side.named(root), side.advice(state)
    )]
    MassDeletion {
        /// The side.
        side: Side,
        /// The kind of files.
        what: FileKind,
        /// The vault's folder.
        root: PathBuf,
        /// The folder of the sync state.
        state: PathBuf,
        /// How many of them vanished.
        lost: u64,
        /// How many there were.
        of: u64,
        /// The period, as an adverb.
        when: &'static str,
    },
}

/// A kind of files, which is counted separately: many pictures must not hide the loss of notes, nor many notes the loss
/// of a folder of pictures, which may be on its own disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum FileKind {
    /// Notes.
    Notes,
    /// All other files.
    Attachments,
}

impl FileKind {
    /// Each kind.
    pub const ALL: [Self; 2] = [Self::Notes, Self::Attachments];

    /// The kind of a file.
    pub fn of(kind: Kind) -> Self {
        if kind == Kind::Note { Self::Notes } else { Self::Attachments }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Notes => "notes",
            Self::Attachments => "attachments",
        })
    }
}

/// A side of the sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The vault's folder.
    Folder,
    /// The mirror.
    Mirror,
}

impl Side {
    fn named(self, root: &Path) -> String {
        match self {
            Self::Folder => root.display().to_string(),
            Self::Mirror => "the mirror".to_owned(),
        }
    }

    fn advice(self, state: &Path) -> String {
        match self {
            Self::Folder => format!(
                "check that the folder is mounted and complete. To have them again from the mirror, delete the sync state in {} and \
                 sync again",
                state.display()
            ),
            Self::Mirror => "see with `atlas log` who deleted them; `atlas restore` brings a note back".to_owned(),
        }
    }
}

/// A file that vanished, by the beginnings of two hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LostFile {
    /// Of SHA-256 of its path.
    pub path: u64,
    /// Of SHA-256 of its last content.
    pub content: u64,
}

impl LostFile {
    /// The file at `path` with the content `sha256`.
    pub fn new(path: &str, sha256: [u8; 32]) -> Self {
        Self { path: Self::path(path), content: Self::content(sha256) }
    }

    /// The beginning of the hash of a path.
    pub fn path(path: &str) -> u64 {
        Self::content(*Hash::of(path.as_bytes()).as_bytes())
    }

    /// The beginning of the hash of a content.
    pub fn content(sha256: [u8; 32]) -> u64 {
        sha256.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
    }
}

/// Files of a kind that vanished together.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Loss {
    /// When, in milliseconds since 1970 UTC.
    pub time_ms: i64,
    /// Their kind.
    pub what: FileKind,
    /// The files.
    pub files: Vec<LostFile>,
    /// The number of all files of the kind.
    pub of: u64,
}

/// The paths and contents that a side has, in the form of [`LostFile`].
#[derive(Debug, Default)]
pub struct Present {
    /// The paths of files that are not empty.
    pub paths: HashSet<u64>,
    /// Their contents, as far as they are known.
    pub contents: HashSet<u64>,
}

impl Present {
    /// The part of `losses` that is still lost: neither the path nor the content is there again.
    pub fn still_lost(&self, losses: &[Loss]) -> Vec<Loss> {
        let is_lost = |file: &LostFile| !self.paths.contains(&file.path) && !self.contents.contains(&file.content);
        let files = |loss: &Loss| loss.files.iter().copied().filter(is_lost).collect();
        losses.iter().map(|loss| Loss { files: files(loss), ..*loss }).collect()
    }
}

/// Decides how many files may vanish.
#[derive(Clone, Debug)]
pub struct Losses<'a> {
    /// The losses of earlier syncs.
    pub before: &'a [Loss],
    /// The files that vanished now.
    pub now: Loss,
}

impl Losses<'_> {
    /// Stops when too many files vanished, at once or within a day.
    ///
    /// # Errors [`Danger::MassDeletion`].
    pub fn check(&self, side: Side, root: &Path, state: &Path) -> Result<(), Danger> {
        let Loss { what, ref files, of, .. } = self.now;
        if files.is_empty() {
            return Ok(());
        }
        let too_many = |lost: usize, of: u64, when| {
            let (root, state, lost) = (root.to_owned(), state.to_owned(), lost as u64);
            let danger = Danger::MassDeletion { side, what, root, state, lost, of, when };
            if lost > FEW && lost.saturating_mul(SHARE) > of { Err(danger) } else { Ok(()) }
        };
        too_many(files.len(), of, "at once")?;
        // A file that comes and goes is lost once.
        let paths = self.recent().flat_map(|loss| &loss.files).chain(files).map(|file| file.path);
        let lost = paths.collect::<HashSet<u64>>().len();
        too_many(lost, self.recent().map(|loss| loss.of).fold(of, u64::max), "within a day")
    }

    /// The losses of this kind that the next sync must count: at most what may be lost within a day.
    pub fn remembered(&self) -> Vec<Loss> {
        self.recent().chain([&self.now]).filter(|loss| !loss.files.is_empty()).cloned().collect()
    }

    /// Earlier losses within a day; if the clock was set back, also future ones.
    fn recent(&self) -> impl Iterator<Item = &Loss> {
        let Loss { time_ms, what, .. } = self.now;
        let is_recent = move |loss: &&Loss| loss.what == what && time_ms.saturating_sub(loss.time_ms) < DAY_MS;
        self.before.iter().filter(is_recent)
    }
}

/// A generation as a sync saw it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SeenGeneration {
    /// The mirror's lineage.
    pub lineage: String,
    /// The generation.
    pub generation: u64,
    /// SHA-256 of its manifest.
    pub manifest: [u8; 32],
}

/// How the mirror's newest generation relates to the one that was seen last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ancestry {
    /// It is the same.
    Same,
    /// It is a descendant, if the manifest of the seen number is still the one that was seen.
    Later,
}

/// Compares the newest generation with the last one `seen`.
///
/// # Errors The difference, when they have nothing in common.
pub fn compare(seen: &SeenGeneration, head: Option<&SeenGeneration>) -> Result<Ancestry, String> {
    let Some(head) = head else {
        return Err("the store does not have this vault any more".to_owned());
    };
    if head.lineage != seen.lineage {
        return Err("its lineage is another: it was begun anew".to_owned());
    }
    let older = || Err(format!("generation {} was seen, but {} is its newest", seen.generation, head.generation));
    match head.generation.cmp(&seen.generation) {
        std::cmp::Ordering::Less => older(),
        std::cmp::Ordering::Equal if head.manifest == seen.manifest => Ok(Ancestry::Same),
        std::cmp::Ordering::Equal => Err(other_history(seen)),
        std::cmp::Ordering::Greater => Ok(Ancestry::Later),
    }
}

/// Checks that the manifest that now has the number of `seen` is the one that was seen.
///
/// # Errors The difference.
pub fn check_ancestor(seen: &SeenGeneration, found: Hash) -> Result<(), String> {
    if found.as_bytes() == &seen.manifest { Ok(()) } else { Err(other_history(seen)) }
}

fn other_history(seen: &SeenGeneration) -> String {
    format!("its generation {} is another than the one that was seen", seen.generation)
}

/// Stops when the folder's file system was mounted at `was` and is now the one mounted at `now`, above it.
///
/// Device numbers would not do: a file system gets another each time that it is mounted.
///
/// # Errors [`Danger::NotMounted`].
pub fn check_mount(was: &Path, now: &Path, root: &Path, state: &Path) -> Result<(), Danger> {
    if now != was && was.starts_with(now) {
        return Err(Danger::NotMounted { root: root.to_owned(), was: was.to_owned(), state: state.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
