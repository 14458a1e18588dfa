//! A caller's view of a vault: a snapshot without the documents that the caller may not read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use atlas_access::acl::{Reader, Reading};
use atlas_access::{Acl, Scopes};
use atlas_mirror::Snapshot;

use crate::read::by_segment::BySegment;

/// A snapshot as a caller sees it.
#[derive(Clone)]
pub struct View {
    snapshot: Arc<Snapshot>,
    /// [`None`] for a caller who sees everything.
    sight: Option<Arc<Sight>>,
}

/// The documents that a caller may read.
struct Sight {
    acl: Arc<Acl>,
    reader: Reader,
    /// For each segment of the snapshot and each of its documents: who may read it, cached.
    readings: Vec<Arc<[AtomicU16]>>,
}

impl View {
    /// A view of the whole snapshot.
    pub const fn whole(snapshot: Arc<Snapshot>) -> Self {
        Self { snapshot, sight: None }
    }

    /// The snapshot, including documents that the caller may not read: for paths that were checked.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The same view of a snapshot with other limits or counters.
    pub fn over(&self, snapshot: Arc<Snapshot>) -> Self {
        Self { snapshot, sight: self.sight.clone() }
    }

    /// The snapshot's generation.
    pub fn generation(&self) -> u64 {
        self.snapshot.generation()
    }

    /// Whether nothing of the snapshot is hidden.
    pub const fn is_whole(&self) -> bool {
        self.sight.is_none()
    }

    /// Whether a document is live, and the caller may read its `path`.
    pub fn shows<P: AsRef<str>>(&self, segment: usize, document: u32, path: impl FnOnce() -> Option<P>) -> bool {
        if !self.snapshot.is_live(segment, document) {
            return false;
        }
        let Some(sight) = &self.sight else { return true };
        let kept = sight.readings.get(segment).and_then(|readings| readings.get(document as usize));
        let known = kept.and_then(|kept| Reading::from_number(kept.load(Ordering::Relaxed)));
        if sight.reader.is_narrowed() {
            let Some(path) = path() else { return false };
            let reading = known.unwrap_or_else(|| sight.acl.reading(path.as_ref()));
            return sight.reader.may_read(reading) && sight.reader.is_within(path.as_ref());
        }
        let reading = known.or_else(|| {
            let reading = sight.acl.reading(path()?.as_ref());
            if let Some(kept) = kept {
                kept.store(reading.to_number(), Ordering::Relaxed);
            }
            Some(reading)
        });
        // A document without a readable path is hidden.
        reading.is_some_and(|reading| sight.reader.may_read(reading))
    }
}

/// The readers of a vault's documents, cached. This depends only on their paths and the access list, not on the
/// caller.
pub struct Readings {
    acl: Arc<Acl>,
    segments: BySegment<[AtomicU16]>,
}

impl Readings {
    /// An empty cache.
    pub fn new(acl: Arc<Acl>) -> Self {
        Self { acl, segments: BySegment::default() }
    }

    /// Drops what is known of documents.
    pub(crate) fn clear(&self) {
        self.segments.clear();
    }

    /// The access list.
    pub const fn acl(&self) -> &Arc<Acl> {
        &self.acl
    }

    /// `snapshot` as a caller with these scopes sees it.
    pub fn view(&self, snapshot: Arc<Snapshot>, caller: &Scopes) -> View {
        let Some(reader) = self.acl.reader(caller) else { return View::whole(snapshot) };
        let readings = snapshot.segments().iter().map(|entry| {
            let unknown = || (0..entry.layout.documents).map(|_| AtomicU16::new(0)).collect();
            self.segments.get(entry).unwrap_or_else(|| self.segments.keep(&snapshot, entry, unknown()))
        });
        let readings = readings.collect();
        View { snapshot, sight: Some(Arc::new(Sight { acl: self.acl.clone(), reader, readings })) }
    }
}
