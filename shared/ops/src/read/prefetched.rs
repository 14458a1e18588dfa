//! Bytes of segments that are fetched before the wanted parts are known, so that these need no further wave.

use std::ops::Range;
use std::sync::Arc;

use atlas_mirror::Snapshot;
use atlas_segment::{Part, PartRef};
use bytes::Bytes;

use crate::error::Error;

/// Prefetched bytes of a segment.
pub struct Prefetched {
    /// The segment.
    pub segment: usize,
    /// Their range in the segment.
    pub range: Range<u64>,
    /// The bytes.
    pub bytes: Bytes,
}

impl Prefetched {
    /// A part of this segment of the snapshot, if its bytes were prefetched.
    pub fn part(&self, snapshot: &Snapshot, part: &PartRef) -> Result<Option<Arc<Part>>, Error> {
        let Some(bytes) = self.cut(part) else { return Ok(None) };
        Ok(Some(snapshot.decode(self.segment, part, &bytes)?))
    }

    fn cut(&self, part: &PartRef) -> Option<Bytes> {
        let start = usize::try_from(part.range.start.checked_sub(self.range.start)?).ok()?;
        let end = usize::try_from(part.range.end.checked_sub(self.range.start)?).ok()?;
        (start <= end && end <= self.bytes.len()).then(|| self.bytes.slice(start..end))
    }
}
