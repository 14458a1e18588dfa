//! The objects that the kept generations refer to: those of the oldest kept generation, and those that each later one
//! added. A collection reads each manifest once and stores its additions, so that the next collection continues there.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use atlas_segment::{PartRef, Record};
use bytes::Bytes;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use serde::{Deserialize, Serialize};

use crate::error::MirrorError;
use crate::id::{Hash, Id, SegmentId};
use crate::keys::BlobKey;
use crate::manifest::{SegmentEntry, checked, sealed};
use crate::mirror::Mirror;
use crate::snapshot::Snapshot;
use crate::tombstones::Tombstones;

/// The name of the stored additions, below `state/`.
const NAME: &str = "collection";
/// Most bytes of stored additions. Longer ones are not stored, and every collection reads the manifests again.
const MAX_BYTES: usize = 64 << 20;
/// Manifests read at once, and manifests after which the additions are stored.
const PARALLEL: usize = 16;
const PAGE: usize = 2_000;
/// Pages of records that one load requests.
const LOAD: usize = 256;

/// The objects that a range of generations added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Added {
    lineage: Id,
    /// The range begins after this generation,
    since: u64,
    /// ends with this one,
    upto: u64,
    /// and the manifest of `upto` has this hash.
    manifest: Hash,
    /// Objects below `segments/`, each with the first generation that referred to it.
    segments: BTreeMap<SegmentId, u64>,
    /// Objects of attachments, each with the last generation that listed a segment with it for the first time: a file may come again after all that
    /// referred to it have been collected.
    attachments: BTreeMap<String, u64>,
}

/// The generations that are kept.
pub(crate) struct KeptGenerations {
    pub(crate) oldest: Arc<Snapshot>,
    /// The generations between the oldest and the head.
    pub(crate) between: Vec<u64>,
    pub(crate) head: Arc<Snapshot>,
}

impl Added {
    fn none(oldest: &Snapshot) -> Self {
        Self {
            lineage: oldest.manifest().lineage,
            since: oldest.generation(),
            upto: oldest.generation(),
            manifest: oldest.hash(),
            segments: BTreeMap::new(),
            attachments: BTreeMap::new(),
        }
    }

    fn encode(&self) -> Result<Bytes, MirrorError> {
        let json = serde_json::to_vec(self).map_err(|error| MirrorError::conflict(error.to_string()))?;
        Ok(sealed(json).into())
    }

    /// Decodes stored additions; [`None`] if the bytes are damaged.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut json = checked(bytes).ok()?.to_vec();
        json.push(b'}');
        serde_json::from_slice(&json).ok()
    }

    /// Drops the additions up to `oldest`, whose own manifest lists them. Returns whether the oldest generation
    /// changed.
    fn forget_before(&mut self, oldest: u64) -> bool {
        if self.since == oldest {
            return false;
        }
        self.since = oldest;
        self.segments.retain(|_, generation| *generation > oldest);
        self.attachments.retain(|_, generation| *generation > oldest);
        true
    }

    /// The keys of these objects.
    pub(crate) fn keys(&self, mirror: &Mirror) -> HashSet<Path> {
        let keys = mirror.keys();
        let blobs = self.attachments.keys().filter_map(|name| name.parse().ok()).map(|key: BlobKey| keys.blob(&key));
        self.segments.keys().map(|id| keys.segment(*id)).chain(blobs).collect()
    }
}

impl Mirror {
    /// The additions after the oldest `kept` generation. This call reads at most `most` manifests; if more are left, the error is their number.
    pub(crate) async fn added(&self, kept: &KeptGenerations, most: usize) -> Result<Result<Added, u64>, MirrorError> {
        let stored = self.stored_added(kept).await?;
        let (oldest, head) = (&kept.oldest, &kept.head);
        let mut is_new = stored.is_none();
        let mut added = stored.unwrap_or_else(|| Added::none(oldest));
        is_new |= added.forget_before(oldest.generation());
        let mut known: HashSet<SegmentId> = objects_of(oldest).map(|(_, id)| id).collect();
        known.extend(added.segments.keys());
        let unread: Vec<u64> = kept.between.iter().copied().chain([head.generation()]).collect();
        let unread: Vec<u64> = unread.into_iter().filter(|generation| *generation > added.upto).collect();
        let left = unread.len().saturating_sub(most);
        for page in unread.get(..unread.len() - left).unwrap_or_default().chunks(PAGE) {
            let read = page.iter().map(|generation| async move {
                if *generation == head.generation() { Ok(Some(head.clone())) } else { self.at(*generation).await }
            });
            let mut read = stream::iter(read).buffered(PARALLEL);
            while let Some(snapshot) = read.try_next().await? {
                let gone = || MirrorError::unavailable("a generation that is kept was collected meanwhile");
                self.add(&mut added, &mut known, &snapshot.ok_or_else(gone)?).await?;
            }
            self.keep_added(&added).await?;
            is_new = false;
        }
        if is_new && oldest.generation() < head.generation() {
            self.keep_added(&added).await?;
        }
        Ok(if left == 0 { Ok(added) } else { Err(left as u64) })
    }

    /// Adds the objects that `next` refers to, those of attachments also if an earlier generation did.
    async fn add(
        &self,
        added: &mut Added,
        known: &mut HashSet<SegmentId>,
        next: &Arc<Snapshot>,
    ) -> Result<(), MirrorError> {
        let generation = next.generation();
        if generation == added.upto + 1 && next.manifest().parent != Some(added.manifest) {
            let key = self.keys().manifest(added.upto);
            return Err(MirrorError::damaged(key, "it is not the parent that its successor names"));
        }
        let mut with_blobs = Vec::new();
        for (index, id) in objects_of(next) {
            if known.insert(id) {
                added.segments.insert(id, generation);
                with_blobs.extend(index);
            }
        }
        for name in self.blobs_of(next, &with_blobs, false).await? {
            added.attachments.insert(name, generation);
        }
        (added.upto, added.manifest) = (generation, next.hash());
        Ok(())
    }

    /// The names of the attachments' objects that documents of `segments` refer to; with `live` only live documents count.
    pub(crate) async fn blobs_of(
        &self,
        snapshot: &Snapshot,
        segments: &[usize],
        live: bool,
    ) -> Result<HashSet<String>, MirrorError> {
        let mut names = HashSet::new();
        for segment in segments {
            let is_mixed = |entry: &SegmentEntry| entry.layout.notes < entry.layout.documents;
            // Notes have no blobs.
            if snapshot.segments().get(*segment).is_some_and(is_mixed) {
                let records = self.records_of(snapshot, *segment, live).await?;
                names.extend(records.into_iter().filter_map(|(_, record)| record.blob));
            }
        }
        Ok(names)
    }

    /// The records of a segment's documents; with `live` only of live ones.
    pub(crate) async fn records_of(
        &self,
        snapshot: &Snapshot,
        segment: usize,
        live: bool,
    ) -> Result<Vec<(u32, Record)>, MirrorError> {
        let mut records = Vec::new();
        let Some(entry) = snapshot.segments().get(segment) else { return Ok(records) };
        let fault = |error| snapshot.fault(segment, error);
        snapshot.open(|other, _| other == segment).await?;
        for pages in entry.layout.record_pages().map_err(fault)?.chunks(LOAD) {
            let wants: Vec<(usize, PartRef)> = pages.iter().map(|(page, _)| (segment, page.clone())).collect();
            for (part, (_, documents)) in snapshot.load(&wants).await?.iter().zip(pages) {
                let page = part.record_page().map_err(fault)?;
                for (index, document) in (0..page.len()).zip(documents.clone()) {
                    if !live || snapshot.is_live(segment, document) {
                        records.push((document, page.get(index).map_err(fault)?));
                    }
                }
            }
        }
        Ok(records)
    }

    /// The additions that an earlier collection stored, if they are for these generations.
    async fn stored_added(&self, kept: &KeptGenerations) -> Result<Option<Added>, MirrorError> {
        let (oldest, head) = (&kept.oldest, &kept.head);
        let key = self.added_key()?;
        let found = match self.store.get(&key, MAX_BYTES as u64).await {
            Ok(found) => found.and_then(|bytes| Added::decode(&bytes)),
            Err(MirrorError::Damaged { .. }) => None,
            Err(error) => return Err(error),
        };
        let covers = |added: &Added| {
            added.lineage == head.manifest().lineage
                && added.since <= oldest.generation()
                && (oldest.generation()..=head.generation()).contains(&added.upto)
        };
        let Some(added) = found.filter(covers) else { return Ok(None) };
        let last = match added.upto {
            upto if upto == head.generation() => Some(head.clone()),
            upto if upto == oldest.generation() => Some(oldest.clone()),
            upto => self.at(upto).await?,
        };
        Ok(last.filter(|last| last.hash() == added.manifest).map(|_| added))
    }

    async fn keep_added(&self, added: &Added) -> Result<(), MirrorError> {
        let bytes = added.encode()?;
        if bytes.len() > MAX_BYTES {
            tracing::warn!(
                bytes = bytes.len(),
                "the stored additions are too large: each collection reads all manifests again"
            );
            return Ok(());
        }
        self.store.put(&self.added_key()?, &bytes).await
    }

    fn added_key(&self) -> Result<Path, MirrorError> {
        self.keys().state(NAME).map_err(|error| MirrorError::conflict(error.to_string()))
    }
}

/// The objects below `segments/` that a generation refers to: segments with their index, tombstones, vectors, and clusters.
pub(crate) fn objects_of(snapshot: &Snapshot) -> impl Iterator<Item = (Option<usize>, SegmentId)> + '_ {
    let clusters = snapshot.manifest().clusters.map(|clusters| (None, clusters.id));
    let of_segments = snapshot.segments().iter().enumerate().flat_map(|(index, entry)| {
        let deleted = match &entry.deleted {
            Tombstones::Stored(stored) => Some((None, stored.id)),
            Tombstones::Inline(_) => None,
        };
        let vectors = entry.vectors.map(|vectors| (None, vectors.id));
        [Some((Some(index), entry.id)), deleted, vectors].into_iter().flatten()
    });
    clusters.into_iter().chain(of_segments)
}
