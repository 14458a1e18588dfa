//! The bucket that agents and syncs write to, and its faults.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::{Mirror, Options, PartCache, Store, StoreOptions};
use atlas_testkit::notes::contents;
use atlas_testkit::{AgingStore, Fault, FaultStore, Op};
use bytes::Bytes;
use futures::TryStreamExt as _;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};

use super::host::runtime;
use crate::support::damage::{Damage, Kind};
use crate::support::deployment::Client;

pub struct Bucket {
    objects: Arc<AgingStore>,
    pub faults: Arc<FaultStore>,
}

impl Bucket {
    pub fn new() -> Self {
        let objects = AgingStore::new(Arc::new(InMemory::new()));
        Self { faults: FaultStore::new(objects.clone()), objects }
    }

    /// A new agent.
    pub fn client(&self) -> Client {
        client(&self.faults)
    }

    /// The mirror as a new sync opens it.
    pub fn mirror(&self) -> Mirror {
        mirror(self.faults.clone())
    }

    /// The newest generation's texts, whatever fails.
    pub fn head(&self) -> BTreeMap<String, String> {
        let mirror = mirror(self.objects.clone());
        runtime().block_on(async { contents(&mirror.head().await.unwrap()).await.unwrap() })
    }

    /// The text of every readable version of any generation.
    pub fn history(&self, was_damaged: bool) -> BTreeSet<String> {
        let mirror = mirror(self.objects.clone());
        runtime().block_on(async {
            let head = mirror.head().await.unwrap();
            let mut all = BTreeSet::new();
            for snapshot in &mirror.history(head.generation(), usize::MAX).await.unwrap() {
                match contents(snapshot).await {
                    Ok(contents) => all.extend(contents.into_values()),
                    Err(error) => assert!(was_damaged, "{error}"),
                }
            }
            all
        })
    }

    /// Lets request number `nth` of a kind fail.
    pub fn fail(&self, op: Op, nth: usize, fault: Fault) {
        let fits = match fault {
            Fault::OwnSuccess => op == Op::Create,
            Fault::Truncated => matches!(op, Op::Get | Op::Range),
            _ => true,
        };
        if fits {
            self.faults.script(op, "", std::iter::repeat_n(None, nth).chain([Some(fault)]));
        }
    }

    /// Replaces the hint by an old one, or deletes it.
    pub fn age_hint(&self) {
        let mirror = self.mirror();
        let keys = mirror.keys();
        runtime().block_on(async {
            match self.objects.get(&keys.manifest(1)).await {
                Ok(first) => {
                    let first = first.bytes().await.unwrap();
                    drop(self.objects.put(&keys.latest(), first.into()).await.unwrap());
                }
                Err(_) => drop(self.objects.delete(&keys.latest()).await),
            }
        });
    }

    pub fn pass(&self, time: Duration) {
        self.objects.pass(time);
    }

    /// Sets the store's clock forward or back by `hours`.
    pub fn clock_jumps(&self, hours: i16) {
        let time = Duration::from_secs(u64::from(hours.unsigned_abs()) * 3600);
        if hours < 0 { self.objects.turn_back(time) } else { self.objects.pass(time) }
    }

    pub fn damage(&self, kind: Kind, damage: Damage) {
        runtime().block_on(kind.suffers(&*self.objects, damage));
    }

    /// All objects.
    pub fn copy(&self) -> Vec<(Path, Bytes)> {
        runtime().block_on(async {
            let listed: Vec<_> = self.objects.list(None).try_collect().await.unwrap();
            let mut all = Vec::new();
            for object in listed {
                let bytes = self.objects.get(&object.location).await.unwrap().bytes().await.unwrap();
                all.push((object.location, bytes));
            }
            all
        })
    }

    /// Replaces all objects by these.
    pub fn put_back(&self, objects: Vec<(Path, Bytes)>) {
        runtime().block_on(async {
            let listed: Vec<_> = self.objects.list(None).try_collect().await.unwrap();
            for object in listed {
                self.objects.delete(&object.location).await.unwrap();
            }
            for (key, bytes) in objects {
                self.objects.put(&key, bytes.into()).await.unwrap();
            }
        });
    }
}

/// A new agent.
pub fn client(objects: &Arc<FaultStore>) -> Client {
    Client::over(&store(objects.clone()))
}

fn mirror(objects: Arc<dyn ObjectStore>) -> Mirror {
    let cache = Arc::new(PartCache::new(64 << 20));
    Mirror::open(store(objects), "main".parse().unwrap(), cache, Options::default()).unwrap()
}

fn store(objects: Arc<dyn ObjectStore>) -> Store {
    Store::new(objects, "", StoreOptions::default()).unwrap()
}
