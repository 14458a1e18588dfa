//! A published vault, and calls to it as doors make them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use atlas_mirror::{Mirror, Options, PartCache, Store, StoreOptions};
use atlas_ops::{Atlas, Call, Limits, Vault, dispatch};
use atlas_sync::{PushOptions, push};
use atlas_testkit::CountingStore;
use atlas_testkit::counting::Requests;
use jiff::Timestamp;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::vault::Folder;

/// Bytes of the cache of one process, which holds the largest vault.
const CACHE: usize = 1 << 30;

/// A vault that is published to a store in memory, and a process that answers from it.
pub(crate) struct World {
    objects: Arc<InMemory>,
    runtime: Runtime,
    warm: Atlas,
    pub(crate) notes: u64,
    /// Bytes of the notes' text.
    pub(crate) markdown: u64,
}

impl World {
    pub(crate) fn publish(folder: &Folder) -> Self {
        let objects = Arc::new(InMemory::new());
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let warm = mirror(objects.clone());
        let state = tempfile::tempdir().unwrap();
        let options = PushOptions {
            root: folder.root.path().to_owned(),
            state: state.path().to_owned(),
            author: "benchmark".to_owned(),
            message: None,
            began: Timestamp::now(),
            checksum: false,
            dry_run: false,
            allow_mass_delete: false,
        };
        let summary = runtime.block_on(push(&warm, &options, Arc::new(()))).unwrap();
        assert!(summary.skipped.is_empty(), "{:?}", summary.skipped);
        let totals = runtime.block_on(warm.head()).unwrap().manifest().totals;
        Self { objects, runtime, warm: atlas(warm), notes: totals.notes, markdown: totals.text_bytes }
    }

    /// A call to the warm process, and how long it took.
    pub(crate) fn call(&self, operation: &'static str, arguments: &Value) -> (Value, Duration) {
        let begun = Instant::now();
        let value = self.runtime.block_on(call(&self.warm, operation, arguments));
        (value, begun.elapsed())
    }

    /// How long a call to a new process takes.
    pub(crate) fn call_cold(&self, operation: &'static str, arguments: &Value) -> Duration {
        let cold = atlas(mirror(self.objects.clone()));
        let begun = Instant::now();
        self.runtime.block_on(call(&cold, operation, arguments));
        begun.elapsed()
    }

    /// What a call to a new process asks of the store.
    pub(crate) fn ask_cold(&self, operation: &'static str, arguments: &Value) -> Requests {
        let counting = CountingStore::new(self.objects.clone());
        let cold = atlas(mirror(counting.clone()));
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(call(&cold, operation, arguments));
        counting.take()
    }
}

async fn call(atlas: &Atlas, operation: &'static str, arguments: &Value) -> Value {
    let call = Call { operation, vault: None, arguments: arguments.clone(), now: Timestamp::UNIX_EPOCH };
    match dispatch(atlas, call).await {
        Ok(answer) => answer.value,
        Err(error) => panic!("{operation} of {arguments}: {error:?}"),
    }
}

fn mirror(objects: Arc<dyn ObjectStore>) -> Mirror {
    let store = Store::new(objects, "", StoreOptions::default()).unwrap();
    Mirror::open(store, "main".parse().unwrap(), Arc::new(PartCache::new(CACHE)), Options::default()).unwrap()
}

fn atlas(mirror: Mirror) -> Atlas {
    Atlas::new([Vault { id: "main".to_owned(), mirror }], Limits::default())
}
