//! The settings of a folder's sync, stored for later commands in the folder: a small file for each folder, beside the
//! sync states. `atlas where` shows it.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::user_folders::{digest, states};

/// Most bytes of such a file.
const MAX_BYTES: u64 = 64 << 10;

/// Where they are, and most of them that are looked at.
const FOLDERS: &str = "folders";
const MOST_FOLDERS: usize = 1000;

/// The remembered settings of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Remembered {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) store: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) vault: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) config: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<PathBuf>,
}

/// The file. It contains the folder's path, for people who find it.
#[derive(Serialize, Deserialize)]
struct File {
    folder: PathBuf,
    #[serde(flatten)]
    remembered: Remembered,
}

impl Remembered {
    /// The settings of `folder`, whose path is canonical.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let file = read(&Self::path(folder)?)?;
        (file.folder == folder).then_some(file.remembered)
    }

    /// The nearest folder at or above `here` with stored settings.
    pub(crate) fn around(here: &Path) -> Option<PathBuf> {
        let here = here.canonicalize().ok()?;
        here.ancestors().find(|folder| Self::of(folder).is_some()).map(Path::to_owned)
    }

    /// A folder below `folder` for which something is remembered, and which is still there.
    pub(crate) fn below(folder: &Path) -> Option<PathBuf> {
        let files = fs::read_dir(states().ok()?.join(FOLDERS)).ok()?.flatten().take(MOST_FOLDERS);
        let folders = files.filter_map(|file| Some(read(&file.path())?.folder));
        folders.filter(|other| other != folder && other.starts_with(folder) && other.is_dir()).min()
    }

    /// Keeps it for `folder`. Returns what was remembered before, if that was something else.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn keep(&self, folder: &Path) -> io::Result<Option<Self>> {
        let before = Self::of(folder);
        if before.as_ref() == Some(self) {
            return Ok(None);
        }
        let no_home = || io::Error::new(io::ErrorKind::NotFound, "there is no home folder");
        let path = Self::path(folder).ok_or_else(no_home)?;
        let file = File { folder: folder.to_owned(), remembered: self.clone() };
        write(&path, &serde_json::to_vec_pretty(&file)?)?;
        Ok(before)
    }

    /// The file of `folder`.
    pub(crate) fn path(folder: &Path) -> Option<PathBuf> {
        let name = digest(&[folder.as_os_str().as_encoded_bytes()]);
        Some(states().ok()?.join(FOLDERS).join(format!("{name}.json")))
    }
}

fn read(path: &Path) -> Option<File> {
    if fs::metadata(path).ok()?.len() > MAX_BYTES {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Writes a file that only its owner may read, whole or not at all.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
