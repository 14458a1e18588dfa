//! A person's host: a folder, the state of its syncs, and the syncs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use atlas_mirror::{Mirror, Retention};
use atlas_sync::{Phase, Progress, Summary, SyncError, SyncOptions, sync};
use atlas_testkit::FaultStore;
use jiff::{SignedDuration, Timestamp};
use tokio::runtime::{Builder, Runtime};

use super::texts::{Blocks, blocks};

pub struct Host {
    /// The folder with all files of the host.
    places: PathBuf,
    /// The error of its clock, in hours.
    pub clock: i64,
    /// Blocks that the person saved and no sync has carried yet; the person may overwrite them.
    pub unsynced: BTreeMap<String, Blocks>,
}

impl Host {
    pub fn new(places: PathBuf) -> Self {
        let host = Self { places, clock: 0, unsynced: BTreeMap::new() };
        fs::create_dir_all(host.root()).unwrap();
        host
    }

    pub fn root(&self) -> PathBuf {
        self.places.join("vault")
    }

    /// A place outside of the folder.
    pub fn away(&self) -> PathBuf {
        self.places.join("away")
    }

    /// The text at `path`; a missing file is empty.
    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap_or_default()
    }

    /// The blocks that the person sees at `path`.
    pub fn shown(&self, path: &str) -> Blocks {
        blocks(&self.text(path)).unwrap_or_default()
    }

    /// The texts of all notes of the folder, by path.
    pub fn texts(&self) -> BTreeMap<String, String> {
        let root = self.root();
        let mut texts = BTreeMap::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                if path.is_dir() && !name.starts_with('.') {
                    folders.push(path);
                } else if path.is_file() {
                    texts.insert(name, fs::read_to_string(&path).unwrap());
                }
            }
        }
        texts
    }

    /// The notes that must be removed for a note at `path`, with their blocks.
    pub fn in_the_way(&self, path: &str) -> BTreeMap<String, Blocks> {
        let is_in_the_way =
            |other: &str| path.starts_with(&format!("{other}/")) || other.starts_with(&format!("{path}/"));
        let texts = self.texts().into_iter().filter(|(other, _)| is_in_the_way(other));
        texts.map(|(other, text)| (other, blocks(&text).unwrap_or_default())).collect()
    }

    pub fn delete(&mut self, path: &str) {
        if fs::remove_file(self.root().join(path)).is_ok() {
            self.unsynced.remove(path);
        }
    }

    pub fn rename(&mut self, from: &str, to: &str) {
        let root = self.root();
        if from != to
            && fs::create_dir_all(root.join(to).parent().unwrap()).is_ok()
            && fs::rename(root.join(from), root.join(to)).is_ok()
        {
            self.unsynced.remove(to);
            // It may have been a folder.
            let below = format!("{from}/");
            let is_moved = |path: &String| path == from || path.starts_with(&below);
            let moved: Vec<String> = self.unsynced.keys().filter(|path| is_moved(path)).cloned().collect();
            for path in moved {
                let blocks = self.unsynced.remove(&path).unwrap_or_default();
                self.unsynced.insert(format!("{to}{}", &path[from.len()..]), blocks);
            }
            self.unsynced.entry(to.to_owned()).or_default();
        }
    }

    /// Leaves the folder as a sync does that is killed between moving a file aside and writing another to its path.
    pub fn move_aside(&self, path: &str) {
        let aside = self.root().join(".atlas-mirror/aside").join(path);
        let path = self.root().join(path);
        // If a file that was moved aside has the name of its folder, a sync leaves it there.
        if path.is_file() && fs::create_dir_all(aside.parent().unwrap()).is_ok() && !aside.exists() {
            fs::rename(path, aside).unwrap();
        }
    }

    pub fn lose_state(&self) {
        // There may be no state.
        let _ = fs::remove_dir_all(self.places.join("state"));
    }

    /// The blocks carried by a completed sync: those that it did not skip.
    pub fn carried(&mut self, summary: &Summary) -> Blocks {
        let skipped: Vec<&str> = summary.skipped.iter().map(|skipped| skipped.path.as_str()).collect();
        let is_skipped = |path: &str| skipped.iter().any(|one| *one == path || path.starts_with(&format!("{one}/")));
        let (left, carried): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.unsynced).into_iter().partition(|(path, _)| is_skipped(path));
        self.unsynced.extend(left);
        carried.into_iter().flat_map(|(_, blocks)| blocks).collect()
    }

    /// [`None`] if it was killed.
    pub fn sync(
        &self,
        mirror: &Mirror,
        faults: &FaultStore,
        plan: &SyncPlan,
        allow_mass_delete: bool,
        join: bool,
    ) -> Option<Result<Summary, SyncError>> {
        let author = self.places.file_name().unwrap().to_str().unwrap().to_owned();
        let now = Timestamp::now() + SignedDuration::from_hours(self.clock);
        let options = SyncOptions::new(self.root(), self.places.join("state"), author, now);
        let collect = plan.collect.then_some(Retention { generations: 1, ..Retention::default() });
        let options =
            SyncOptions { checksum: plan.checksum, collect, repair: plan.repair, allow_mass_delete, join, ..options };
        let progress: Arc<dyn Progress> = plan.meanwhile.clone().unwrap_or_else(|| Arc::new(()));
        // Its end waits for work begun on other threads.
        runtime().block_on(async {
            let syncing = sync(mirror, &options, progress);
            if plan.killed {
                tokio::select! {
                    biased;
                    () = faults.silent() => None,
                    done = syncing => Some(done),
                }
            } else {
                Some(syncing.await)
            }
        })
    }
}

/// How to sync.
#[derive(Default)]
pub struct SyncPlan {
    pub checksum: bool,
    pub collect: bool,
    pub repair: bool,
    /// At the first request without an answer.
    pub killed: bool,
    pub meanwhile: Option<Arc<dyn Progress>>,
}

impl SyncPlan {
    /// Runs `act` during the sync, at call number `call` of a phase's progress, of which its beginning is the first.
    pub fn meanwhile(phase: Phase, call: usize, act: impl Fn() + Send + Sync + 'static) -> Self {
        let when = When { phase, calls: Mutex::new((false, call)), act };
        Self { meanwhile: Some(Arc::new(when)), ..Self::default() }
    }
}

/// Acts once.
struct When<F> {
    phase: Phase,
    /// Whether the phase is running, and how many calls are left.
    calls: Mutex<(bool, usize)>,
    act: F,
}

impl<F: Fn()> When<F> {
    fn word(&self) {
        let mut calls = self.calls.lock().unwrap();
        let (inside, left) = *calls;
        if inside && left < usize::MAX {
            calls.1 = left.wrapping_sub(1);
            if left == 0 {
                (self.act)();
            }
        }
    }
}

impl<F: Fn() + Send + Sync> Progress for When<F> {
    fn begin(&self, phase: Phase, _: Option<u64>) {
        self.calls.lock().unwrap().0 = phase == self.phase;
        self.word();
    }

    fn advance(&self, _: u64) {
        self.word();
    }
}

/// A runtime whose time passes when nothing else is left to do.
pub fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

/// Removes the notes that are at the path of a folder to create, or in the folder at a note's path.
fn make_room(root: &Path, path: &Path) -> io::Result<()> {
    let parent = path.parent().unwrap();
    if parent != root && parent.is_file() {
        fs::remove_file(parent)?;
    }
    if path.is_dir() { fs::remove_dir_all(path) } else { Ok(()) }
}

/// Saves a whole file, as editors do, with a unique time, as on a disk with fine timestamps.
pub fn save(root: &Path, path: &str, text: &str, number: usize) {
    let (path, draft) = (root.join(path), root.with_extension("draft"));
    // To replace a note by a folder or the reverse, the person has removed the old files.
    make_room(root, &path).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&draft, text).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + number as u64);
    fs::File::options().append(true).open(&draft).unwrap().set_modified(time).unwrap();
    fs::rename(draft, path).unwrap();
}
