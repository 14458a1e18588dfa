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
use futures::stream::{self, StreamExt as _};
use jiff::Timestamp;
use object_store::path::Path;
use serde::Serialize;

use crate::added::objects_of;
use crate::change::{Attempt, ChangeSet, CommitInfo, Derived};
use crate::collect::UPLOAD_TIME;
use crate::commit::Committed;
use crate::error::MirrorError;
use crate::id::SegmentId;
use crate::keys::BlobKey;
use crate::manifest::SegmentEntry;
use crate::merge;
use crate::mirror::Mirror;
use crate::snapshot::Snapshot;
use crate::store::ListedObject;

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
    /// Why objects that were to be deleted are still there, if they are. The next purge deletes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<String>,
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

/// What only older generations refer to, as far as these can be read.
#[derive(Debug, Default)]
struct Older {
    /// The generations that were looked at.
    generations: BTreeSet<u64>,
    segments: HashSet<SegmentId>,
    /// The names of attachments' objects.
    blobs: HashSet<String>,
    /// Whether a manifest or a segment is lost, so that nobody knows all that they refer to.
    is_partial: bool,
}

impl Older {
    fn cannot_read(&mut self, error: &MirrorError) {
        if let MirrorError::Damaged { object, reason } = error {
            tracing::warn!(object, reason, "what an older generation refers to is what the newest does not need");
        }
        self.is_partial = true;
    }
}

impl Mirror {
    /// Erases all versions of `files`, except the newest version of those that keep it, and ends the history of the
    /// whole vault.
    ///
    /// The older generations are read first, so that history does not end in vain. Where one is damaged or missing, everything that the newest generation
    /// does not need counts as its own, except young objects, which may be of uploads that are not committed yet.
    ///
    /// The next purge completes an interrupted one.
    ///
    /// # Errors As [`commit`](Self::commit), and those of reading older generations: then nothing was changed. What fails after the commit is
    /// told by [`Purged::unfinished`].
    pub async fn purge(&self, info: &CommitInfo, files: &[Purge]) -> Result<Purged, MirrorError> {
        let mut older = Older::default();
        match self.head().await {
            Ok(head) => self.look_at_older(head.generation() + 1, &mut older).await?,
            // The vault is not published.
            Err(MirrorError::NotPublished { .. }) => return Ok(Purged::default()),
            Err(error) => return Err(error),
        }
        let (head, removed) = match self.commit(info, &Purging(files)).await? {
            Committed::New(head, removed) => (head, removed),
            // The vault is not published; a purge has no key.
            Committed::Unchanged(..) | Committed::Replayed { .. } => return Ok(Purged::default()),
        };
        let mut purged = Purged { generation: head.generation(), removed, ..Purged::default() };
        purged.unfinished = match self.erase(&head, info.time, &mut older, &mut purged).await {
            Ok(unfinished) => unfinished,
            Err(error) => Some(error.to_string()),
        };
        purged.generations = older.generations.len() as u64;
        Ok(purged)
    }

    /// Adds what the generations before `before` refer to.
    async fn look_at_older(&self, before: u64, older: &mut Older) -> Result<(), MirrorError> {
        let written = self.written().await?;
        let there: Vec<u64> = written.range(..before).map(|(number, _)| *number).collect();
        // A collection deletes only the oldest manifests: one between others is lost.
        older.is_partial |= there.windows(2).any(|pair| matches!(pair, [one, next] if one + 1 < *next));
        let new: Vec<u64> = there.into_iter().filter(|number| !older.generations.contains(number)).collect();
        let read = new.into_iter().map(|number| async move { (number, self.manifest_at(number).await) });
        let mut read = stream::iter(read).buffered(PARALLEL);
        while let Some((number, found)) = read.next().await {
            let snapshot = match found {
                Ok(Some(snapshot)) => snapshot,
                // It was collected meanwhile.
                Ok(None) => continue,
                Err(error @ MirrorError::Damaged { .. }) => {
                    older.generations.insert(number);
                    older.cannot_read(&error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let segments: Vec<usize> = objects_of(&snapshot)
                .filter(|(_, id)| older.segments.insert(*id))
                .filter_map(|(index, _)| index)
                .collect();
            // Each for itself: the next ones name attachments of their own.
            for segment in segments {
                match self.blobs_of(&snapshot, &[segment], false).await {
                    Ok(found) => older.blobs.extend(found),
                    // An earlier purge deleted the segment, after its attachments.
                    Err(MirrorError::Gone { .. }) => {}
                    Err(error @ MirrorError::Damaged { .. }) => older.cannot_read(&error),
                    Err(error) => return Err(error),
                }
            }
            older.generations.insert(number);
        }
        Ok(())
    }

    /// Deletes what the generations from `head` on do not need. `now` is the time by the caller's clock. Returns why something has to stay, if
    /// something has.
    async fn erase(
        &self,
        head: &Arc<Snapshot>,
        now: Timestamp,
        older: &mut Older,
        purged: &mut Purged,
    ) -> Result<Option<String>, MirrorError> {
        // Others may have committed between.
        self.look_at_older(head.generation(), older).await?;
        let keys = self.keys();
        // Objects are listed before references are read, so that nothing committed meanwhile counts as erasable.
        let listed = if older.is_partial {
            [self.store.list(&keys.blobs(), None).await?, self.store.list(&keys.segments(), None).await?].concat()
        } else {
            Vec::new()
        };
        let needed = self.needed_since(head).await?;
        let blobs = older.blobs.iter().filter_map(|name| name.parse().ok()).map(|key: BlobKey| keys.blob(&key));
        // Attachments first: their names are in the segments.
        let known: Vec<Path> = blobs.chain(older.segments.iter().map(|id| keys.segment(*id))).collect();
        for key in known.iter().filter(|key| !needed.contains(*key)) {
            self.store.delete(key).await?;
            purged.objects += 1;
        }
        if !older.is_partial {
            return Ok(None);
        }
        let made = self.store.modified(&keys.manifest(head.generation())).await?.unwrap_or(now);
        let old = made.min(now) - UPLOAD_TIME;
        let known: HashSet<Path> = known.into_iter().collect();
        let mut young = 0_u64;
        for ListedObject { key, written, .. } in listed {
            if needed.contains(&key) || known.contains(&key) {
                continue;
            }
            // Its time may be that of a copy or a restored backup: it tells nothing of the generation.
            if written >= old {
                young += 1;
                continue;
            }
            self.store.delete(&key).await?;
            purged.objects += 1;
        }
        let hours = UPLOAD_TIME.as_secs() / 3600;
        Ok((young > 0).then(|| {
            format!(
                "an older generation is lost, and {young} objects that may be its own are less than {hours} hours old, so they may also be of a \
                 write in progress: a purge erases them when they are older"
            )
        }))
    }

    /// The keys of the objects that the generations from `head` on refer to.
    async fn needed_since(&self, head: &Arc<Snapshot>) -> Result<HashSet<Path>, MirrorError> {
        let mut needed = HashSet::new();
        let newest = self.head().await?;
        for generation in head.generation()..=newest.generation() {
            let snapshot = match generation {
                it if it == head.generation() => head.clone(),
                it if it == newest.generation() => newest.clone(),
                it => {
                    let key = self.keys().manifest(it);
                    self.manifest_at(it).await?.ok_or_else(|| MirrorError::damaged(key, "it is missing"))?
                }
            };
            let all: Vec<usize> = (0..snapshot.segments().len()).collect();
            let blobs = self.blobs_of(&snapshot, &all, true).await?;
            needed.extend(blobs.iter().filter_map(|name| name.parse().ok()).map(|key| self.keys().blob(&key)));
            needed.extend(objects_of(&snapshot).map(|(_, id)| self.keys().segment(id)));
        }
        Ok(needed)
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
