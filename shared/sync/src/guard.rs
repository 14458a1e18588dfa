//! What stops a sync before it destroys notes. Pure.

use std::fmt;
use std::path::{Path, PathBuf};

use atlas_mirror::Hash;
use atlas_segment::Kind;
use bincode::{Decode, Encode};

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

/// Where files vanish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOON: i64 = 43_200_000;

    fn lost(time_ms: i64, files: u64, of: u64) -> Loss {
        Loss { time_ms, what: What::Notes, files, of }
    }

    fn passes(before: &[Loss], now: Loss) -> bool {
        Losses { before, now }.check(Side::Folder, Path::new("/v"), Path::new("/s")).is_ok()
    }

    #[test]
    fn more_than_a_fifth_and_more_than_ten_is_too_much() {
        for (notes, of, expected) in [
            (0, 0, true),
            (10, 10, true),
            (11, 11, false),
            (11, 54, false),
            (11, 55, true),
            (20, 100, true),
            (21, 100, false),
        ] {
            assert_eq!(passes(&[], lost(0, notes, of)), expected, "{notes} of {of}");
        }
    }

    #[test]
    fn small_losses_add_up_within_a_day() {
        let morning = [lost(NOON - 1000, 15, 100)];
        assert!(!passes(&morning, lost(NOON, 6, 85)));
        assert!(passes(&morning, lost(NOON, 5, 85)));
        assert!(passes(&morning, lost(NOON + DAY_MS, 6, 85)));
        let later = [lost(NOON + 1000, 15, 100)];
        assert!(!passes(&later, lost(NOON, 6, 85)), "a clock that was set back forgets nothing");
    }

    #[test]
    fn losses_of_another_kind_do_not_add_up() {
        let pictures = Loss { what: What::Attachments, ..lost(NOON, 15, 100) };
        assert!(passes(&[pictures], lost(NOON, 6, 100)));
        assert_eq!(Losses { before: &[pictures], now: lost(NOON, 0, 100) }.remembered(), []);
    }

    #[test]
    fn a_sync_that_loses_nothing_is_not_stopped_by_yesterday() {
        assert!(passes(&[lost(0, 90, 100)], lost(1000, 0, 10)));
    }

    #[test]
    fn only_the_losses_of_a_day_are_remembered() {
        let before = [lost(0, 1, 9), lost(DAY_MS, 1, 8)];
        let losses = Losses { before: &before, now: lost(DAY_MS + 1, 2, 7) };
        assert_eq!(losses.remembered(), [lost(DAY_MS, 1, 8), lost(DAY_MS + 1, 2, 7)]);
    }

    fn seen(lineage: &str, generation: u64, manifest: u8) -> Seen {
        Seen { lineage: lineage.to_owned(), generation, manifest: [manifest; 32] }
    }

    #[test]
    fn a_mirror_that_went_on_is_the_same_mirror() {
        let last = seen("a", 5, 1);
        assert_eq!(compare(&last, Some(&seen("a", 5, 1))), Ok(Ancestry::Same));
        assert_eq!(compare(&last, Some(&seen("a", 9, 2))), Ok(Ancestry::Later));
        assert!(check_ancestor(&last, Hash::from_bytes([1; 32])).is_ok());
    }

    #[test]
    fn a_mirror_that_was_replaced_or_set_back_is_another() {
        let last = seen("a", 5, 1);
        for head in [None, Some(seen("b", 9, 2)), Some(seen("a", 4, 2)), Some(seen("a", 5, 2))] {
            assert!(compare(&last, head.as_ref()).is_err(), "{head:?}");
        }
        assert!(check_ancestor(&last, Hash::from_bytes([2; 32])).is_err());
    }

    #[test]
    fn a_folder_whose_file_system_is_gone_is_noticed() {
        let check = |was: &str, now: &str| {
            check_mount(Path::new(was), Path::new(now), Path::new("/mnt/v/notes"), Path::new("/s"))
        };
        assert!(check("/mnt/v", "/").is_err());
        assert!(check("/mnt/v/notes", "/mnt/v").is_err());
        assert!(check("/mnt/v", "/mnt/v").is_ok());
        assert!(check("/", "/").is_ok());
        assert!(check("/", "/mnt/v").is_ok(), "mounted since");
    }

    proptest! {
        #[test]
        fn what_passes_at_once_is_a_fifth_at_most_or_few(notes: u64, of: u64) {
            let few = notes <= FEW || u128::from(notes) * u128::from(SHARE) <= u128::from(of);
            prop_assert_eq!(passes(&[], lost(0, notes, of)), few);
        }
    }
}
