//! Tells the person at this terminal which calls wait for them.

use std::collections::BTreeSet;
use std::time::Duration;

use atlas_mirror::Mirror;
use atlas_ops::pipeline::approvals::{self, Status};
use atlas_ops::write::writable::TRASH;
use jiff::Timestamp;
use tokio::time::sleep;

use crate::output;

/// How often a folder is looked at, and a bucket, of which each look is a request that is paid for.
const OF_FOLDER: Duration = Duration::from_secs(2);
const OF_BUCKET: Duration = Duration::from_secs(30);

/// Tells of each call when it begins to wait, for as long as this is polled.
pub(crate) async fn announce(mirror: &Mirror, is_folder: bool) {
    let mut told = BTreeSet::new();
    loop {
        // A store that does not answer is told of by the sync.
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
        // What goes into the trash is one file.
        let files = request.files.iter().filter(|file| !file.path.starts_with(TRASH)).count() + request.more_files;
        output::note(format_args!(
            "{} asks for your approval: {} would change {files} {}; `atlas approvals` shows how",
            request.caller,
            request.operation,
            if files == 1 { "file" } else { "files" }
        ));
    }
}
