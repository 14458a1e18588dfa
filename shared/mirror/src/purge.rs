//! Purging: removes a file with all its versions from the mirror, before their retention ends.
//!
//! Segments and manifests are immutable, and each older generation refers to the texts of many notes. So a purge
//! commits a generation whose segments have live documents only, ends history there, and deletes the objects, including
//! attachments, that only older generations refer to. The older manifests, which contain no text, keep their retention:
//! folders recognise their mirror by them, and a stalled writer does not find its number free.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use atlas_segment::Record;
use atlas_vault::VaultPath;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Serialize;

use crate::added::objects_of;
use crate::change::{Attempt, ChangeSet, CommitInfo, Derived};
use crate::commit::Committed;
use crate::error::MirrorError;
use crate::keys::BlobKey;
use crate::manifest::SegmentEntry;
use crate::merge;
use crate::mirror::Mirror;
use crate::snapshot::Snapshot;

/// Manifests read at once.
const PARALLEL: usize = 16;

/// A file to purge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    /// Its path.
    pub path: VaultPath,
    /// Whether its newest version stays.
    pub keeps_newest: bool,
}

/// The result of a purge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Purged {
    /// The generation at which history begins now.
    pub generation: u64,
    /// The files removed from the vault.
    pub removed: Vec<String>,
    /// Older generations, which cannot be read any more.
    pub generations: u64,
    /// Objects that were deleted from the store.
    pub objects: u64,
}

/// The commit of a purge. Its outcome is the paths that it removes from the vault.
struct Purging<'a>(&'a [Purge]);

impl ChangeSet for Purging<'_> {
    type Error = MirrorError;
    type Outcome = Vec<String>;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Vec<String>>, MirrorError> {
        // A vault without a generation has nothing to purge.
        let Some(head) = head else { return Ok(Attempt::nothing(Vec::new())) };
        // The lists of clusters have codes of what was replaced, too.
        let clusters = head.manifest().clusters.map(|_| None);
        let mut derived =
            Derived { totals: head.manifest().totals, ends_history: true, clusters, ..Derived::default() };
        let mut removed = BTreeSet::new();
        let mut without = Vec::new();
        for Purge { path, .. } in self.0.iter().filter(|purge| !purge.keeps_newest) {
            for (segment, document, record) in documents_at(head, path.as_str()).await? {
                let Some(entry) = head.segments().get(segment).filter(|_| head.is_live(segment, document)) else {
                    continue;
                };
                derived.totals.remove(record.kind, record.bytes);
                derived.changes.removed += 1;
                without.push((entry.id, vec![document]));
                removed.insert(record.path);
            }
        }
        let has_dead =
            |entry: &SegmentEntry| entry.deleted.count() > 0 || without.iter().any(|(segment, _)| *segment == entry.id);
        for (index, _) in head.segments().iter().enumerate().filter(|(_, entry)| has_dead(entry)) {
            // One at a time: each may be large.
            let (documents, dropped) = merge::read(head, &[index], &without).await?;
            derived.segments.extend(merge::build(&documents, head.manifest().embeddings.as_ref())?);
            derived.dropped.extend(dropped);
        }
        Ok(Attempt::changes(derived, removed.into_iter().collect()))
    }
}

impl Mirror {
    /// Erases all versions of `files`, except the newest version of those that keep it, and ends the history of the
    /// whole vault.
    ///
    /// The next purge completes an interrupted one.
    ///
    /// # Errors As [`commit`](Self::commit). After the commit, [`MirrorError::Unavailable`] and
    /// [`MirrorError::StoreRefused`] leave objects to the next purge.
    pub async fn purge(&self, info: &CommitInfo, files: &[Purge]) -> Result<Purged, MirrorError> {
        let (head, removed) = match self.commit(info, &Purging(files)).await? {
            Committed::New(head, removed) => (head, removed),
            // The vault is not published; a purge has no key.
            Committed::Unchanged(..) | Committed::Replayed { .. } => return Ok(Purged::default()),
        };
        let mut purged = Purged { generation: head.generation(), removed, ..Purged::default() };
        let older: Vec<u64> = self.written().await?.range(..head.generation()).map(|(number, _)| *number).collect();
        let mut seen = HashSet::new();
        let mut blobs: HashSet<String> = HashSet::new();
        let mut read = stream::iter(older).map(|number| self.head_at(number)).buffered(PARALLEL);
        while let Some(found) = read.try_next().await? {
            let Some(older) = found else { continue };
            let older = self.snapshot(&older);
            purged.generations += 1;
            let new: Vec<usize> =
                objects_of(&older).filter(|(_, id)| seen.insert(*id)).filter_map(|(index, _)| index).collect();
            // Each for itself: the next ones name attachments of their own.
            for segment in new {
                match self.blobs_of(&older, &[segment], false).await {
                    Ok(found) => blobs.extend(found),
                    // An earlier purge deleted the segment, after its attachments.
                    Err(MirrorError::Gone { .. }) => {}
                    Err(error @ MirrorError::Damaged { .. }) => {
                        tracing::warn!(%error, "attachments that only this segment names stay until they are collected");
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        let all: Vec<usize> = (0..head.segments().len()).collect();
        let live = self.blobs_of(&head, &all, true).await?;
        for (_, id) in objects_of(&head) {
            seen.remove(&id);
        }
        let blobs =
            blobs.difference(&live).filter_map(|name| name.parse().ok()).map(|key: BlobKey| self.keys().blob(&key));
        // Attachments first: their names are in the segments.
        for key in blobs.chain(seen.iter().map(|id| self.keys().segment(*id))) {
            self.store.delete(&key).await?;
            purged.objects += 1;
        }
        Ok(purged)
    }
}

/// The documents at `path`, live and dead: segment, number and record.
async fn documents_at(snapshot: &Snapshot, path: &str) -> Result<Vec<(usize, u32, Record)>, MirrorError> {
    snapshot.open_for(&[path]).await?;
    let mut pages = Vec::new();
    for (segment, entry) in snapshot.segments().iter().enumerate() {
        let fault = |error| snapshot.fault(segment, error);
        let page = entry.layout.record_page(path).map_err(fault)?;
        pages.extend(page.map(|(page, first)| (segment, page, first)));
    }
    let wants: Vec<_> = pages.iter().map(|(segment, page, _)| (*segment, page.clone())).collect();
    let mut found = Vec::new();
    for (part, (segment, _, first)) in snapshot.load(&wants).await?.iter().zip(&pages) {
        let fault = |error| snapshot.fault(*segment, error);
        if let Some((index, record)) = part.record_page().map_err(fault)?.find(path).map_err(fault)? {
            found.push((*segment, first.saturating_add(index as u32), record));
        }
    }
    Ok(found)
}
