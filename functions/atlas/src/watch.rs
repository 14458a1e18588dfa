//! The pauses between the runs of a watching sync: a fixed time, or until a file of the folder changed and stayed
//! unchanged for a moment, or somebody requested a sync.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::Mirror;
use atlas_sync::rules;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

/// A file counts as saved when nothing changed for this time.
const QUIET: Duration = Duration::from_millis(500);
/// Even in a busy folder, a sync follows a change after this time.
const LONGEST: Duration = Duration::from_secs(10);

/// The interval of checks whether this process committed something, and the number of checks after which the store is
/// asked.
const LOOK: Duration = Duration::from_millis(100);
const LOOKS_A_REQUEST: u32 = 3;

/// The interval of checks for a requested sync.
const ASKED: Duration = Duration::from_secs(5);

/// The `statfs` types of file systems with changes that this machine does not see: NFS, SMB, CIFS, SMB2, FUSE, 9P,
/// Coda, AFS.
const REMOTE: &[u32] =
    &[0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x6573_5546, 0x0102_1997, 0x7375_7245, 0x5346_414f, 0x6b41_4653];

/// Waits between runs.
pub(crate) struct Watch {
    pause: Duration,
    changed: Arc<Notify>,
    watcher: Option<(PathBuf, RecommendedWatcher)>,
}

impl Watch {
    /// A watch with pauses of at most `pause`.
    pub(crate) fn new(pause: Duration) -> Self {
        Self { pause, changed: Arc::default(), watcher: None }
    }

    /// Begins to watch the folder `root`, if it exists on a local disk and is not watched yet. Later changes end the
    /// next pause.
    pub(crate) fn begin(&mut self, root: &Path) {
        let Ok(root) = root.canonicalize() else {
            // A later mount there is another folder.
            self.watcher = None;
            return;
        };
        if self.watcher.is_some() || !is_local(&root) {
            return;
        }
        let (changed, inside) = (self.changed.clone(), root.clone());
        let tell = move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| concerns(&event, &inside)) {
                changed.notify_one();
            }
        };
        let watcher = notify::recommended_watcher(tell).and_then(|mut watcher| {
            watcher.watch(&root, RecursiveMode::Recursive)?;
            Ok(watcher)
        });
        match watcher {
            Ok(watcher) => self.watcher = Some((root, watcher)),
            Err(error) => tracing::warn!(%error, "changes are not seen at once, only after each pause"),
        }
    }

    /// Waits; ends early when a sync is requested through `mirror`.
    pub(crate) async fn wait(&self, mirror: Option<&Mirror>) {
        tokio::select! {
            () = self.wait_for_changes() => {}
            () = asked_for(mirror, self.pause) => {}
        }
    }

    /// Like [`wait`](Self::wait), but also ends soon after `mirror` got a generation newer than `synced`: at once if
    /// this process made it, else if the store `is_folder`, which can be checked often.
    pub(crate) async fn wait_on_both(&self, mirror: &Mirror, synced: u64, is_folder: bool) {
        tokio::select! {
            () = self.wait(Some(mirror)) => {}
            () = committed(mirror, synced, is_folder) => {}
        }
    }

    async fn wait_for_changes(&self) {
        let end = Instant::now() + self.pause;
        if timeout_at(end, self.changed.notified()).await.is_err() {
            return;
        }
        let longest = Instant::now() + LONGEST;
        while Instant::now() < longest {
            tokio::select! {
                () = self.changed.notified() => {}
                () = sleep(QUIET) => return,
            }
        }
    }
}

/// Completes when a sync is requested, for which the mirror is checked repeatedly.
async fn asked_for(mirror: Option<&Mirror>, pause: Duration) {
    let Some(mirror) = mirror else { return std::future::pending().await };
    loop {
        sleep(ASKED.min(pause)).await;
        match mirror.sync_request().await {
            Ok(Some(request)) => return tracing::info!(by = request.by, "a sync was asked for"),
            Ok(None) => {}
            // The next run reports problems of the store.
            Err(error) => tracing::debug!(%error, "cannot tell whether a sync was requested"),
        }
    }
}

/// Completes when `mirror` has a generation newer than `synced`.
async fn committed(mirror: &Mirror, synced: u64, is_folder: bool) {
    let mut looks = 0_u32;
    loop {
        sleep(LOOK).await;
        looks = looks.wrapping_add(1);
        let known = match is_folder && looks.is_multiple_of(LOOKS_A_REQUEST) {
            // The next run reports problems of the store.
            true => mirror.head().await.ok().map(|head| head.generation()),
            false => mirror.known_generation(),
        };
        if known.is_some_and(|known| known > synced) {
            return;
        }
    }
}

/// Whether an event is a change of a file of the vault, or of a folder.
fn concerns(event: &Event, root: &Path) -> bool {
    let is_change = !matches!(event.kind, EventKind::Access(_));
    let belongs = |path: &PathBuf| {
        let path = path.strip_prefix(root).ok().and_then(Path::to_str);
        path.is_none_or(|path| rules::class_of(path).is_some())
    };
    is_change && event.paths.iter().any(belongs)
}

/// Whether all changes of the folder are made on this machine.
fn is_local(root: &Path) -> bool {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a magic number of 32 bits, whatever its type"
    )]
    rustix::fs::statfs(root).is_ok_and(|found| !REMOTE.contains(&(found.f_type as u32)))
}
