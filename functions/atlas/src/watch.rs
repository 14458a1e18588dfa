//! The pauses between the runs of a watching sync: a fixed time, or until a file of the folder changed and stayed
//! unchanged for a moment, or somebody requested a sync.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant as Moment};

use atlas_mirror::Mirror;
use atlas_sync::REPLACED as KEPT;
use atlas_sync::rules::Tree;
use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout};

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

/// The interval of checks whether the folder is still the one that is watched.
const REPLACED: Duration = Duration::from_secs(1);

/// The pause after a failure; it doubles with each.
const RETRY: Duration = Duration::from_secs(1);

/// The `statfs` types of file systems with changes that this machine does not see: NFS, SMB, CIFS, SMB2, FUSE, 9P,
/// Coda, AFS.
const REMOTE: &[u32] =
    &[0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x6573_5546, 0x0102_1997, 0x7375_7245, 0x5346_414f, 0x6b41_4653];

/// Paths whose changes are none.
type LeftOut = Arc<Mutex<BTreeSet<String>>>;

/// Waits between runs.
pub(crate) struct Watch {
    tree: Tree,
    pause: Duration,
    left_out: LeftOut,
    /// When a program last wrote into a file of the folder. A sync moves whole files there.
    written: Arc<Mutex<Option<Moment>>>,
    changed: Arc<Notify>,
    pending: Arc<AtomicBool>,
    watcher: Option<(Watched, RecommendedWatcher)>,
    /// Whether a folder was watched before.
    has_watched: bool,
}

/// A watched folder: its path, device and inode. Another one can be moved or mounted to the path.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Watched {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Watched {
    fn at(root: &Path) -> io::Result<Self> {
        let path = root.canonicalize()?;
        let found = path.metadata()?;
        Ok(Self { device: found.dev(), inode: found.ino(), path })
    }
}

impl Watch {
    /// A watch of a vault with pauses of at most `pause`.
    pub(crate) fn new(pause: Duration) -> Self {
        Self::of(Tree::Vault, pause)
    }

    /// A watch of such a folder with pauses of at most `pause`.
    pub(crate) fn of(tree: Tree, pause: Duration) -> Self {
        let (left_out, written, changed, pending) = Default::default();
        Self { tree, pause, left_out, written, changed, pending, watcher: None, has_watched: false }
    }

    /// From now on changes of these files and folders, which end in `/`, are none, and of no others.
    pub(crate) fn leave_out<'a>(&self, paths: impl Iterator<Item = &'a str>) {
        *self.left_out.lock().unwrap_or_else(PoisonError::into_inner) = paths.map(str::to_owned).collect();
    }

    /// Whether something changed since this was last made false.
    pub(crate) fn pending(&self) -> Arc<AtomicBool> {
        self.pending.clone()
    }

    /// Begins to watch the folder `root`, if it exists on a local disk and is not watched yet. Later changes end the
    /// next pause. If another folder is there than before, so does the change to it.
    pub(crate) fn begin(&mut self, root: &Path) {
        let found = Watched::at(root).ok();
        if self.watcher.as_ref().map(|(watched, _)| watched) == found.as_ref() {
            return;
        }
        self.watcher = None;
        let Some(watched) = found.filter(|found| is_local(&found.path)) else { return };
        let root = watched.path.clone();
        let (changed, pending, inside) = (self.changed.clone(), self.pending.clone(), root.clone());
        let (tree, left_out, written) = (self.tree, self.left_out.clone(), self.written.clone());
        let tell = move |event: notify::Result<Event>| {
            let Ok(event) = event else { return };
            let is_left_out = |path: &str| is_in(&left_out.lock().unwrap_or_else(PoisonError::into_inner), path);
            let is_write = is_write(&event);
            let is_change = |path: &str| belongs(tree, path) && !is_left_out(path) || is_write && is_kept(path);
            if concerns(&event, &inside, is_change) {
                if is_write {
                    *written.lock().unwrap_or_else(PoisonError::into_inner) = Some(Moment::now());
                }
                pending.store(true, Ordering::Release);
                changed.notify_one();
            }
        };
        let watcher = notify::recommended_watcher(tell).and_then(|mut watcher| {
            watcher.watch(&root, RecursiveMode::Recursive)?;
            Ok(watcher)
        });
        match watcher {
            Ok(watcher) => {
                self.watcher = Some((watched, watcher));
                if std::mem::replace(&mut self.has_watched, true) {
                    self.changed.notify_one();
                }
            }
            Err(error) => tracing::warn!(%error, "changes are not seen at once, only after each pause"),
        }
    }

    /// Waits; ends early when a sync is requested through `mirror`, but not in the middle of a save.
    pub(crate) async fn wait(&self, mirror: Option<&Mirror>) {
        tokio::select! {
            () = self.wait_for_changes() => {}
            () = async {
                asked_for(mirror, self.pause).await;
                self.wait_for_save().await;
            } => {}
        }
    }

    /// Like [`wait`](Self::wait), but also ends soon after `mirror` got a generation newer than `synced`: at once if
    /// this process made it, else if the store `is_folder`, which can be checked often.
    pub(crate) async fn wait_on_both(&self, mirror: &Mirror, synced: u64, is_folder: bool) {
        tokio::select! {
            () = self.wait(Some(mirror)) => {}
            () = async {
                committed(mirror, synced, is_folder).await;
                self.wait_for_save().await;
            } => {}
        }
    }

    /// Waits to try again after this many `failures`: 1 s, 2 s, 4 s and so on, at most the pause. What changed before
    /// is not forgotten, so nothing has to change; a change ends all but the first second.
    pub(crate) async fn wait_to_try_again(&self, failures: u32, mirror: Option<&Mirror>) {
        let all = retry_after(failures).min(self.pause);
        sleep(RETRY.min(all)).await;
        if timeout(all.saturating_sub(RETRY), self.wait(mirror)).await.is_err() {
            self.wait_for_save().await;
        }
    }

    /// Waits until no program has written for a moment: half of a save is no version of a note.
    async fn wait_for_save(&self) {
        let longest = Instant::now() + LONGEST;
        while Instant::now() < longest {
            let written = *self.written.lock().unwrap_or_else(PoisonError::into_inner);
            match written.and_then(|at| QUIET.checked_sub(at.elapsed())) {
                Some(rest) => sleep(rest).await,
                None => return,
            }
        }
    }

    async fn wait_for_changes(&self) {
        let end = Instant::now() + self.pause;
        tokio::select! {
            () = self.changed.notified() => {}
            () = replaced(self.watcher.as_ref().map(|(watched, _)| watched)) => {}
            () = sleep_until(end) => return,
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

fn retry_after(failures: u32) -> Duration {
    RETRY.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)))
}

/// Completes when another folder is at the path of the `watched` one, or none.
async fn replaced(watched: Option<&Watched>) {
    let Some(watched) = watched else { return std::future::pending().await };
    loop {
        sleep(REPLACED).await;
        let found = tokio::fs::metadata(&watched.path).await;
        if !found.is_ok_and(|found| (found.dev(), found.ino()) == (watched.device, watched.inode)) {
            return;
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

/// Whether an event is a change of a file that `belongs` to the vault, or of a folder.
fn concerns(event: &Event, root: &Path, belongs: impl Fn(&str) -> bool) -> bool {
    let is_change = !matches!(event.kind, EventKind::Access(_));
    let concerned = |path: &PathBuf| path.strip_prefix(root).ok().and_then(Path::to_str).is_none_or(&belongs);
    is_change && event.paths.iter().any(concerned)
}

/// Whether a program wrote into a file.
const fn is_write(event: &Event) -> bool {
    matches!(event.kind, EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Any))
}

/// Whether a path is that of a file which a sync has replaced: a program may still write into it.
fn is_kept(path: &str) -> bool {
    path.strip_prefix(KEPT).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a path of such a folder may be a file or a folder of the vault.
fn belongs(tree: Tree, path: &str) -> bool {
    tree.class_of(path).is_some()
}

/// Whether one of these files and folders is the path or has it.
fn is_in(left_out: &BTreeSet<String>, path: &str) -> bool {
    let folders = path.match_indices('/').filter_map(|(end, _)| path.get(..=end));
    left_out.contains(path)
        || left_out.contains(&format!("{path}/"))
        || folders.into_iter().any(|folder| left_out.contains(folder))
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn soon() -> Duration {
        LONGEST + QUIET + REPLACED
    }

    #[tokio::test]
    async fn a_folder_that_takes_the_place_of_the_watched_one_is_watched() {
        let place = tempfile::tempdir().unwrap();
        let [root, old, backup] = ["v", "v.old", "v.bak"].map(|name| place.path().join(name));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&backup).unwrap();
        let mut watch = Watch::new(LONG);
        watch.begin(&root);
        fs::rename(&root, &old).unwrap();
        fs::rename(&backup, &root).unwrap();
        timeout(soon(), watch.wait(None)).await.expect("the change of the folder to be seen");
        watch.begin(&root);
        // A change from before the new folder was watched is looked for.
        timeout(soon(), watch.wait(None)).await.expect("another look");
        watch.begin(&root);
        fs::write(root.join("a.md"), "a").unwrap();
        timeout(soon(), watch.wait(None)).await.expect("a change in the new folder to be seen");
    }

    #[test]
    fn in_code_hidden_folders_of_it_count_and_what_its_rules_exclude_does_not() {
        let left_out: BTreeSet<String> = ["target/", "run.log"].map(str::to_owned).into();
        let is_change = |path: &str| belongs(Tree::Code, path) && !is_in(&left_out, path);
        for (path, expected) in [
            ("src/main.rs", true),
            (".github/workflows/ci.yml", true),
            ("target", false),
            ("target/debug/deps/a.d", false),
            ("targets/a", true),
            ("run.log", false),
            ("src/run.log", true),
            (".git/index", false),
            (".atlas/state/state", false),
        ] {
            assert_eq!(is_change(path), expected, "{path}");
        }
        assert!(!belongs(Tree::Vault, ".github/workflows/ci.yml"));
    }

    #[tokio::test]
    async fn what_is_left_out_ends_no_pause() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("target")).unwrap();
        let mut watch = Watch::of(Tree::Code, LONG);
        watch.leave_out(["target/"].into_iter());
        watch.begin(root.path());
        fs::write(root.path().join("target/a"), "a").unwrap();
        fs::write(root.path().join("a.rs"), "a").unwrap();
        timeout(soon(), watch.wait(None)).await.expect("the change of the source to be seen");
        watch.pending.store(false, Ordering::Release);
        fs::write(root.path().join("target/a"), "b").unwrap();
        sleep(QUIET).await;
        assert!(!watch.pending.load(Ordering::Acquire));
    }

    #[tokio::test]
    async fn what_is_written_to_a_replaced_file_is_a_change_and_its_move_is_none() {
        let root = tempfile::tempdir().unwrap();
        let kept = root.path().join(KEPT);
        fs::create_dir_all(&kept).unwrap();
        fs::write(root.path().join("a.md"), "a").unwrap();
        let mut open = fs::File::options().append(true).open(root.path().join("a.md")).unwrap();
        let mut watch = Watch::new(LONG);
        watch.begin(root.path());
        fs::rename(root.path().join("a.md"), kept.join("a")).unwrap();
        timeout(soon(), watch.wait(None)).await.expect("the removal of the note to be seen");
        watch.pending.store(false, Ordering::Release);
        fs::rename(kept.join("a"), kept.join("b")).unwrap();
        sleep(QUIET).await;
        assert!(!watch.pending.load(Ordering::Acquire));
        std::io::Write::write_all(&mut open, b" and more").unwrap();
        timeout(soon(), watch.wait(None)).await.expect("the late write to be seen");
        assert!(watch.pending.load(Ordering::Acquire));
    }

    #[tokio::test]
    async fn no_wait_ends_in_the_middle_of_a_save() {
        let root = tempfile::tempdir().unwrap();
        let mut watch = Watch::new(LONG);
        watch.begin(root.path());
        let begun = Instant::now();
        watch.wait_for_save().await;
        assert!(begun.elapsed() < QUIET / 2, "it waits where the folder is quiet");
        // A file that is moved to its place is whole.
        fs::create_dir(root.path().join(".atlas-mirror")).unwrap();
        fs::write(root.path().join(".atlas-mirror/new"), "a").unwrap();
        fs::rename(root.path().join(".atlas-mirror/new"), root.path().join("a.md")).unwrap();
        timeout(soon(), watch.wait(None)).await.expect("the new file to be seen");
        assert_eq!(*watch.written.lock().unwrap(), None);
        fs::write(root.path().join("a.md"), "b").unwrap();
        let is_seen = async {
            while watch.written.lock().unwrap().is_none() {
                sleep(LOOK / 10).await;
            }
        };
        timeout(soon(), is_seen).await.expect("the write to be seen");
        let begun = Instant::now();
        watch.wait_for_save().await;
        assert!(begun.elapsed() > QUIET / 2 && begun.elapsed() < LONGEST);
    }

    #[tokio::test]
    async fn after_a_failure_the_next_try_is_soon_and_later_ones_are_not_often() {
        for (failures, seconds) in [(1, 1), (2, 2), (3, 4), (7, 64)] {
            assert_eq!(retry_after(failures).as_secs(), seconds, "{failures}");
        }
        assert!(retry_after(u32::MAX) > LONG);
        // A change does not wait for long, and does not make many tries either.
        let watch = Watch::new(LONG);
        watch.changed.notify_one();
        let begun = Instant::now();
        timeout(soon(), watch.wait_to_try_again(20, None)).await.expect("another try");
        assert!(begun.elapsed() >= RETRY);
    }
}
