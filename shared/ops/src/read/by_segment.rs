//! A cache of values that are computed once for each segment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atlas_mirror::manifest::SegmentEntry;
use atlas_mirror::{SegmentId, Snapshot};

/// Most cached segments besides those of the newest snapshot.
const MAX_OLD_SEGMENTS: usize = 16;

/// A value for each segment, once it is computed. A segment never changes, so neither does its value.
pub(crate) struct BySegment<T: ?Sized>(Mutex<HashMap<SegmentId, Arc<T>>>);

impl<T: ?Sized> Default for BySegment<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: ?Sized> BySegment<T> {
    /// The value of a segment, if it is cached.
    pub(crate) fn get(&self, segment: &SegmentEntry) -> Option<Arc<T>> {
        self.kept().get(&segment.id).cloned()
    }

    /// Caches the value of a segment of `snapshot`, unless there is one already. Returns the cached one.
    pub(crate) fn keep(&self, snapshot: &Snapshot, segment: &SegmentEntry, made: Arc<T>) -> Arc<T> {
        let mut kept = self.kept();
        let segments = snapshot.segments();
        if kept.len() > segments.len() + MAX_OLD_SEGMENTS {
            kept.retain(|id, _| segments.iter().any(|entry| entry.id == *id));
        }
        kept.entry(segment.id).or_insert(made).clone()
    }

    /// Drops all of them.
    pub(crate) fn clear(&self) {
        self.kept().clear();
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<SegmentId, Arc<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
