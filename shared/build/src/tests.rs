//! A source and a mirror in one store, and the steps of a run.

mod changes;
mod compacting;
mod model;
mod names;
mod races;
mod runs;

use std::collections::BTreeMap;
use std::path::Path as Folder;
use std::sync::Arc;

use atlas_mirror::{Mirror, Options, PartCache, Snapshot, Store, StoreOptions};
use atlas_segment::FULL_BYTES;
use atlas_sync::head::HeadDocuments;
use atlas_sync::{ExportOptions, export};
use atlas_testkit::notes::{Delete, Put, by};
use jiff::Timestamp;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};

use crate::BuildError;
use crate::plan::{ShardSize, plan};
use crate::publish::{PublishedRun, Run, publish};
use crate::records::{Shard, ShardResult};
use crate::shard::build;
use crate::source::{Source, Sources};

/// Small shards, so that a few files are several.
const SMALL: ShardSize = ShardSize { text_bytes: 1 << 20, attachment_bytes: 1 << 30, objects: 2 };

struct Site {
    objects: Arc<dyn ObjectStore>,
    size: ShardSize,
    now: Timestamp,
    /// Of plans.
    allow_mass_delete: bool,
}

impl Site {
    /// A site whose source has these files.
    async fn with(files: &[(&str, &str)]) -> Self {
        let site = Self::on(Arc::new(InMemory::new()));
        site.put_all(files).await;
        site
    }

    /// A site on a store of another kind.
    fn on(objects: Arc<dyn ObjectStore>) -> Self {
        Self { objects, size: SMALL, now: Timestamp::now(), allow_mass_delete: false }
    }

    async fn put_all(&self, files: &[(&str, &str)]) {
        for (key, text) in files {
            self.put(key, text).await;
        }
    }

    async fn put(&self, key: &str, text: impl AsRef<[u8]>) {
        let key = Path::parse(format!("sources/main/{key}")).unwrap();
        self.objects.put(&key, text.as_ref().to_vec().into()).await.unwrap();
    }

    async fn delete(&self, key: &str) {
        self.objects.delete(&Path::parse(format!("sources/main/{key}")).unwrap()).await.unwrap();
    }

    /// A mirror as another process would open it.
    fn mirror(&self) -> Mirror {
        let store = Store::new(self.objects.clone(), "", StoreOptions::default()).unwrap();
        Mirror::open(store, "main".parse().unwrap(), Arc::new(PartCache::new(1 << 20)), Options::default()).unwrap()
    }

    fn source(&self) -> Source {
        let store = Store::new(self.objects.clone(), "sources", StoreOptions::default()).unwrap();
        Sources::of(store).vault(&"main".parse().unwrap()).unwrap()
    }

    async fn plan(&self, run: &str) -> Result<Vec<Shard>, BuildError> {
        Ok(plan(&self.mirror(), &self.source(), run, self.size, self.allow_mass_delete, self.now).await?.1)
    }

    async fn build(&self, shard: &Shard) -> Result<ShardResult, BuildError> {
        build(&self.mirror(), &self.source(), shard, FULL_BYTES, self.now).await
    }

    /// Plans a run and builds its shards.
    async fn built(&self, run: &str) -> Vec<ShardResult> {
        let mut results = Vec::new();
        for shard in self.plan(run).await.unwrap() {
            results.push(self.build(&shard).await.unwrap());
        }
        results
    }

    async fn publish(&self, run: &str) -> Result<PublishedRun, BuildError> {
        self.publish_whatever(run, false).await
    }

    async fn publish_whatever(&self, run: &str, allow_mass_delete: bool) -> Result<PublishedRun, BuildError> {
        let run = Run { vault: "main".to_owned(), run: run.to_owned(), allow_mass_delete };
        publish(&self.mirror(), &run, self.now).await
    }

    /// A whole run.
    async fn run(&self, run: &str) -> PublishedRun {
        self.built(run).await;
        self.publish(run).await.unwrap()
    }

    async fn head(&self) -> Arc<Snapshot> {
        self.mirror().head().await.unwrap()
    }

    /// The mirror's documents by path.
    async fn all(&self) -> HeadDocuments {
        atlas_sync::head::all(&self.mirror().head().await.unwrap()).await.unwrap()
    }

    /// The mirror's texts by path.
    async fn mirrored(&self) -> BTreeMap<String, String> {
        let to = tempfile::tempdir().unwrap();
        let options = ExportOptions { to: to.path().to_owned(), generation: None, force: false };
        let exported = export(&self.mirror(), &options, Arc::new(())).await.unwrap();
        assert_eq!(exported.skipped, []);
        texts(to.path(), to.path())
    }

    /// The mirror's text at a path.
    async fn text(&self, path: &str) -> Option<String> {
        self.mirrored().await.remove(path)
    }

    async fn agent_puts(&self, path: &str, text: &str) {
        self.mirror().commit(&by("agent"), &Put::note(path, text)).await.unwrap();
    }

    async fn agent_deletes(&self, path: &str) {
        self.mirror().commit(&by("agent"), &Delete(path.to_owned())).await.unwrap();
    }
}

fn texts(root: &Folder, folder: &Folder) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut texts(root, &path));
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            found.insert(name, String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned());
        }
    }
    found
}

fn map(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// The number of changed documents, as (added, changed, removed).
const fn done(run: &PublishedRun) -> (u64, u64, u64) {
    (run.changes.added, run.changes.changed, run.changes.removed)
}

/// The files that are left, each with its reason.
fn left(run: &PublishedRun) -> Vec<String> {
    run.left_files.iter().map(|left| format!("{}: {}", left.path, left.reason)).collect()
}
