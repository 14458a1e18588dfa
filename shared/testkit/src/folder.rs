//! A vault folder in a temporary directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use tempfile::TempDir;

/// A vault folder that is deleted on drop.
///
/// ```
/// use atlas_testkit::VaultBuilder;
///
/// let vault = VaultBuilder::new().note("now.md", "# Now\n").file("board.canvas", b"{}");
/// assert!(vault.root().join("now.md").is_file());
/// ```
#[derive(Debug)]
pub struct VaultBuilder {
    folder: TempDir,
}

impl VaultBuilder {
    /// An empty vault.
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary directory") }
    }

    /// Adds a note; its folders are created.
    #[must_use]
    pub fn note(self, path: &str, text: &str) -> Self {
        self.file(path, text.as_bytes())
    }

    /// Adds a file of any kind.
    #[must_use]
    pub fn file(self, path: &str, bytes: &[u8]) -> Self {
        self.write(path, bytes);
        self
    }

    /// Adds an empty folder.
    #[must_use]
    pub fn folder(self, path: &str) -> Self {
        fs::create_dir_all(self.path(path)).expect("a folder");
        self
    }

    /// Sets the modification time of `path`.
    #[must_use]
    pub fn modified(self, path: &str, time: Timestamp) -> Self {
        let file = fs::File::options().append(true).open(self.path(path)).expect("a file");
        file.set_modified(SystemTime::from(time)).expect("a modification time");
        self
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// The path on disk of `path` in the vault.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// The bytes of a file.
    pub fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Writes a file, over an existing one.
    pub fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a path in the vault")).expect("a folder");
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
}

impl Default for VaultBuilder {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::minute;

    #[test]
    fn a_vault_has_what_it_was_built_with() {
        let vault = VaultBuilder::new().note("a/b.md", "text").modified("a/b.md", minute(3)).folder("empty");
        assert_eq!(vault.read("a/b.md"), b"text");
        let modified = fs::metadata(vault.path("a/b.md")).unwrap().modified().unwrap();
        assert_eq!(Timestamp::try_from(modified).unwrap(), minute(3));
        assert!(vault.path("empty").is_dir());
    }
}
