//! A commit's changes, and the manifest that results from them. No I/O.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use atlas_segment::Built;
use atlas_segment::layout::Layout;
use bytes::Bytes;
use jiff::Timestamp;

use crate::directories;
use crate::error::MirrorError;
use crate::id::{Hash, Id, SegmentId};
use crate::keys::VaultId;
use crate::manifest::{Changes, KeyedResult, Manifest, Origin, SegmentEntry, Totals, format_of};
use crate::snapshot::{Snapshot, State};
use crate::tombstones::{DocumentSet, Tombstones};
use crate::upload::UploadedSegment;
use crate::vectors::{ClusterEntry, Embeddings, NewClusters, NewVectors, VectorEntry};

/// A logical change: the new content of some paths, and the versions that they must have before.
pub trait ChangeSet: Sync {
    /// Why the change cannot be made.
    type Error: From<MirrorError> + Send;
    /// The change's own result of an attempt.
    type Outcome: Send;

    /// Derives the change on the state `head` ([`None`] for a vault without a generation).
    ///
    /// It is called again for every state that the commit tries to extend, and must check the change's preconditions
    /// each time. An error ends the commit if `head` is the newest state.
    fn derive(
        &self,
        head: Option<&Arc<Snapshot>>,
    ) -> impl Future<Output = Result<Attempt<Self::Outcome>, Self::Error>> + Send;

    /// Segments to upload while the change is being derived: those that it will probably contain on any state.
    fn early(&self) -> &[NewSegment] {
        &[]
    }
}

/// An attempt to make a change on one state.
#[derive(Clone, Debug)]
pub struct Attempt<T> {
    /// The derived change; [`None`] when there is nothing to do.
    pub derived: Option<Derived>,
    /// The change's own result.
    pub outcome: T,
}

impl<T> Attempt<T> {
    /// An attempt that changes something.
    pub const fn changes(derived: Derived, outcome: T) -> Self {
        Self { derived: Some(derived), outcome }
    }

    /// An attempt on a state where there is nothing to do.
    pub const fn nothing(outcome: T) -> Self {
        Self { derived: None, outcome }
    }
}

impl From<Option<Derived>> for Attempt<()> {
    fn from(derived: Option<Derived>) -> Self {
        Self { derived, outcome: () }
    }
}

/// A change derived on one state.
#[derive(Clone, Debug, Default)]
pub struct Derived {
    /// Segments to add.
    pub segments: Vec<NewSegment>,
    /// Documents of live segments that are replaced or deleted by this change.
    pub deleted: Vec<(SegmentId, Vec<u32>)>,
    /// Live segments to drop, since `segments` contains their live documents.
    pub dropped: Vec<DroppedSegment>,
    /// How many documents changed.
    pub changes: Changes,
    /// The vault's totals after the change.
    pub totals: Totals,
    /// The answer to store with a keyed commit.
    pub result: Option<serde_json::Value>,
    /// Whether a person has confirmed it.
    pub confirmed: bool,
    /// Whether older generations become unreadable.
    pub ends_history: bool,
    /// By path: the origin of each note that callers changed before, or that this one moves.
    pub origins: BTreeMap<String, Origin>,
    /// Live segments whose vectors are dropped, and made anew.
    pub without_vectors: Vec<SegmentId>,
    /// Other vectors of live segments.
    pub vectors: Vec<(SegmentId, NewVectors)>,
    /// Another model, or that there is none any more; [`None`] if it stays. With another one, the vectors of all segments that are not in
    /// `vectors` or new are dropped.
    pub embeddings: Option<Option<Embeddings>>,
    /// Other clusters, or that there are none any more; [`None`] if they stay. Another model drops them.
    pub clusters: Option<Option<NewClusters>>,
}

/// A segment to add.
#[derive(Clone, Debug)]
pub struct NewSegment {
    /// The object.
    pub object: SegmentObject,
    /// Its table of contents.
    pub layout: Layout,
    /// Documents that are dead from the start: their tombstones came while the segment was merged.
    pub deleted: Vec<u32>,
    /// The generation of the version that its one document replaces, if its record does not say so; 0 for none.
    pub replaces: u64,
    /// The vectors of its notes, of the head's model.
    pub vectors: Option<NewVectors>,
}

/// The object of a segment to add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SegmentObject {
    /// Bytes that the commit uploads, once for all of its attempts.
    Bytes(Bytes),
    /// An object that was uploaded before.
    Uploaded(UploadedSegment),
}

impl SegmentObject {
    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Uploaded(uploaded) => uploaded.bytes(),
        }
    }
}

impl NewSegment {
    /// A segment with the `object` and `layout`.
    pub const fn new(object: SegmentObject, layout: Layout) -> Self {
        Self { object, layout, deleted: Vec::new(), replaces: 0, vectors: None }
    }
}

impl From<Built> for NewSegment {
    fn from(built: Built) -> Self {
        Self::new(SegmentObject::Bytes(built.bytes.into()), built.layout)
    }
}

/// A segment to drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedSegment {
    /// The segment.
    pub segment: SegmentId,
    /// The number of its tombstones that are accounted for. If a commit finds more, it fails, so that deleted documents
    /// do not come back.
    pub deleted: u32,
}

/// The author, purpose and deadline of a commit.
#[derive(Clone, Debug)]
pub struct CommitInfo {
    /// The author: at most 256 bytes.
    pub author: String,
    /// Distinguishes the author from others of the same name, if callers are distinguished: at most 256 bytes.
    pub caller: Option<String>,
    /// The operation: at most 256 bytes.
    pub operation: String,
    /// The reason, in the author's words: at most 4 KiB.
    pub message: Option<String>,
    /// The author's name for the work that this commit belongs to: at most 256 bytes.
    pub session: Option<String>,
    /// The key of a request that must be executed once only.
    pub key: Option<CommitKey>,
    /// The time, by the caller's clock.
    pub time: Timestamp,
    /// How long to try. At most an hour, since generations that are being extended must not be collected meanwhile.
    pub deadline: Duration,
}

/// The key of a request that must be executed once only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitKey {
    /// Hash of the key and of whatever else binds it.
    pub hash: Hash,
    /// The generation that was the newest when the key was claimed: every later one may carry the key's result.
    pub since: u64,
    /// Whether the request is known to have been executed. Its answer is then looked for before anything is derived
    /// again.
    pub is_executed: bool,
}

/// The uploaded objects of a [`Derived`], in its order.
#[derive(Debug)]
pub(crate) struct UploadedObjects {
    /// The segments' ids and tombstones, and the ids of their vectors.
    pub(crate) segments: Vec<(SegmentId, Tombstones, Option<SegmentId>)>,
    /// The new tombstones of live segments, by their index.
    pub(crate) deleted: Vec<(usize, Tombstones)>,
    /// The ids of other vectors of live segments.
    pub(crate) vectors: Vec<SegmentId>,
    /// The id of new clusters.
    pub(crate) clusters: Option<SegmentId>,
}

/// Checks that `derived` fits `head`, and finds the documents that it adds to the tombstones of each live segment.
pub(crate) fn check(head: Option<&Manifest>, derived: &Derived) -> Result<Vec<(usize, DocumentSet)>, MirrorError> {
    let find = |id: SegmentId| {
        let found = head.and_then(|manifest| manifest.segment(id));
        found.ok_or_else(|| MirrorError::conflict(format!("segment {id} is not live any more")))
    };
    for dropped in &derived.dropped {
        let (_, entry) = find(dropped.segment)?;
        if entry.deleted.count() != dropped.deleted {
            return Err(MirrorError::conflict(format!(
                "segment {} has new tombstones since it was merged",
                dropped.segment
            )));
        }
    }
    let outside = |documents: &[u32], layout: &Layout| documents.iter().any(|document| *document >= layout.documents);
    if derived.segments.iter().any(|segment| outside(&segment.deleted, &segment.layout)) {
        return Err(MirrorError::conflict("a new segment has tombstones of documents that it does not have"));
    }
    let twice =
        |at: usize, new: &NewSegment| derived.segments.iter().skip(at + 1).any(|other| other.object == new.object);
    if derived.segments.iter().enumerate().any(|(at, new)| twice(at, new)) {
        return Err(MirrorError::conflict("a new segment is listed twice"));
    }
    let mut deleted: Vec<(usize, DocumentSet)> = Vec::new();
    for (id, documents) in &derived.deleted {
        let (index, entry) = find(*id)?;
        if outside(documents, &entry.layout) || derived.dropped.iter().any(|dropped| dropped.segment == *id) {
            return Err(MirrorError::conflict(format!("segment {id} does not have the documents to delete")));
        }
        match deleted.iter_mut().find(|(known, _)| *known == index) {
            Some((_, set)) => *set = set.with(documents.iter().copied()),
            None => deleted.push((index, documents.iter().copied().collect())),
        }
    }
    Ok(deleted)
}

/// The manifest of `derived` on `head`, with so many bytes of directories at most.
pub(crate) fn next_manifest(
    vault: &VaultId,
    head: Option<&State>,
    info: &CommitInfo,
    derived: &Derived,
    uploaded: UploadedObjects,
    nonce: Id,
    max_directories: usize,
) -> Result<Manifest, MirrorError> {
    let generation = head.map_or(Some(1), |head| head.manifest.generation.checked_add(1));
    let generation =
        generation.ok_or(MirrorError::TooLarge { what: "the generation", limit: format!("{}", u64::MAX) })?;
    let lineage = match head {
        Some(head) => head.manifest.lineage,
        None => Id::random()?,
    };
    let mut segments = head.map_or_else(Vec::new, |head| head.manifest.segments.clone());
    for (index, deleted) in uploaded.deleted {
        if let Some(entry) = segments.get_mut(index) {
            entry.deleted = deleted;
        }
    }
    let embeddings = match (&derived.embeddings, head) {
        (Some(other), _) => {
            segments.iter_mut().for_each(|entry| entry.vectors = None);
            other.clone()
        }
        (None, head) => head.and_then(|head| head.manifest.embeddings.clone()),
    };
    for entry in segments.iter_mut().filter(|entry| derived.without_vectors.contains(&entry.id)) {
        entry.vectors = None;
    }
    let entry_of = |new: &NewVectors, id| {
        Some(VectorEntry { id, layout: new.layout, listed: None })
            .filter(|entry| entry.is_sound(embeddings.as_ref().map(|model| model.dimensions)))
    };
    for ((segment, new), id) in derived.vectors.iter().zip(uploaded.vectors) {
        if let Some(entry) = segments.iter_mut().find(|entry| entry.id == *segment) {
            entry.vectors = entry_of(new, id);
        }
    }
    // The merged segment takes the position of its first input.
    let is_dropped = |entry: &SegmentEntry| derived.dropped.iter().any(|dropped| dropped.segment == entry.id);
    let at = segments.iter().position(is_dropped).unwrap_or(segments.len());
    segments.retain(|entry| !is_dropped(entry));
    let added = derived.segments.iter().zip(uploaded.segments);
    let added = added.map(|(new, (id, deleted, vectors))| SegmentEntry {
        id,
        generation,
        bytes: new.object.bytes(),
        layout: new.layout.clone(),
        replaces: new.replaces,
        vectors: new.vectors.as_ref().zip(vectors).and_then(|(new, id)| entry_of(new, id)),
        deleted,
    });
    let added: Vec<SegmentEntry> = added.collect();
    segments.splice(at..at, added);
    let clusters = head.and_then(|head| head.manifest.clusters);
    let clusters = listed(&mut segments, clusters, derived.clusters.as_ref(), uploaded.clusters);
    directories::leave_out(&mut segments, max_directories);
    let keyed =
        info.key.map(|key| KeyedResult { key_hash: key.hash, result: derived.result.clone().unwrap_or_default() });
    Ok(Manifest {
        format: format_of(embeddings.as_ref(), &segments),
        embeddings,
        clusters,
        vault: vault.clone(),
        lineage,
        generation,
        parent: head.map(|head| head.hash),
        nonce,
        time: info.time,
        waited_ms: 0,
        author: info.author.clone(),
        caller: info.caller.clone(),
        confirmed: derived.confirmed,
        origins: derived.origins.clone(),
        operation: info.operation.clone(),
        message: info.message.clone(),
        session: info.session.clone(),
        history_from: match head {
            _ if derived.ends_history => generation,
            Some(head) => head.manifest.history_from,
            None => 0,
        },
        idempotency: keyed,
        changes: derived.changes,
        totals: derived.totals,
        segments,
    })
}

/// The clusters that list vectors of `segments`, which say their places: `now` or `other` ones. [`None`] if there are none, or they list
/// nothing that is live.
fn listed(
    segments: &mut [SegmentEntry],
    now: Option<ClusterEntry>,
    other: Option<&Option<NewClusters>>,
    id: Option<SegmentId>,
) -> Option<ClusterEntry> {
    let clusters = match other {
        None => now,
        Some(other) => {
            for vectors in segments.iter_mut().filter_map(|entry| entry.vectors.as_mut()) {
                let place = other.as_ref().and_then(|new| new.listed.iter().position(|id| *id == vectors.id));
                vectors.listed = place.and_then(|place| u32::try_from(place).ok());
            }
            other.as_ref().zip(id).map(|(new, id)| ClusterEntry { id, layout: new.layout })
        }
    };
    let is_listed = |entry: &SegmentEntry| entry.vectors.is_some_and(|vectors| vectors.listed.is_some());
    clusters.filter(|_| segments.iter().any(is_listed))
}

#[cfg(test)]
mod tests;
