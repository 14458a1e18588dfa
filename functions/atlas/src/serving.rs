//! The address of the server of a vault on this machine, for `atlas ui`: in a file that the server keeps locked while it runs, so that what a killed
//! one left is no address.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use crate::vault_location::VaultLocation;

/// Most bytes of the file.
const MAX_BYTES: u64 = 1 << 10;

/// A server that is known by its address until this is dropped.
#[derive(Debug)]
pub(crate) struct Serving(File);

impl Serving {
    /// Keeps `url` as the address of the server of this vault. [`None`] if it has another one already, or no file can be kept.
    pub(crate) fn at(location: &VaultLocation, url: &str) -> Option<Self> {
        let kept = location.server_file().and_then(|path| Ok(Self::in_file(&path, url)?));
        kept.inspect_err(|error| tracing::debug!(%error, "the server's address could not be kept")).ok().flatten()
    }

    fn in_file(path: &Path, url: &str) -> io::Result<Option<Self>> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = File::options().create(true).write(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        file.set_len(0)?;
        file.write_all(url.as_bytes())?;
        Ok(Some(Self(file)))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Another server may have opened the file, so it stays; without its lock it says nothing.
        let _ = self.0.set_len(0);
    }
}

/// The address of the server of this vault, if one runs on this machine.
pub(crate) fn address(location: &VaultLocation) -> Option<String> {
    address_in(&location.server_file().ok()?)
}

fn address_in(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    // Whoever gets the lock has found no server.
    if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return None;
    }
    let mut url = String::new();
    file.take(MAX_BYTES).read_to_string(&mut url).ok()?;
    Some(url).filter(|url| !url.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_its_address_while_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("servers/one");
        assert_eq!(address_in(&path), None);
        let first = Serving::in_file(&path, "http://127.0.0.1:4142").unwrap();
        assert_eq!(address_in(&path).as_deref(), Some("http://127.0.0.1:4142"));
        assert!(Serving::in_file(&path, "http://127.0.0.1:1").unwrap().is_none(), "the vault has a server");
        assert_eq!(address_in(&path).as_deref(), Some("http://127.0.0.1:4142"));
        drop(first);
        assert_eq!(address_in(&path), None);
        let _second = Serving::in_file(&path, "http://127.0.0.1:1").unwrap();
        assert_eq!(address_in(&path).as_deref(), Some("http://127.0.0.1:1"));
    }

    #[test]
    fn what_a_killed_server_left_is_no_address() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one");
        fs::write(&path, "http://127.0.0.1:4142").unwrap();
        assert_eq!(address_in(&path), None);
    }
}
