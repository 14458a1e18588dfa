//! Announces the calls that wait for approval, to the person at this terminal.

use std::collections::BTreeSet;
use std::time::Duration;

use atlas_mirror::Mirror;
use atlas_ops::pipeline::approvals::{self, Status};
use atlas_ops::write::writable::TRASH;
use jiff::Timestamp;
use tokio::time::sleep;

use crate::output;

/// The interval of checks of a folder, and of a bucket, where each check is a paid request.
const OF_FOLDER: Duration = Duration::from_secs(2);
const OF_BUCKET: Duration = Duration::from_secs(30);

/// Announces each call when it begins to wait, for as long as this future is polled.
pub(crate) async fn announce(mirror: &Mirror, is_folder: bool) {
    let mut told = BTreeSet::new();
    loop {
        // The sync reports an unavailable store.
        if let Ok(waiting) = approvals::undecided(mirror).await {
            for id in waiting.difference(&told) {
                tell(mirror, id).await;
            }
            told = waiting;
        }
        sleep(if is_folder { OF_FOLDER } else { OF_BUCKET }).await;
    }
}

async fn tell(mirror: &Mirror, id: &str) {
    let Ok(Some(record)) = approvals::get(mirror, id).await else { return };
    if record.status(Timestamp::now()) == Status::Pending {
        let request = &record.request;
        // A move to the trash counts as one file.
        let files = request.files.iter().filter(|file| !file.path.starts_with(TRASH)).count() + request.more_files;
        output::note(format_args!(
            "{} asks for your approval: {} would change {files} {}; `atlas approvals` shows how",
            request.caller,
            request.operation,
            if files == 1 { "file" } else { "files" }
        ));
    }
}
