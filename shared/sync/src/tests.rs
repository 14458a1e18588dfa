//! A host with a vault and a store, with the same queries for both sides.

mod ancestors;
mod attachment_texts;
mod clashes;
mod conflicts;
mod crashes;
mod damaged;
mod embedding;
mod exports;
mod folders;
mod guards;
mod hazards;
mod ignored;
mod left_out;
mod merges;
mod publishing;
mod pulls;
mod pushing;
mod replaced;
mod replaced_hazards;
mod streaming;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atlas_mirror::{CommitInfo, Mirror, Options, PartCache, Store, StoreOptions};
use atlas_testkit::VaultBuilder;
use atlas_testkit::notes::{Delete, Put, by};
use jiff::Timestamp;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use tempfile::TempDir;

use crate::target::replaced::{IGNORE_FILE, REPLACED};
use crate::{ExportOptions, Exported, Phase, Progress, Summary, SyncError, SyncOptions, export, sync};

/// Files by path, as the folder spells it.
type Files = BTreeMap<String, Vec<u8>>;

struct Host {
    vault: VaultBuilder,
    /// The folder of the sync state and of exports.
    places: TempDir,
    objects: Arc<dyn ObjectStore>,
}

impl Host {
    fn new(vault: VaultBuilder) -> Self {
        Self::with_store(vault, Arc::new(InMemory::new()))
    }

    fn with_store(vault: VaultBuilder, objects: Arc<dyn ObjectStore>) -> Self {
        Self { vault, places: tempfile::tempdir().unwrap(), objects }
    }

    /// A host whose vault is published.
    async fn published(vault: VaultBuilder) -> Self {
        let host = Self::new(vault);
        host.sync().await.unwrap();
        host
    }

    /// A host with another folder, and the same store.
    fn beside(&self, vault: VaultBuilder) -> Self {
        Self::with_store(vault, self.objects.clone())
    }

    fn lose_state(&self) {
        std::fs::remove_dir_all(self.state()).unwrap();
    }

    fn state(&self) -> PathBuf {
        self.places.path().join("state")
    }

    /// A mirror as another process would open it.
    fn mirror(&self) -> Mirror {
        let store = Store::new(self.objects.clone(), "", StoreOptions::default()).unwrap();
        Mirror::open(store, "main".parse().unwrap(), Arc::new(PartCache::new(1 << 20)), Options::default()).unwrap()
    }

    /// Options whose start is so late that all times of files can be trusted.
    fn options(&self) -> SyncOptions {
        let began = Timestamp::now() + Duration::from_secs(3600);
        SyncOptions::new(self.vault.root().to_owned(), self.state(), "tests".to_owned(), began)
    }

    async fn sync(&self) -> Result<Summary, SyncError> {
        self.sync_as(|_| {}).await
    }

    async fn sync_as(&self, set: impl FnOnce(&mut SyncOptions)) -> Result<Summary, SyncError> {
        let mut options = self.options();
        set(&mut options);
        sync(&self.mirror(), &options, Arc::new(())).await
    }

    /// A sync that begins now, also by the store's clock.
    async fn sync_at_once(&self) -> Result<Summary, SyncError> {
        self.sync_as(|options| options.began = Timestamp::now()).await
    }

    /// A sync during which something happens.
    async fn sync_while(&self, progress: Arc<dyn Progress>) -> Result<Summary, SyncError> {
        sync(&self.mirror(), &self.options(), progress).await
    }

    /// The error of a sync that stops.
    async fn refusal(&self) -> String {
        self.sync().await.expect_err("the sync to stop").to_string()
    }

    async fn export(&self, generation: Option<u64>, to: &Path) -> Exported {
        let options = ExportOptions { to: to.to_owned(), generation, force: false };
        export(&self.mirror(), &options, Arc::new(())).await.unwrap()
    }

    /// The mirror's files.
    async fn mirrored(&self) -> Files {
        self.mirrored_at(None).await
    }

    async fn mirrored_at(&self, generation: Option<u64>) -> Files {
        let to = tempfile::tempdir().unwrap();
        let exported = self.export(generation, to.path()).await;
        assert_eq!(exported.skipped, []);
        files(to.path())
    }

    /// The mirror's text at a path.
    async fn text(&self, path: &str) -> Option<String> {
        self.mirrored().await.remove(path).map(|bytes| String::from_utf8(bytes).unwrap())
    }
}

async fn agent_puts(host: &Host, put: Put) {
    host.mirror().commit(&by("agent"), &put).await.unwrap();
}

async fn agent_deletes(host: &Host, path: &str) {
    host.mirror().commit(&by("agent"), &Delete(path.to_owned())).await.unwrap();
}

/// An agent deletes what was carried into the folder by then.
async fn agent_deletes_later(host: &Host, path: &str) {
    let later = CommitInfo { time: Timestamp::now() + Duration::from_secs(1800), ..by("agent") };
    host.mirror().commit(&later, &Delete(path.to_owned())).await.unwrap();
}

/// Does something when a phase begins, or at a later point of it.
struct When<F> {
    phase: Phase,
    /// The number of the call in the phase at which to act; its beginning is 0.
    call: usize,
    calls: Mutex<Option<usize>>,
    act: F,
}

/// Does `act` when `phase` begins.
fn at<F: Fn() + Send + Sync + 'static>(phase: Phase, act: F) -> Arc<dyn Progress> {
    after(phase, 0, act)
}

/// Does `act` at the `call`th progress of `phase`.
fn after<F: Fn() + Send + Sync + 'static>(phase: Phase, call: usize, act: F) -> Arc<dyn Progress> {
    Arc::new(When { phase, call, calls: Mutex::new(None), act })
}

impl<F: Fn() + Send + Sync> When<F> {
    fn count(&self, calls: &mut Option<usize>) {
        if let Some(calls) = calls {
            if *calls == self.call {
                (self.act)();
            }
            *calls += 1;
        }
    }
}

impl<F: Fn() + Send + Sync> Progress for When<F> {
    fn begin(&self, phase: Phase, _: Option<u64>) {
        let mut calls = self.calls.lock().unwrap();
        *calls = (phase == self.phase).then_some(0);
        self.count(&mut calls);
    }

    fn advance(&self, _: u64) {
        self.count(&mut self.calls.lock().unwrap());
    }
}

/// Does something at the `which`th beginning of a phase, counted from 1.
struct Beginnings<F> {
    phase: Phase,
    which: usize,
    begun: AtomicUsize,
    act: F,
}

/// Does `act` at the `which`th beginning of `phase`, counted from 1.
fn at_beginning<F: Fn() + Send + Sync + 'static>(phase: Phase, which: usize, act: F) -> Arc<dyn Progress> {
    Arc::new(Beginnings { phase, which, begun: AtomicUsize::new(0), act })
}

impl<F: Fn() + Send + Sync> Progress for Beginnings<F> {
    fn begin(&self, phase: Phase, _: Option<u64>) {
        if phase == self.phase && self.begun.fetch_add(1, Ordering::Relaxed) + 1 == self.which {
            (self.act)();
        }
    }

    fn advance(&self, _: u64) {}
}

/// The number of pushed files, as (added, changed, removed).
fn done(summary: &Summary) -> (u64, u64, u64) {
    of(summary.pushed)
}

/// The number of pulled files, in the same form.
fn pulled(summary: &Summary) -> (u64, u64, u64) {
    of(summary.pulled)
}

fn of(changes: atlas_mirror::manifest::Changes) -> (u64, u64, u64) {
    (changes.added, changes.changed, changes.removed)
}

/// The paths that were skipped, with reasons.
fn skipped(summary: &Summary) -> Vec<String> {
    summary.skipped.iter().map(ToString::to_string).collect()
}

/// All files below a folder, but those that a sync has replaced.
fn files(root: &Path) -> Files {
    let is_kept = |path: &str| path == IGNORE_FILE || path.starts_with(REPLACED);
    all_files(root).into_iter().filter(|(path, _)| !is_kept(path)).collect()
}

/// All files below a folder.
fn all_files(root: &Path) -> Files {
    let mut files = Files::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                files.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// A vault of `count` notes, each with its own text.
fn many(count: usize) -> VaultBuilder {
    (0..count)
        .fold(VaultBuilder::new(), |vault, number| vault.note(&format!("{number:03}.md"), &format!("note {number}\n")))
}
