//! The directories of segments' pages: in the manifest as long as they are small together, else in the segments alone.

use std::cmp::Reverse;

use atlas_segment::PartRef;

use crate::error::MirrorError;
use crate::manifest::SegmentEntry;
use crate::snapshot::Snapshot;

/// Leaves the largest directories to their segments until those that remain in the manifest have at most `most` bytes together. Those that
/// were left once stay where they are.
pub(crate) fn leave_out(segments: &mut [SegmentEntry], most: usize) {
    let inline = segments.iter().enumerate().filter(|(_, entry)| !entry.layout.leaves_directories());
    let sizes = inline.filter_map(|(at, entry)| Some((entry.layout.directories().ok()?.bytes_in_json(), at)));
    let mut sizes: Vec<(usize, usize)> = sizes.collect();
    let mut sum: usize = sizes.iter().map(|(bytes, _)| bytes).sum();
    sizes.sort_unstable_by_key(|(bytes, at)| (Reverse(*bytes), *at));
    for (bytes, at) in sizes {
        if sum <= most {
            break;
        }
        if let Some(entry) = segments.get_mut(at) {
            entry.layout.leave_directories();
            sum -= bytes;
        }
    }
}

impl Snapshot {
    /// Reads the directories of the segments that are `wanted`, by index, where only their objects have them, in one wave. A layout without
    /// them does not say where its pages are.
    ///
    /// # Errors As [`load`](Self::load).
    pub async fn open(&self, wanted: impl Fn(usize, &SegmentEntry) -> bool) -> Result<(), MirrorError> {
        let missing = |(segment, entry): (usize, &SegmentEntry)| {
            let part = entry.layout.missing_directories(entry.bytes).filter(|_| wanted(segment, entry));
            part.map(|part| (segment, part))
        };
        let missing: Vec<(usize, PartRef)> = self.segments().iter().enumerate().filter_map(missing).collect();
        if missing.is_empty() {
            return Ok(());
        }
        for ((segment, _), part) in missing.iter().zip(self.load(&missing).await?) {
            let directories = part.directories().map_err(|error| self.fault(*segment, error))?;
            if let Some(entry) = self.segments().get(*segment) {
                entry.layout.give_directories(directories.clone());
            }
        }
        Ok(())
    }

    /// Reads those of all segments.
    ///
    /// # Errors As [`load`](Self::load).
    pub async fn open_all(&self) -> Result<(), MirrorError> {
        self.open(|_, _| true).await
    }

    /// Reads those of the segments that may hold one of `paths`.
    ///
    /// # Errors As [`load`](Self::load).
    pub async fn open_for<P: AsRef<str>>(&self, paths: &[P]) -> Result<(), MirrorError> {
        self.open(|_, entry| paths.iter().any(|path| entry.layout.may_hold(path.as_ref()))).await
    }
}
