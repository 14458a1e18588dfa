//! The commit of a sync: derived again from each state of the mirror that the commit tries to extend.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use atlas_mirror::manifest::{Changes, Totals};
use atlas_mirror::{ChangeSet, Derived, Id, NewSegment, SegmentId, Snapshot, merge};
use atlas_vault::VaultPath;

use crate::blocking::blocking;
use crate::code_reader::CodeReader;
use crate::decide::{Action, Version, decide};
use crate::error::SyncError;
use crate::folder::Folder;
use crate::guard::Danger;
use crate::head::{self, HeadDocument, HeadDocuments};
use crate::indexing::{Indexing, build};
use crate::progress::Progress;
use crate::report::Reason;
use crate::uploads::{Lane, Uploads};
use crate::write::{Chosen, Write, WrittenDocument};

/// A path to remove from the mirror.
#[derive(Debug)]
pub(crate) struct Remove {
    pub(crate) path: String,
    /// The last version that was equal on both sides.
    pub(crate) ancestor: Version,
    /// It is only removed if this path is written.
    pub(crate) beside: Option<VaultPath>,
}

/// The commit of a sync.
pub(crate) struct SyncChange {
    pub(crate) folder: Arc<Folder>,
    pub(crate) writes: Arc<Vec<Arc<Write>>>,
    pub(crate) removes: Vec<Remove>,
    pub(crate) progress: Arc<dyn Progress>,
    /// Finds symbols.
    pub(crate) code: Option<Arc<dyn CodeReader>>,
    /// Segments are full when they reach about this many bytes.
    pub(crate) full_bytes: usize,
    pub(crate) uploads: Arc<Uploads>,
    pub(crate) last: Mutex<Option<Arc<SyncAttempt>>>,
    /// The newest generation when the sync was planned, if there was one.
    pub(crate) planned: Option<(Id, u64)>,
    /// The folder of the sync state.
    pub(crate) state: PathBuf,
}

/// The result of the newest attempt.
#[derive(Debug, Default)]
pub(crate) struct SyncAttempt {
    /// The writes that fit the mirror's state.
    chosen: Arc<Vec<Chosen>>,
    segments: Vec<NewSegment>,
    /// The result of each of `chosen`.
    pub(crate) results: Arc<Vec<Result<WrittenDocument, Reason>>>,
    /// The removals that fit the mirror's state, by index.
    pub(crate) removed: Vec<usize>,
}

impl SyncAttempt {
    /// The result of each write, with its index; without the writes that do not fit the mirror's state.
    pub(crate) fn written(&self) -> impl Iterator<Item = (usize, &Result<WrittenDocument, Reason>)> {
        self.chosen.iter().map(|chosen| chosen.write).zip(&*self.results)
    }
}

impl ChangeSet for SyncChange {
    type Error = SyncError;
    type Outcome = Arc<SyncAttempt>;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<atlas_mirror::Attempt<Arc<SyncAttempt>>, SyncError> {
        self.check_mirror(head.map(AsRef::as_ref))?;
        let documents = match head {
            Some(head) => head::at(head, &self.paths()).await?,
            None => HeadDocuments::new(),
        };
        let chosen = Arc::new(self.choose(&documents));
        let removed = self.fitting(&documents, &chosen);
        let (segments, results) = self.build(&chosen).await?;
        let attempt = Arc::new(SyncAttempt { chosen, segments, results, removed });
        self.keep(attempt.clone());
        let totals = head.map_or_else(Totals::default, |head| head.manifest().totals);
        let mut derived = self.derived(&attempt, &documents, totals);
        if let (Some(derived), Some(head)) = (&mut derived, head) {
            merge::compact(head, merge::MEDIUM, derived).await?;
        }
        Ok(atlas_mirror::Attempt { derived, outcome: attempt })
    }
}

impl SyncChange {
    /// Stops if the mirror was removed since the sync was planned: a new mirror with a few files would look as if all
    /// others had been deleted.
    fn check_mirror(&self, head: Option<&Snapshot>) -> Result<(), Danger> {
        let Some((lineage, generation)) = self.planned else { return Ok(()) };
        if head.is_some_and(|head| head.manifest().lineage == lineage && head.generation() >= generation) {
            return Ok(());
        }
        let reason = format!("its generation {generation} was there when this sync began, and is not any more");
        Err(Danger::OtherMirror { reason, state: self.state.clone() })
    }

    /// Reads and indexes the files to write on `head`, before the commit's time limit starts.
    pub(crate) async fn prepare(&self, head: Option<&Arc<Snapshot>>) -> Result<(), SyncError> {
        self.derive(head).await.map(drop)
    }

    /// Keeps the segments of an attempt for the next one, which may need the same.
    fn keep(&self, attempt: Arc<SyncAttempt>) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(attempt);
    }

    /// All paths of the change, in order.
    fn paths(&self) -> Vec<&str> {
        let written = self.writes.iter().map(|write| write.file.path.as_str());
        let removed = self.removes.iter().map(|remove| remove.path.as_str());
        let reused = self.writes.iter().filter_map(|write| write.blob.as_ref()?.of.as_deref());
        let mut paths: Vec<&str> = written.chain(removed).chain(reused).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// The writes that fit the mirror's state; the next sync decides the others again.
    fn choose(&self, documents: &HeadDocuments) -> Vec<Chosen> {
        let mut chosen = Vec::with_capacity(self.writes.len());
        chosen.extend(self.writes.iter().enumerate().filter_map(|(index, write)| {
            let head = newest(documents, write.file.path.as_str());
            let version = head.map(|head| head.sha256);
            let fits = match write.known() {
                Some(known) => {
                    let is_there = write.may_be_there && version == Some(known.sha256);
                    is_there || decide(write.ancestor(), Some(known.sha256), version) == Action::Push
                }
                None => version == write.ancestor(),
            };
            let reused = write.blob.as_ref().and_then(|blob| Some((blob.of.as_deref()?, &blob.name)));
            let is_there = reused.is_none_or(|(path, name)| {
                documents.get(path).is_some_and(|same| same.iter().any(|document| document.blob.as_ref() == Some(name)))
            });
            let replaces = head.map_or(0, |head| head.generation);
            let is_text = write.attachment().is_none();
            (fits && is_there && (is_text || write.blob.is_some())).then_some(Chosen {
                write: index,
                head: version.map(Box::new),
                replaces,
            })
        }));
        // Conflict copies were added last, but a segment needs the order of paths.
        chosen.sort_by_key(|chosen| self.writes.get(chosen.write).map(|write| &write.file.path));
        chosen
    }

    /// The removals that fit the mirror's state, and what is written beside them, by index.
    fn fitting(&self, documents: &HeadDocuments, chosen: &[Chosen]) -> Vec<usize> {
        let paths = chosen.iter().filter_map(|chosen| self.writes.get(chosen.write)).map(|write| &write.file.path);
        let beside: HashSet<&VaultPath> = self.removes.iter().filter_map(|remove| remove.beside.as_ref()).collect();
        let written: HashSet<&VaultPath> = paths.filter(|path| beside.contains(path)).collect();
        let fits = |remove: &Remove| {
            let version = newest(documents, &remove.path).map(|head| head.sha256);
            remove.beside.as_ref().is_none_or(|beside| written.contains(beside))
                && decide(remove.ancestor, None, version) == Action::Push
        };
        self.removes.iter().enumerate().filter(|(_, remove)| fits(remove)).map(|(index, _)| index).collect()
    }

    /// Segments of the chosen writes; reused from the last attempt if it chose the same.
    async fn build(
        &self,
        chosen: &Arc<Vec<Chosen>>,
    ) -> Result<(Vec<NewSegment>, Arc<Vec<Result<WrittenDocument, Reason>>>), SyncError> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(last) = last.filter(|last| last.chosen == *chosen) {
            return Ok((last.segments.clone(), last.results.clone()));
        }
        let (folder, writes, progress) = (self.folder.clone(), self.writes.clone(), self.progress.clone());
        let (chosen, code, full_bytes) = (chosen.clone(), self.code.clone(), self.full_bytes);
        let mut lane = Lane::new(self.uploads.clone());
        let (lane, indexed) = blocking(move || {
            let (writes, chosen, code) = (&writes, &chosen, code.as_deref());
            let indexing = Indexing { folder: &folder, writes, chosen, code, full_bytes, progress: &*progress };
            let indexed = build(&indexing, |full| lane.take(full));
            Ok((lane, indexed))
        })
        .await?;
        // If a segment was not uploaded, its error is the first one.
        let mut segments = lane.end().await?;
        let (last, results) = indexed?;
        segments.extend(last);
        Ok((segments, Arc::new(results)))
    }

    fn derived(&self, attempt: &SyncAttempt, documents: &HeadDocuments, mut totals: Totals) -> Option<Derived> {
        let mut changes = Changes::default();
        let mut deleted: BTreeMap<SegmentId, Vec<u32>> = BTreeMap::new();
        let mut take_out = |path: &str, totals: &mut Totals| {
            let old = documents.get(path).map_or(&[][..], Vec::as_slice);
            for document in old {
                deleted.entry(document.segment).or_default().push(document.document);
            }
            if let Some(document) = old.first() {
                totals.remove(document.kind, document.bytes);
            }
            !old.is_empty()
        };
        for (index, written) in attempt.written() {
            let (Ok(WrittenDocument { known, equal: false }), Some(write)) = (written, self.writes.get(index)) else {
                continue;
            };
            match take_out(write.file.path.as_str(), &mut totals) {
                true => changes.changed += 1,
                false => changes.added += 1,
            }
            totals.add(known.kind, known.stamp.size);
        }
        for index in &attempt.removed {
            let Some(remove) = self.removes.get(*index) else {
                continue;
            };
            take_out(&remove.path, &mut totals);
            changes.removed += 1;
        }
        if changes == Changes::default() {
            return None;
        }
        let deleted = deleted.into_iter().collect();
        Some(Derived { segments: attempt.segments.clone(), deleted, changes, totals, ..Derived::default() })
    }
}

fn newest<'a>(documents: &'a HeadDocuments, path: &str) -> Option<&'a HeadDocument> {
    documents.get(path)?.first()
}
