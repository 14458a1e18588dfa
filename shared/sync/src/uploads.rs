//! Finishes full segments and uploads them while the next one is filled. At most one is being finished and one uploaded
//! at a time, so few are in memory, however large the vault is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use atlas_mirror::{Hash, Mirror, NewSegment, SegmentObject, UploadedSegment};
use atlas_segment::{Builder, Built};
use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::attachments::Parent;
use crate::blocking::blocking;
use crate::error::SyncError;

/// Uploads the full segments of a commit.
#[derive(Debug)]
pub(crate) struct Uploads {
    mirror: Mirror,
    parent: Parent,
    /// Those of earlier attempts of the commit, by the hash of their content.
    done: Mutex<HashMap<Hash, UploadedSegment>>,
}

impl Uploads {
    pub(crate) fn new(mirror: Mirror, parent: Parent) -> Self {
        Self { mirror, parent, done: Mutex::default() }
    }

    async fn upload(&self, sha256: Hash, built: Built) -> Result<NewSegment, SyncError> {
        let done = || self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = Bytes::from(built.bytes);
        let mut known = done().get(&sha256).copied();
        if let (None, Some(began)) = (known, self.parent.uploads) {
            known = self.mirror.left_segment(self.parent.manifest, sha256, bytes.len() as u64, began).await?;
        }
        let uploaded = match known {
            Some(known) => known,
            None => self.mirror.put_segment(self.parent.manifest, sha256, &bytes).await?,
        };
        done().insert(sha256, uploaded);
        Ok(NewSegment::new(SegmentObject::Uploaded(uploaded), built.layout))
    }
}

/// The full segments of one attempt.
pub(crate) struct Lane {
    uploads: Arc<Uploads>,
    runtime: Handle,
    /// Answered when the upload of the last segment begins.
    is_sent: Option<oneshot::Receiver<()>>,
    /// The upload of the last segment. Its result is all segments so far.
    last: Option<JoinHandle<Result<Vec<NewSegment>, SyncError>>>,
}

impl Lane {
    /// An empty lane; to be made on an async thread.
    pub(crate) fn new(uploads: Arc<Uploads>) -> Self {
        Self { uploads, runtime: Handle::current(), is_sent: None, last: None }
    }

    /// Takes the next full segment, once the upload of the one before begins. Not to be called on an async thread.
    ///
    /// # Errors When one before could not be finished or uploaded; [`end`](Self::end) has the reason.
    pub(crate) fn take(&mut self, full: Builder) -> Result<(), SyncError> {
        if let Some(is_sent) = self.is_sent.take() {
            is_sent.blocking_recv().map_err(|_| SyncError::Broken("a segment was not uploaded".to_owned()))?;
        }
        let (sent, is_sent) = oneshot::channel();
        let (uploads, before) = (self.uploads.clone(), self.last.take());
        let work = async move {
            let finish = move || {
                let built = full.finish()?;
                Ok(built.map(|built| (Hash::of(&built.bytes), built)))
            };
            let finished = blocking(finish).await;
            let mut segments = all(before).await?;
            let finished = finished?;
            // An error means that nobody waits any more.
            let _ = sent.send(());
            if let Some((sha256, built)) = finished {
                segments.push(uploads.upload(sha256, built).await?);
            }
            Ok(segments)
        };
        self.last = Some(self.runtime.spawn(work));
        self.is_sent = Some(is_sent);
        Ok(())
    }

    /// The uploaded segments, in the order in which they were taken.
    pub(crate) async fn end(self) -> Result<Vec<NewSegment>, SyncError> {
        all(self.last).await
    }
}

async fn all(last: Option<JoinHandle<Result<Vec<NewSegment>, SyncError>>>) -> Result<Vec<NewSegment>, SyncError> {
    match last {
        Some(last) => last.await.map_err(|error| SyncError::Broken(error.to_string()))?,
        None => Ok(Vec::new()),
    }
}
