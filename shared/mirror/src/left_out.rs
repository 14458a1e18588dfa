//! What the syncs of a vault's host leave out, for readers who see only the mirror.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::MirrorError;
use crate::mirror::Mirror;

/// Its name below `state/`.
const LEFT_OUT: &str = "left_out";
/// Most files, and most bytes of them: the others are counted.
const MAX_FILES: usize = 300;
const MAX_BYTES: usize = 48 << 10;
/// Most bytes of the object.
const MAX_OBJECT: u64 = 256 << 10;

/// What a sync left out, as stored: JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// When that sync began, by its host's clock.
    pub time: Timestamp,
    /// The files, by path.
    pub files: Vec<LeftOutFile>,
    /// The number of others.
    #[serde(default)]
    pub more: u64,
}

/// A file, or a folder with all that is in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeftOutFile {
    /// Its path; a folder's ends in a slash.
    pub path: String,
    /// Why it is left out. Reads after "it", or names a rule.
    pub reason: String,
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
            let left = room.checked_sub(file.path.len() + file.reason.len());
            room = left.unwrap_or_default();
            left.is_some()
        };
        let count = files.iter().take(MAX_FILES).take_while(fits).count();
        files.truncate(count);
        Self { time, files, more: all.saturating_sub(count) as u64 }
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
        let file = |path: String| LeftOutFile { path, reason: "it is not text".to_owned() };
        let files: Vec<LeftOutFile> = (0..1000).map(|number| file(format!("{number:04}.md"))).collect();
        let left_out = LeftOut::of(Timestamp::UNIX_EPOCH, files.clone());
        assert_eq!((left_out.files.len(), left_out.more), (MAX_FILES, 700));
        let long = LeftOut::of(Timestamp::UNIX_EPOCH, vec![file("x".repeat(MAX_BYTES)), files[0].clone()]);
        assert_eq!((long.files.as_slice(), long.more), (&files[..1], 1));
    }
}
