//! Stores by URL: `file:///a/folder`, `memory://`.

use std::path::Path;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use percent_encoding::percent_decode_str;

use crate::error::MirrorError;
use crate::store::{Store, StoreOptions};

/// Opens the store that `url` names; a folder is made if it is not there.
///
/// - `file:///a/folder`: a folder of this machine; `file://a/folder` is one below the working folder. What cannot stand in
///   a URL is percent-encoded.
/// - `memory://`: the memory of this process, empty at first.
///
/// # Errors
/// When the URL is none of these, or the folder can be neither found nor made.
pub fn open(url: &str) -> Result<Store, MirrorError> {
    let refused = |reason: String| MirrorError::StoreRefused { action: "open", reason };
    let inner: Arc<dyn ObjectStore> = match url.split_once("://") {
        Some(("file", path)) if !path.is_empty() => Arc::new(folder(path).map_err(refused)?),
        Some(("memory", "")) => Arc::new(InMemory::new()),
        _ => return Err(refused(format!("{url:?} is not the URL of a store: write file:///a/folder or memory://"))),
    };
    Store::new(inner, "", StoreOptions::default()).map_err(|error| refused(error.to_string()))
}

fn folder(path: &str) -> Result<LocalFileSystem, String> {
    let path = percent_decode_str(path).decode_utf8().map_err(|_| format!("the folder {path} is not UTF-8"))?;
    let path = Path::new(path.as_ref());
    std::fs::create_dir_all(path).map_err(|error| format!("the folder {} cannot be made: {error}", path.display()))?;
    let store = LocalFileSystem::new_with_prefix(path).map_err(|error| format!("the folder {} cannot be opened: {error}", path.display()))?;
    Ok(store.with_fsync(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_and_its_name_decoded() {
        let folder = tempfile::tempdir().unwrap();
        open(&format!("file://{}/my%20notes", folder.path().display())).unwrap();
        assert!(folder.path().join("my notes").is_dir());
    }

    #[test]
    fn what_is_no_store_is_refused_with_what_to_write() {
        for url in ["", "notes", "file://", "memory://x", "ftp://host/x", "s3:bucket"] {
            let message = open(url).unwrap_err().to_string();
            assert!(message.contains("write file:///a/folder or memory://"), "{message}");
        }
    }
}
