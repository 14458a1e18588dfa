//! What the syncs of a vault's host leave out, for readers who see only the mirror. A person who keeps a file out of the mirror may mean its
//! name too, so the store has hashes of paths: they answer only whoever knows the path.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::MirrorError;
use crate::id::Hash;
use crate::mirror::Mirror;

/// Its name below `state/`.
const LEFT_OUT: &str = "left_out";
/// Most files, and most bytes of them: the others are counted.
const MAX_FILES: usize = 300;
const MAX_BYTES: usize = 48 << 10;
const HASH_LENGTH: usize = 64;
/// Most bytes of the object.
const MAX_OBJECT: u64 = 256 << 10;

/// What a sync left out, as stored: JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// When that sync began, by its host's clock.
    pub time: Timestamp,
    /// The files.
    pub files: Vec<LeftOutFile>,
    /// The number of others.
    #[serde(default)]
    pub more: u64,
}

/// A file, or a folder with all that is in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeftOutFile {
    /// SHA-256 of its path; a folder's ends in a slash.
    path_hash: Hash,
    /// Why it is left out. Reads after "it", or names a rule.
    reason: String,
}

impl LeftOutFile {
    /// The file or folder at `path`, which ends in a slash for a folder.
    #[must_use]
    pub fn new(path: &str, reason: String) -> Self {
        Self { path_hash: Hash::of(path.as_bytes()), reason }
    }
}

impl LeftOut {
    /// As many of `files` as are stored.
    #[must_use]
    pub fn of(time: Timestamp, mut files: Vec<LeftOutFile>) -> Self {
        files.sort_unstable();
        files.dedup();
        let all = files.len();
        let mut room = MAX_BYTES;
        let fits = |file: &&LeftOutFile| {
            let left = room.checked_sub(HASH_LENGTH + file.reason.len());
            room = left.unwrap_or_default();
            left.is_some()
        };
        let count = files.iter().take(MAX_FILES).take_while(fits).count();
        files.truncate(count);
        Self { time, files, more: all.saturating_sub(count) as u64 }
    }

    /// Why the file at `path` is left out: the file, or the outermost folder with it that is, and the reason.
    #[must_use]
    pub fn reason<'p>(&self, path: &'p str) -> Option<(&'p str, &str)> {
        let folders = path.match_indices('/').filter_map(|(at, _)| path.get(..=at));
        folders.chain([path]).find_map(|place| {
            let hash = Hash::of(place.as_bytes());
            let file = self.files.iter().find(|file| file.path_hash == hash)?;
            Some((place, file.reason.as_str()))
        })
    }
}

impl Mirror {
    /// Records what the vault's syncs leave out.
    ///
    /// # Errors
    /// [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn record_left_out(&self, left_out: &LeftOut) -> Result<(), MirrorError> {
        self.put_state(LEFT_OUT, left_out).await
    }

    /// What the vault's syncs leave out, as last recorded; one request.
    ///
    /// # Errors
    /// [`MirrorError::Damaged`], [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn left_out(&self) -> Result<Option<LeftOut>, MirrorError> {
        self.get_state_up_to(LEFT_OUT, MAX_OBJECT).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_are_counted() {
        let file = |path: &str, reason: &str| LeftOutFile::new(path, reason.to_owned());
        let files: Vec<LeftOutFile> =
            (0..1000).map(|number| file(&format!("{number:04}.md"), "it is not text")).collect();
        let left_out = LeftOut::of(Timestamp::UNIX_EPOCH, files.clone());
        assert_eq!((left_out.files.len(), left_out.more), (MAX_FILES, 700));
        let long = file("x", &"x".repeat(MAX_BYTES));
        let left_out = LeftOut::of(Timestamp::UNIX_EPOCH, vec![long]);
        assert_eq!((left_out.files.len(), left_out.more), (0, 1));
    }

    #[test]
    fn only_who_knows_a_path_is_told_of_it() {
        let file = |path: &str, reason: &str| LeftOutFile::new(path, reason.to_owned());
        let files = vec![file("private/", "by a rule"), file("a/scan.bin", "it is not text")];
        let left_out = LeftOut::of(Timestamp::UNIX_EPOCH, files);
        for (path, told) in [
            ("private/letters/b.md", Some(("private/", "by a rule"))),
            ("a/scan.bin", Some(("a/scan.bin", "it is not text"))),
            ("a/scan.bin.md", None),
            ("private", None),
            ("x/private/b.md", None),
        ] {
            assert_eq!(left_out.reason(path), told, "{path}");
        }
        let stored = serde_json::to_string(&left_out).unwrap();
        assert!(!stored.contains("private") && !stored.contains("scan"), "{stored}");
    }
}
