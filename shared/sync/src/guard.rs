//! What stops a sync before it destroys notes. Pure.

use std::fmt;
use std::path::{Path, PathBuf};

use atlas_mirror::Hash;
use atlas_segment::Kind;
use bincode::{Decode, Encode};
use serde::Serialize;

/// So many files of a kind may vanish from any vault.
const FEW: u64 = 10;
/// One file in so many may vanish.
const SHARE: u64 = 5;
/// How long vanished files count, in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A sign that the folder or the mirror is not what it was, so that carrying over what looks like changes could
/// destroy notes. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Danger {
    /// The folder was on a mounted file system.
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
        /// Where the sync state is.
        state: PathBuf,
    },
    /// The store has no such vault any more, or another, or an older one.
    #[error(
        "the mirror is not the one that this folder was synced with ({reason}): check the store's address. If the \
         store was restored or begun anew on purpose, delete the sync state in {} and sync again (nothing in the vault will be lost)",
        state.display()
    )]
    OtherMirror {
        /// What is different.
        reason: String,
        /// Where the sync state is.
        state: PathBuf,
    },
    /// The generation that was seen last is not kept any more.
    #[error(
        "generation {generation}, with which this folder was synced last, is not kept any more, so what changed since cannot be told: \
         delete the sync state in {} and sync again (nothing in the vault will be lost; what differs is kept twice)", state.display()
    )]
    Forgotten {
        /// The generation.
        generation: u64,
        /// Where the sync state is.
        state: PathBuf,
    },
    /// The sync state is of another folder or vault.
    #[error("the sync state in {} is of the folder {} and the vault {vault}: name another folder with --state", state.display(), root.display())]
    OtherState {
        /// Where the sync state is.
        state: PathBuf,
        /// The folder that it is of.
        root: PathBuf,
        /// The vault that it is of.
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
        /// Where the sync state is.
        state: PathBuf,
        /// How many files it had.
        of: u64,
    },
    /// The folder was never synced with this mirror, as far as it can be told, and has little in common with it.
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
        /// How many are another on each side.
        conflicts: u64,
    },
    /// Many files vanished.
    #[error(
        "{lost} of {of} {what} vanished from {} or became empty {when}, more than a fifth: {}. If they are meant to be gone, sync \
         with --allow-mass-delete", side.named(root), side.advice(state)
    )]
    MassDeletion {
        /// Where.
        side: Side,
        /// Which.
        what: What,
        /// The vault's folder.
        root: PathBuf,
        /// Where the sync state is.
        state: PathBuf,
        /// How many of them vanished.
        lost: u64,
        /// How many there were.
        of: u64,
        /// In what time, as an adverb.
        when: &'static str,
    },
}

/// Files of a kind, which are counted by themselves: notes are not outweighed by many pictures, nor pictures in a folder of their own,
/// which may be a disk of its own, by many notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum What {
    /// Notes.
    Notes,
    /// All other files.
    Attachments,
}

impl What {
    /// Each kind.
    pub const ALL: [Self; 2] = [Self::Notes, Self::Attachments];

    /// That of a file.
    pub fn of(kind: Kind) -> Self {
        if kind == Kind::Note { Self::Notes } else { Self::Attachments }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Notes => "notes",
            Self::Attachments => "attachments",
        })
    }
}

/// Where files vanish, or change.
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

/// Files of a kind that vanished together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Loss {
    /// When, in milliseconds since 1970 UTC.
    pub time_ms: i64,
    /// Which.
    pub what: What,
    /// How many.
    pub files: u64,
    /// Of how many.
    pub of: u64,
}

/// How much may vanish.
#[derive(Clone, Copy, Debug)]
pub struct Losses<'a> {
    /// The losses of earlier syncs.
    pub before: &'a [Loss],
    /// What vanished now.
    pub now: Loss,
}

impl Losses<'_> {
    /// Stops when too much vanished, at once or within a day.
    ///
    /// # Errors
    /// [`Danger::MassDeletion`].
    pub fn check(&self, side: Side, root: &Path, state: &Path) -> Result<(), Danger> {
        let Loss { what, files, of, .. } = self.now;
        if files == 0 {
            return Ok(());
        }
        let too_many = |lost: u64, of: u64, when| {
            let (root, state) = (root.to_owned(), state.to_owned());
            let danger = Danger::MassDeletion { side, what, root, state, lost, of, when };
            if lost > FEW && lost.saturating_mul(SHARE) > of { Err(danger) } else { Ok(()) }
        };
        too_many(files, of, "at once")?;
        let (lost, most) =
            self.recent().fold((files, of), |(lost, most), loss| (lost.saturating_add(loss.files), most.max(loss.of)));
        too_many(lost, most, "within a day")
    }

    /// The losses of this kind that still count for the next sync.
    pub fn remembered(&self) -> Vec<Loss> {
        let now = (self.now.files > 0).then_some(self.now);
        self.recent().chain(now).collect()
    }

    /// Earlier losses within a day; of a clock that was set back, also those to come.
    fn recent(&self) -> impl Iterator<Item = Loss> {
        let Loss { time_ms, what, .. } = self.now;
        let is_recent = move |loss: &Loss| loss.what == what && time_ms.saturating_sub(loss.time_ms) < DAY_MS;
        self.before.iter().copied().filter(is_recent)
    }
}

/// A generation as it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Seen {
    /// The mirror's lineage.
    pub lineage: String,
    /// The generation.
    pub generation: u64,
    /// SHA-256 of its manifest.
    pub manifest: [u8; 32],
}

/// What the mirror's newest generation says of the one that was seen last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ancestry {
    /// It is the same.
    Same,
    /// It is an ancestor if the manifest of its number is the one that was seen.
    Later,
}

/// Compares the newest generation with the last one `seen`.
///
/// # Errors
/// What is different, when they have nothing in common.
pub fn compare(seen: &Seen, head: Option<&Seen>) -> Result<Ancestry, String> {
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

/// Checks the manifest that now has the number of the one that was `seen`.
///
/// # Errors
/// What is different.
pub fn check_ancestor(seen: &Seen, found: Hash) -> Result<(), String> {
    if found.as_bytes() == &seen.manifest { Ok(()) } else { Err(other_history(seen)) }
}

fn other_history(seen: &Seen) -> String {
    format!("its generation {} is another than the one that was seen", seen.generation)
}

/// Stops when the folder's file system was mounted at `was` and now is the one mounted at `now`, above it.
///
/// A device number would say less: a file system gets another each time that it is mounted.
///
/// # Errors
/// [`Danger::NotMounted`].
pub fn check_mount(was: &Path, now: &Path, root: &Path, state: &Path) -> Result<(), Danger> {
    if now != was && was.starts_with(now) {
        return Err(Danger::NotMounted { root: root.to_owned(), was: was.to_owned(), state: state.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
