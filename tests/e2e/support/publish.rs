//! Publishing a folder, as `atlas sync` does, and exporting a mirror.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::Mirror;
use atlas_segment::code::Code;
use atlas_symbols::Language;
use atlas_sync::{CodeReader, ExportOptions, Summary, SyncOptions, export, sync};
use atlas_testkit::time::minute;

/// Files by path.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Publishes `root` with the sync state in `state`.
pub async fn publish(root: &Path, mirror: &Mirror, state: &Path) -> Summary {
    publish_code(root, mirror, state, None).await
}

/// The same, with what finds symbols in source code.
pub async fn publish_code(root: &Path, mirror: &Mirror, state: &Path, code: Option<Arc<dyn CodeReader>>) -> Summary {
    let options = SyncOptions::new(root.to_owned(), state.to_owned(), "tests".to_owned(), minute(0));
    sync(mirror, &SyncOptions { code, ..options }, Arc::new(())).await.unwrap()
}

/// Finds symbols as the program does, in this process.
#[derive(Debug)]
pub struct Symbols;

impl CodeReader for Symbols {
    fn reads(&self, file_name: &str) -> bool {
        Language::of(file_name).is_some()
    }

    fn read(&self, file_name: &str, text: &str) -> Option<Code> {
        atlas_symbols::read(Language::of(file_name)?, text, Duration::from_secs(60))
    }
}

/// All files of a generation, or of the newest, and its number.
pub async fn exported(mirror: &Mirror, generation: Option<u64>) -> (Files, u64) {
    let folder = tempfile::tempdir().unwrap();
    let options = ExportOptions { to: folder.path().to_owned(), generation, force: false };
    let exported = export(mirror, &options, Arc::new(())).await.unwrap();
    assert!(exported.skipped.is_empty(), "{:?}", exported.skipped);
    (files(folder.path()), exported.generation)
}

/// All files below a folder, but those that a sync has replaced.
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
    files.retain(|path, _| path != ".atlas-mirror/.gitignore" && !path.starts_with(atlas_sync::REPLACED));
    files
}
