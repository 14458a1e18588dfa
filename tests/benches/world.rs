//! A published vault, and calls to it as doors make them.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atlas_access::Caller;
use atlas_mirror::{Mirror, MirrorError, Options, PartCache, Snapshot, Store, StoreOptions};
use atlas_ops::{Atlas, Call, Entry, Error, Limits, Vault, dispatch};
use atlas_sync::{SyncOptions, sync};
use atlas_testkit::CountingStore;
use atlas_testkit::counting::Requests;
use jiff::Timestamp;
use object_store::memory::InMemory;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::vault::Folder;

/// The size of a process's cache, which has room for the largest vault.
pub(crate) const CACHE: usize = 1 << 30;

/// A vault that is published to a store, and a process that answers from it.
pub(crate) struct World {
    store: Store,
    in_memory: bool,
    pub(crate) runtime: Runtime,
    pub(crate) warm: Atlas,
    mirror: Mirror,
    /// The sync state.
    state: TempDir,
    pub(crate) notes: u64,
    /// Bytes of the notes' text.
    pub(crate) markdown: u64,
}

/// The requests of a call to the store, and its result.
pub(crate) struct Asked {
    /// In a new process.
    pub(crate) cold: Requests,
    /// In the same process, again.
    pub(crate) warm: Requests,
    pub(crate) value: Value,
}

impl World {
    /// Publishes a folder in memory.
    pub(crate) fn publish(folder: &Folder) -> Self {
        let store = Store::new(Arc::new(InMemory::new()), "", StoreOptions::default()).unwrap();
        Self { in_memory: true, ..Self::publish_to(folder, store) }
    }

    pub(crate) fn publish_to(folder: &Folder, store: Store) -> Self {
        let first = Self::of(store.clone(), CACHE);
        first.sync(folder);
        // Later syncs go on from its state, and the store's connections end with the runtime that they began in.
        let mut world = Self { state: first.state, runtime: first.runtime, ..Self::of(store, CACHE) };
        world.count();
        world
    }

    /// A vault that was published before, and a process with a cache of so many bytes.
    #[allow(dead_code, reason = "only the benchmark of a million notes needs it")]
    pub(crate) fn over(store: Store, cache: usize) -> Self {
        let mut world = Self::of(store, cache);
        world.count();
        world
    }

    fn of(store: Store, cache: usize) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let mirror = mirror(store.clone(), cache);
        let (warm, state) = (atlas(mirror.clone()), tempfile::tempdir().unwrap());
        Self { store, in_memory: false, runtime, warm, mirror, state, notes: 0, markdown: 0 }
    }

    fn count(&mut self) {
        let totals = self.snapshot().manifest().totals;
        (self.notes, self.markdown) = (totals.notes, totals.text_bytes);
    }

    /// Syncs the folder.
    pub(crate) fn sync(&self, folder: &Folder) {
        let (root, state) = (folder.root.path().to_owned(), self.state.path().to_owned());
        let options = SyncOptions::new(root, state, "benchmark".to_owned(), Timestamp::now());
        let summary = self.runtime.block_on(sync(&self.mirror, &options, Arc::new(()))).unwrap();
        assert!(summary.skipped.is_empty() && summary.conflicts.is_empty(), "{summary:?}");
    }

    /// A call to the warm process, and its time.
    pub(crate) fn call(&self, operation: &'static Entry, arguments: &Value) -> (Value, Duration) {
        let begun = Instant::now();
        let value = self.runtime.block_on(answer(&self.warm, operation, arguments));
        (value, begun.elapsed())
    }

    /// The time of a call to a new process.
    pub(crate) fn call_cold(&self, operation: &'static Entry, arguments: &Value) -> Duration {
        let cold = self.another_process();
        let begun = Instant::now();
        self.runtime.block_on(answer(&cold, operation, arguments));
        begun.elapsed()
    }

    /// The requests of a call to the store.
    pub(crate) fn ask(&self, operation: &'static Entry, arguments: &Value) -> Asked {
        let (counting, process) = self.counted(CACHE);
        // While the clock is paused, only a store in memory answers.
        let paused = || Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let paused = self.in_memory.then(paused);
        let runtime = paused.as_ref().unwrap_or(&self.runtime);
        let value = runtime.block_on(answer(&process, operation, arguments));
        let cold = counting.take();
        runtime.block_on(answer(&process, operation, arguments));
        Asked { cold, warm: counting.take(), value }
    }

    /// A process that has read nothing yet, with a cache of so many bytes, and the store that counts its requests.
    pub(crate) fn counted(&self, cache: usize) -> (Arc<CountingStore>, Atlas) {
        let counting = CountingStore::new(self.store.inner().clone());
        let store = Store::new(counting.clone(), self.store.prefix(), StoreOptions::default()).unwrap();
        (counting, atlas(mirror(store, cache)))
    }

    pub(crate) const fn store(&self) -> &Store {
        &self.store
    }

    /// A process that has read nothing yet.
    pub(crate) fn another_process(&self) -> Atlas {
        atlas(mirror(self.store.clone(), CACHE))
    }

    /// The mirror of the warm process.
    pub(crate) const fn mirror(&self) -> &Mirror {
        &self.mirror
    }

    /// The newest generation.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.runtime.block_on(self.mirror.head()).unwrap()
    }

    /// Bytes of the blocks that contain the texts of the notes at `paths`.
    pub(crate) fn blocks(&self, paths: &[&str]) -> u64 {
        let blocks = self.runtime.block_on(blocks(&self.snapshot(), paths)).unwrap();
        blocks.iter().map(|(_, range)| range.end - range.start).sum()
    }
}

/// Segment and range of the blocks that contain the texts of the notes at `paths`, each once.
async fn blocks(head: &Snapshot, paths: &[&str]) -> Result<HashSet<(usize, Range<u64>)>, MirrorError> {
    let mut found = HashSet::new();
    head.open_for(paths).await?;
    for (segment, entry) in head.segments().iter().enumerate() {
        let fault = |error| head.fault(segment, error);
        for path in paths {
            let Some((page, _)) = entry.layout.record_page(path).map_err(fault)? else { continue };
            let parts = head.load(&[(segment, page), (segment, entry.layout.text_blocks().map_err(fault)?)]).await?;
            let Some((_, record)) = parts[0].record_page().and_then(|page| page.find(path)).map_err(fault)? else {
                continue;
            };
            let blocks =
                parts[1].text_blocks().and_then(|blocks| blocks.parts(&entry.layout, record.text)).map_err(fault)?;
            found.extend(blocks.into_iter().map(|block| (segment, block.range)));
        }
    }
    Ok(found)
}

async fn answer(atlas: &Atlas, operation: &'static Entry, arguments: &Value) -> Value {
    match call(atlas, operation, arguments).await {
        Ok(value) => value,
        Err(error) => panic!("{} of {arguments}: {error:?}", operation.info.name),
    }
}

/// A call as doors make it.
pub(crate) async fn call(atlas: &Atlas, operation: &'static Entry, arguments: &Value) -> Result<Value, Error> {
    let call = Call::new(operation, arguments.clone(), Caller::trusted("benchmark"), Timestamp::now);
    dispatch(atlas, call).await.map(|answer| answer.value)
}

fn mirror(store: Store, cache: usize) -> Mirror {
    Mirror::open(store, "main".parse().unwrap(), Arc::new(PartCache::new(cache)), Options::default()).unwrap()
}

fn atlas(mirror: Mirror) -> Atlas {
    Atlas::new([Vault::new("main", mirror, atlas_access::Acl::default())], Limits::default())
}
