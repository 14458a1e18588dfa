//! Publishing a folder, as `atlas sync` does.

use std::path::Path;
use std::sync::Arc;

use atlas_mirror::Mirror;
use atlas_sync::{PushOptions, Summary, push};
use atlas_testkit::time::minute;

/// Publishes `root` with the sync state in `state`.
pub async fn publish(root: &Path, mirror: &Mirror, state: &Path) -> Summary {
    let options = PushOptions {
        root: root.to_owned(),
        state: state.to_owned(),
        author: "tests".to_owned(),
        message: None,
        began: minute(0),
        checksum: false,
        dry_run: false,
        allow_mass_delete: false,
    };
    push(mirror, &options, Arc::new(())).await.unwrap()
}
