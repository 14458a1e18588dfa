//! Publishing a folder, as `atlas sync` does, and exporting what a mirror has.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use atlas_mirror::Mirror;
use atlas_sync::{ExportOptions, Summary, SyncOptions, export, sync};
use atlas_testkit::time::minute;

/// Files by path.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Publishes `root` with the sync state in `state`.
pub async fn publish(root: &Path, mirror: &Mirror, state: &Path) -> Summary {
    let options = SyncOptions::new(root.to_owned(), state.to_owned(), "tests".to_owned(), minute(0));
    sync(mirror, &options, Arc::new(())).await.unwrap()
}

/// All files of a generation, or of the newest, and its number.
pub async fn exported(mirror: &Mirror, generation: Option<u64>) -> (Files, u64) {
    let folder = tempfile::tempdir().unwrap();
    let options = ExportOptions { to: folder.path().to_owned(), generation, force: false };
    let exported = export(mirror, &options, Arc::new(())).await.unwrap();
    assert!(exported.skipped.is_empty(), "{:?}", exported.skipped);
    (files(folder.path()), exported.generation)
}

/// All files below a folder.
pub fn files(root: &Path) -> Files {
    let mut files = Files::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                let path = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                files.insert(path, std::fs::read(entry.path()).unwrap());
            }
        }
    }
    files
}
