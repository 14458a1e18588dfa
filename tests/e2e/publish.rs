//! Publishing a folder, as `atlas sync` does.

use std::path::Path;
use std::sync::Arc;

use atlas_mirror::Mirror;
use atlas_sync::{Summary, SyncOptions, sync};
use atlas_testkit::time::minute;

/// Publishes `root` with the sync state in `state`.
pub async fn publish(root: &Path, mirror: &Mirror, state: &Path) -> Summary {
    let options = SyncOptions::new(root.to_owned(), state.to_owned(), "tests".to_owned(), minute(0));
    sync(mirror, &options, Arc::new(())).await.unwrap()
}
