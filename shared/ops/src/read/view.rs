//! What a caller sees of a vault: a snapshot in which what they may not read is not there.

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
    /// None for a caller who sees all of it.
    sight: Option<Arc<Sight>>,
}

/// What a caller may read.
struct Sight {
    acl: Arc<Acl>,
    reader: Reader,
    /// For each segment of the snapshot and each of its documents who may read it, as far as that was asked.
    readings: Vec<Arc<[AtomicU16]>>,
}

impl View {
    /// All of a snapshot.
    pub const fn whole(snapshot: Arc<Snapshot>) -> Self {
        Self { snapshot, sight: None }
    }

    /// The snapshot, with what its caller may not read: for what is at paths that were checked.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The same of a snapshot with other limits, or whose requests are counted apart.
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

    /// Whether a document is live, and the caller may read what is at its `path`.
    pub fn shows<P: AsRef<str>>(&self, segment: usize, document: u32, path: impl FnOnce() -> Option<P>) -> bool {
        if !self.snapshot.is_live(segment, document) {
            return false;
        }
        let Some(sight) = &self.sight else { return true };
        let kept = sight.readings.get(segment).and_then(|readings| readings.get(document as usize));
        let known = kept.and_then(|kept| Reading::from_number(kept.load(Ordering::Relaxed)));
        let reading = known.or_else(|| {
            let reading = sight.acl.reading(path()?.as_ref());
            if let Some(kept) = kept {
                kept.store(reading.to_number(), Ordering::Relaxed);
            }
            Some(reading)
        });
        // What has no path that can be read is not shown.
        reading.is_some_and(|reading| sight.reader.may_read(reading))
    }
}

/// Who may read the documents of a vault, as far as that was asked: it depends on their paths and the access list, on the caller no more.
pub struct Readings {
    acl: Arc<Acl>,
    segments: BySegment<[AtomicU16]>,
}

impl Readings {
    /// Nothing was asked yet.
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
