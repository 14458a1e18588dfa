//! The guarantees of a mirror, to be tested on every kind of store.
//!
//!
//! # Layout
//! - `creates`: what a store must do for a mirror to be safe on it.
//! - `commits`: generations, history, keys, merges.
//! - `reads`: finding the newest generation, whatever the hint contains.
//! - `races`: many writers; `turns`: how long they take.
//! - `faults`: a store that fails in the middle.
//! - `damage`: damaged objects.
//! - `blobs`: attachments.
//! - `collections`: garbage collection; `expiry`: of temporary state.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::keys::Keys;
use atlas_mirror::{
    ChangeSet, Committed, Hash, Mirror, MirrorError, Options, PartCache, Snapshot, Store, StoreOptions,
};
use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};

use crate::faults::FaultStore;
use crate::notes::{by, contents};

mod blobs;
mod collections;
mod commits;
mod creates;
mod damage;
mod faults;
mod races;
mod reads;
mod waves;

#[cfg(test)]
mod expiry;
#[cfg(test)]
mod model;
#[cfg(test)]
mod turns;

/// An empty place in a store.
#[derive(Clone, Debug)]
pub struct StorePrefix {
    /// The store.
    pub store: Arc<dyn ObjectStore>,
    /// The prefix of all keys; may be empty.
    pub prefix: String,
}

/// Runs the whole contract; `place` returns a new, empty place each time. In the race each of 16 writers makes
/// `commits`.
///
/// # Panics When the store violates the contract.
pub async fn mirror_contract(place: impl Fn() -> StorePrefix, commits: usize) {
    creates::run(&place).await;
    commits::run(&place).await;
    reads::run(&place).await;
    races::run(&place, 16, commits).await;
    faults::run(&place).await;
    damage::run(&place).await;
    blobs::run(&place).await;
    collections::run(&place).await;
    waves::run(&place).await;
}

/// A place that can fail, and instances of functions that use it.
struct Site {
    place: StorePrefix,
    faults: Arc<FaultStore>,
}

impl Site {
    fn new(place: StorePrefix) -> Self {
        Self { faults: FaultStore::new(place.store.clone()), place }
    }

    fn store(&self) -> Store {
        Store::new(self.faults.clone(), &self.place.prefix, StoreOptions::default()).unwrap()
    }

    /// Another process, without any cache.
    fn instance(&self) -> Mirror {
        self.instance_with(StoreOptions::default())
    }

    /// An instance with short time limits, for faults without an answer.
    fn impatient(&self) -> Mirror {
        self.instance_with(StoreOptions { request_timeout: Duration::from_millis(400), ..StoreOptions::default() })
    }

    fn instance_with(&self, options: StoreOptions) -> Mirror {
        mirror_on(self.faults.clone(), &self.place.prefix, options)
    }

    fn keys(&self) -> Keys {
        Keys::new(&self.place.prefix, &"main".parse().unwrap()).unwrap()
    }

    async fn bytes(&self, key: &Path) -> Bytes {
        self.place.store.get(key).await.unwrap().bytes().await.unwrap()
    }

    async fn overwrite(&self, key: &Path, bytes: impl Into<Bytes>) {
        self.place.store.put(key, bytes.into().into()).await.unwrap();
    }

    async fn remove(&self, key: &Path) {
        self.place.store.delete(key).await.unwrap();
    }
}

fn mirror_on(store: Arc<dyn ObjectStore>, prefix: &str, options: StoreOptions) -> Mirror {
    let store = Store::new(store, prefix, options).unwrap();
    let cache = Arc::new(PartCache::new(16 << 20));
    Mirror::open(store, "main".parse().unwrap(), cache, Options::default()).unwrap()
}

/// Commits `change`, which must make a new generation.
async fn commit(mirror: &Mirror, change: impl ChangeSet<Error = MirrorError, Outcome = ()>) -> Arc<Snapshot> {
    expect_new(mirror.commit(&by("tester"), &change).await)
}

fn expect_new(committed: Result<Committed<()>, MirrorError>) -> Arc<Snapshot> {
    match committed {
        Ok(Committed::New(snapshot, ())) => snapshot,
        other => panic!("expected a new generation: {other:?}"),
    }
}

/// The newest notes and their texts, as `mirror` sees them.
async fn notes_of(mirror: &Mirror) -> Result<BTreeMap<String, String>, MirrorError> {
    let (notes, _) = mirror.read(async |snapshot: Arc<Snapshot>| contents(&snapshot).await).await?;
    Ok(notes)
}

/// All generations up to the newest. Checks that none is missing, and each names its parent.
async fn whole_history(mirror: &Mirror) -> Vec<Arc<Snapshot>> {
    let head = mirror.head().await.unwrap();
    let history = mirror.history(head.generation(), usize::MAX).await.unwrap();
    assert_eq!(history.len() as u64, head.generation(), "generations are missing");
    let oldest = history.last().unwrap();
    assert_eq!((oldest.generation(), oldest.manifest().parent), (1, None::<Hash>));
    history
}

/// Checks that `error` is [`MirrorError::Damaged`] and names `key`.
fn assert_damaged<T: std::fmt::Debug>(result: Result<T, MirrorError>, key: &Path) {
    match result {
        Err(MirrorError::Damaged { object, .. }) => assert_eq!(object, key.to_string()),
        other => panic!("expected that {key} is named as damaged: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notes::Put;
    use object_store::local::LocalFileSystem;
    use object_store::memory::InMemory;

    #[tokio::test(start_paused = true)]
    async fn memory_keeps_the_contract() {
        mirror_contract(|| StorePrefix { store: Arc::new(InMemory::new()), prefix: String::new() }, 25).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_slept_until_its_generation_was_collected_sees_the_newest() {
        let site = Site::new(StorePrefix { store: Arc::new(InMemory::new()), prefix: String::new() });
        commit(&site.instance(), Put::note("a.md", "old")).await;
        let sleeper = site.instance();
        assert_eq!(notes_of(&sleeper).await.unwrap()["a.md"], "old");
        let writer = site.instance();
        for text in ["newer", "newer still", "newest"] {
            commit(&writer, Put::note("a.md", text)).await;
        }
        for collected in 1..=3 {
            site.remove(&site.keys().manifest(collected)).await;
        }
        tokio::time::advance(Duration::from_secs(31 * 24 * 3600)).await;
        assert_eq!(notes_of(&sleeper).await.unwrap()["a.md"], "newest");
    }

    #[tokio::test(start_paused = true)]
    async fn within_its_freshness_an_answer_costs_no_request() {
        let counting = crate::CountingStore::new(Arc::new(InMemory::new()));
        let store = Store::new(counting.clone(), "", StoreOptions::default()).unwrap();
        let options = Options { freshness: Duration::from_secs(5), ..Options::default() };
        let cache = Arc::new(PartCache::new(16 << 20));
        let reader = Mirror::open(store, "main".parse().unwrap(), cache, options).unwrap();
        let writer = mirror_on(counting.clone(), "", StoreOptions::default());
        commit(&writer, Put::note("a.md", "one")).await;
        notes_of(&reader).await.unwrap();
        commit(&writer, Put::note("a.md", "two")).await;
        counting.take();
        assert_eq!(notes_of(&reader).await.unwrap()["a.md"], "one");
        assert_eq!(counting.take().count(), 0);
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(notes_of(&reader).await.unwrap()["a.md"], "two");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_folder_keeps_the_contract() {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn ObjectStore> =
            Arc::new(LocalFileSystem::new_with_prefix(folder.path()).unwrap().with_fsync(true));
        let places = std::sync::atomic::AtomicUsize::new(0);
        let place = || {
            let number = places.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            StorePrefix { store: store.clone(), prefix: format!("team a/#{number}%20") }
        };
        mirror_contract(place, 25).await;
    }
}
