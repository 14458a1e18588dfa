//! Damage to objects of a store.

use atlas_mirror::tombstones::Tombstones;
use futures::TryStreamExt as _;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload};
use proptest::prelude::*;

use crate::support::deployment::Deployment;

/// A kind of damage.
#[derive(Clone, Copy, Debug)]
pub enum Damage {
    Missing,
    CutAt(usize),
    Flipped(usize),
}

impl Damage {
    async fn befalls(self, objects: &dyn ObjectStore, key: &Path) {
        let mut bytes = objects.get(key).await.unwrap().bytes().await.unwrap().to_vec();
        match self {
            Self::Missing => return objects.delete(key).await.unwrap(),
            Self::CutAt(at) => bytes.truncate(at % bytes.len().max(1)),
            Self::Flipped(_) if bytes.is_empty() => {}
            Self::Flipped(at) => {
                let at = at % bytes.len();
                bytes[at] ^= 0x10;
            }
        }
        objects.put(key, bytes.into()).await.unwrap();
    }
}

/// A kind of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Segment(usize),
    Blob(usize),
    NewestManifest,
    Latest,
    NewestAndLatest,
    /// With their copy. None may be missing, since then there would be no such vault.
    AllManifests,
}

impl Kind {
    async fn keys(self, objects: &dyn ObjectStore) -> Vec<Path> {
        let listed: Vec<_> = objects.list(None).try_collect().await.unwrap();
        let mut all: Vec<Path> = listed.into_iter().map(|object| object.location).collect();
        all.sort();
        let with =
            |part: &str| -> Vec<Path> { all.iter().filter(|key| key.as_ref().contains(part)).cloned().collect() };
        let nth = |keys: Vec<Path>, nth: usize| keys.get(nth % keys.len().max(1)).cloned().into_iter().collect();
        let newest = with("/manifests/").into_iter().next_back();
        match self {
            Self::Segment(number) => nth(with("/segments/"), number),
            Self::Blob(number) => nth(with("/blobs/"), number),
            Self::NewestManifest => newest.into_iter().collect(),
            Self::Latest => with("/latest"),
            Self::AllManifests => with("/manifests/").into_iter().chain(with("/latest")).collect(),
            Self::NewestAndLatest => newest.into_iter().chain(with("/latest")).collect(),
        }
    }

    /// Damages the objects of this kind.
    pub async fn suffers(self, objects: &dyn ObjectStore, damage: Damage) {
        let damage = match damage {
            Damage::Missing if self == Self::AllManifests => Damage::CutAt(0),
            damage => damage,
        };
        for key in self.keys(objects).await {
            damage.befalls(objects, &key).await;
        }
    }
}

pub fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        4 => any::<usize>().prop_map(Kind::Segment),
        2 => any::<usize>().prop_map(Kind::Blob),
        2 => Just(Kind::NewestManifest),
        1 => Just(Kind::Latest),
        1 => Just(Kind::NewestAndLatest),
        1 => Just(Kind::AllManifests),
    ]
}

pub fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![Just(Damage::Missing), any::<usize>().prop_map(Damage::CutAt), any::<usize>().prop_map(Damage::Flipped),]
}

/// Damages the newest generation's sets of tombstones; returns how many are separate objects.
pub async fn tombstones_suffer(deployment: &Deployment, damage: Damage) -> usize {
    let mirror = deployment.mirror();
    let head = mirror.head().await.unwrap();
    let stored = head.segments().iter().filter_map(|entry| match &entry.deleted {
        Tombstones::Stored(stored) => Some(mirror.keys().segment(stored.id)),
        Tombstones::Inline(_) => None,
    });
    let keys: Vec<Path> = stored.collect();
    for key in &keys {
        damage.befalls(&*deployment.objects, key).await;
    }
    keys.len()
}

/// Destroys the content of all segments.
pub async fn damage_segments(deployment: &Deployment) {
    let objects: Vec<_> = deployment.objects.list(None).try_collect().await.unwrap();
    for object in objects.into_iter().filter(|object| object.location.as_ref().contains("/segments/")) {
        let nothing = vec![0; usize::try_from(object.size).unwrap()];
        deployment.objects.put(&object.location, PutPayload::from(nothing)).await.unwrap();
    }
}
