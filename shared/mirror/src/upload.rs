//! Segments that are uploaded before the commit that adds them, so that they need not stay in memory until then.
//!
//! The key is derived from the content and the manifest that the commit extends, as that of an attachment is: so the
//! next try of an interrupted commit finds what was uploaded for it. Until a manifest refers to it, the segment is
//! garbage, which a collection spares while it is young.

use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use tokio::time::Instant;

use crate::error::MirrorError;
use crate::failure::Failure;
use crate::id::{Hash, Id, SegmentId};
use crate::mirror::Mirror;

/// The greatest age of an upload that is taken over, and the time for which a commit may refer to it then: together
/// with the longest commit less than the time for which garbage collection spares it.
const YOUNG: Duration = Duration::from_secs(10 * 3600);

/// A segment that this process uploaded, or took over, for a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UploadedSegment {
    id: SegmentId,
    bytes: u64,
    at: Instant,
}

impl UploadedSegment {
    /// Its size in bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its name, for another process that commits it: see [`Mirror::uploaded_segment`].
    pub const fn segment(&self) -> SegmentId {
        self.id
    }

    /// Its id, for a commit at once.
    ///
    /// # Errors [`MirrorError::TooLate`] when garbage collection may soon delete it.
    pub(crate) fn id(&self) -> Result<SegmentId, MirrorError> {
        if self.at.elapsed() < YOUNG { Ok(self.id) } else { Err(MirrorError::TooLate) }
    }
}

impl Mirror {
    /// Uploads the segment `bytes`, whose hash is `sha256`, for a commit on the manifest with the hash `parent`.
    ///
    /// # Errors [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn put_segment(
        &self,
        parent: Option<Hash>,
        sha256: Hash,
        bytes: &Bytes,
    ) -> Result<UploadedSegment, MirrorError> {
        let at = Instant::now();
        let derived = derived(parent, sha256);
        let key = self.shared.keys.segment(derived);
        let id = match self.store.create(&key, bytes).await {
            Ok(()) => derived,
            Err(failure @ (Failure::Refused(_) | Failure::NotFound(_))) => {
                return Err(failure.into_error("write", &key));
            }
            // Garbage collection may be about to delete what has the key, or the answer was lost.
            Err(_) => {
                let id = Id::random()?;
                self.store.put_new(&self.shared.keys.segment(id), bytes).await?;
                id
            }
        };
        Ok(UploadedSegment { id, bytes: bytes.len() as u64, at })
    }

    /// The segment of `bytes` bytes that [`put_segment`](Self::put_segment) uploaded for a commit on `parent` that was
    /// not made, if it was written within ten hours of `now`.
    ///
    /// # Errors [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn left_segment(
        &self,
        parent: Option<Hash>,
        sha256: Hash,
        bytes: u64,
        now: Timestamp,
    ) -> Result<Option<UploadedSegment>, MirrorError> {
        self.uploaded_segment(derived(parent, sha256), bytes, now).await
    }

    /// The segment `id` of `bytes` bytes that another process uploaded for a commit of this one, if it was written within ten hours of
    /// `now`.
    ///
    /// # Errors [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn uploaded_segment(
        &self,
        id: SegmentId,
        bytes: u64,
        now: Timestamp,
    ) -> Result<Option<UploadedSegment>, MirrorError> {
        let at = Instant::now();
        let Some(found) = self.store.look(&self.shared.keys.segment(id)).await? else { return Ok(None) };
        let is_young = now.duration_since(found.written).unsigned_abs() < YOUNG;
        Ok(Some(UploadedSegment { id, bytes, at }).filter(|_| found.bytes == bytes && is_young))
    }
}

/// The id of a segment that is uploaded for a commit on `parent`.
fn derived(parent: Option<Hash>, sha256: Hash) -> SegmentId {
    let parent = parent.map_or([0; 32], |parent| *parent.as_bytes());
    Id::derived(&[parent, *sha256.as_bytes()])
}
