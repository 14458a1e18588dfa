//! The state of a folder that was never synced here, though its files are known to have been equal to a generation.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use atlas_mirror::{Mirror, Snapshot};

use crate::error::SyncError;
use crate::folder::Folder;
use crate::head;
use crate::session::seen;
use crate::state::{Entry, State, StateFolder};

/// Writes the sync state of the folder `root` into the folder `state`, as if `files`, SHA-256 by path, had been synced
/// at the generation of `snapshot`. Files that it has otherwise are left out, as if nobody had seen them.
///
/// # Errors Those of reading the mirror and of writing the state.
pub async fn remember(
    mirror: &Mirror,
    snapshot: &Snapshot,
    root: &Path,
    state: &Path,
    files: &BTreeMap<String, [u8; 32]>,
) -> Result<(), SyncError> {
    let folder = Folder::open(root)?;
    let missing = |error| SyncError::RootMissing { root: root.to_owned(), error };
    let paths: Vec<&str> = files.keys().map(String::as_str).collect();
    let documents = head::at(snapshot, &paths).await?;
    let entry = |(path, documents): (&String, &Vec<head::HeadDocument>)| {
        let document = documents.iter().find(|document| files.get(path) == Some(&document.sha256))?;
        let (sha256, kind, size) = (document.sha256, document.kind, document.bytes);
        Some(Arc::new(Entry { path: path.clone(), sha256, kind, size, mtime_ns: None }))
    };
    let known = State {
        root: folder.path().to_string_lossy().into_owned(),
        vault: mirror.vault().to_string(),
        mount_point: folder.mount_point().map_err(missing)?.to_string_lossy().into_owned(),
        seen: seen(snapshot),
        settled: false,
        losses: Vec::new(),
        head_losses: Vec::new(),
        entries: documents.iter().filter_map(entry).collect(),
        earlier: Vec::new(),
    };
    StateFolder::lock(state)?.save(&known)
}
