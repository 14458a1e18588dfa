//! Stores by URL: `file:///a/folder`, `memory://`.

use std::path::Path;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;

use crate::error::MirrorError;
use crate::store::{Store, StoreOptions};

/// Opens the store that `url` names; a folder is made if it is not there.
///
/// - `file:///a/folder`: a folder of this machine; `file://a/folder` is one below the working folder.
/// - `memory://`: the memory of this process, empty at first.
///
/// # Errors
/// When the URL is none of these, or the folder can be neither found nor made.
pub fn open(url: &str) -> Result<Store, MirrorError> {
    let refused = |reason: String| MirrorError::StoreRefused { action: "open", reason };
    let inner: Arc<dyn ObjectStore> = match url.split_once("://") {
        Some(("file", path)) if !path.is_empty() => Arc::new(folder(Path::new(path)).map_err(refused)?),
        Some(("memory", "")) => Arc::new(InMemory::new()),
        _ => return Err(refused(format!("{url:?} is not the URL of a store: write file:///a/folder or memory://"))),
    };
    Store::new(inner, "", StoreOptions::default()).map_err(|error| refused(error.to_string()))
}

fn folder(path: &Path) -> Result<LocalFileSystem, String> {
    std::fs::create_dir_all(path).map_err(|error| format!("the folder {} cannot be made: {error}", path.display()))?;
    let store = LocalFileSystem::new_with_prefix(path).map_err(|error| format!("the folder {} cannot be opened: {error}", path.display()))?;
    Ok(store.with_fsync(true))
}
