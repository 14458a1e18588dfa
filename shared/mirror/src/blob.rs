//! Attachments: bytes whose key is the hash of their content and the nonce of the generation that they are uploaded
//! for.

use std::fmt::Display;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::stream::{self, BoxStream, Stream, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use object_store::client::HttpErrorKind;
use object_store::path::Path;
use object_store::retry::{RetryContext, RetryFailure, RetryPolicy};
use object_store::{ObjectStoreExt as _, PutMultipartOptions, WriteMultipart};
use sha2::Digest as _;
use tokio::time::timeout;

use crate::error::MirrorError;
use crate::failure::Failure;
use crate::id::{Hash, Id};
use crate::keys::BlobKey;
use crate::mirror::Mirror;
use crate::store::jittered;

/// The size of a part in bytes. A body up to this size is one request; a longer one is uploaded in parts of this size.
const PART: usize = 8 << 20;
/// Parts uploaded at once.
const PARALLEL_PARTS: usize = 4;
/// Most tries of a part, and the wait before the second.
const PART_TRIES: usize = 3;
const PART_WAIT: Duration = Duration::from_millis(200);

/// The greatest age of an upload that a commit may use: less than the time for which garbage collection spares it.
const YOUNG: Duration = Duration::from_secs(12 * 3600);

impl Mirror {
    /// Uploads an attachment, whose content must have the hash `sha256`, for a commit on the manifest with the hash
    /// `parent`.
    ///
    /// The key is derived from the content and `parent`, so that publishing a folder twice gives equal segments. If an
    /// upload that was never committed has that key, a fresh key is used, since garbage collection may be about to
    /// delete the old upload.
    ///
    /// # Errors [`MirrorError::Conflict`] when `body` fails or does not have the hash: the file changed while it was
    /// read. [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`]. After an error, nothing refers to the
    /// uploaded bytes.
    pub async fn put_blob<E: Display>(
        &self,
        parent: Option<Hash>,
        sha256: Hash,
        body: impl Stream<Item = Result<Bytes, E>>,
    ) -> Result<BlobKey, MirrorError> {
        let key = derived(parent, sha256);
        let mut parts = None;
        match (self.send_parts(&key, body, &mut parts).await, parts) {
            (Ok(whole), None) => self.create_blob(key, &whole).await,
            (Ok(rest), Some(Parts { key, path, mut upload })) => {
                self.store.count_sent(rest.len() as u64);
                upload.put(rest);
                self.in_time(&path, upload.finish()).await?;
                Ok(key)
            }
            (Err(error), None) => Err(error),
            (Err(error), Some(Parts { path, upload, .. })) => {
                if let Err(error) = self.in_time(&path, upload.abort()).await {
                    tracing::warn!(%error, "the parts of a failed upload could not be deleted");
                }
                Err(error)
            }
        }
    }

    /// The upload by [`put_blob`](Self::put_blob) for a commit on `parent` that was not made. It is returned only if it
    /// has `bytes` bytes and was written within half a day of `now`, since garbage collection spares it for longer.
    pub async fn left_blob(&self, parent: Option<Hash>, sha256: Hash, bytes: u64, now: Timestamp) -> Option<BlobKey> {
        let key = derived(parent, sha256);
        let path = self.shared.keys.blob(&key);
        let found = self.in_time(&path, self.store.inner().head(&path)).await.ok()?;
        let age = now.as_millisecond().abs_diff(found.last_modified.timestamp_millis());
        (found.size == bytes && age < YOUNG.as_millis().try_into().ok()?).then_some(key)
    }

    /// Writes a blob under `key`, or under a fresh key if that one exists or may exist.
    async fn create_blob(&self, key: BlobKey, bytes: &Bytes) -> Result<BlobKey, MirrorError> {
        match self.store.create(&self.shared.keys.blob(&key), bytes).await {
            Ok(()) => Ok(key),
            Err(failure @ (Failure::Refused(_) | Failure::NotFound(_))) => {
                Err(failure.into_error("write", &self.shared.keys.blob(&key)))
            }
            Err(_) => {
                let key = BlobKey { nonce: Id::random()?, ..key };
                self.store.put_new(&self.shared.keys.blob(&key), bytes).await?;
                Ok(key)
            }
        }
    }

    /// Begins an upload in parts under `key`, or under a fresh key if that one exists.
    async fn begin_parts(&self, key: &BlobKey) -> Result<Parts, MirrorError> {
        let is_taken = self.store.size(&self.shared.keys.blob(key)).await?.is_some();
        let key = if is_taken { BlobKey { nonce: Id::random()?, ..*key } } else { *key };
        let path = self.shared.keys.blob(&key);
        let upload = self.in_time(&path, self.store.inner().put_multipart_opts(&path, with_retries())).await?;
        Ok(Parts { key, path, upload: WriteMultipart::new_with_chunk_size(upload, PART) })
    }

    /// Uploads all of `body` except its last part, which is returned after the hash of the whole was checked.
    async fn send_parts<E: Display>(
        &self,
        key: &BlobKey,
        body: impl Stream<Item = Result<Bytes, E>>,
        parts: &mut Option<Parts>,
    ) -> Result<Bytes, MirrorError> {
        let mut body = pin!(body);
        let mut hasher = sha2::Sha256::new();
        let mut buffer = BytesMut::new();
        while let Some(chunk) = body.next().await {
            let chunk =
                chunk.map_err(|error| MirrorError::conflict(format!("an attachment cannot be read: {error}")))?;
            hasher.update(&chunk);
            buffer.extend_from_slice(&chunk);
            if buffer.len() >= PART {
                let Parts { path, upload, .. } = match parts {
                    Some(parts) => parts,
                    None => parts.insert(self.begin_parts(key).await?),
                };
                self.store.count_sent(buffer.len() as u64);
                upload.put(buffer.split().freeze());
                self.in_time(path, upload.wait_for_capacity(PARALLEL_PARTS)).await?;
            }
        }
        if Hash::from_bytes(hasher.finalize().into()) == key.sha256 {
            Ok(buffer.freeze())
        } else {
            Err(MirrorError::conflict("an attachment changed while it was read"))
        }
    }

    /// Runs a step of an upload in parts, with a time limit that allows for all parallel parts.
    async fn in_time<T>(
        &self,
        path: &Path,
        step: impl Future<Output = Result<T, object_store::Error>>,
    ) -> Result<T, MirrorError> {
        let time = self.store.time_for((PARALLEL_PARTS * PART) as u64);
        let unanswered = |_| MirrorError::unavailable(format!("no answer within {} ms", time.as_millis()));
        let result = timeout(time, step).await.map_err(unanswered)?;
        result.map_err(|error| Failure::from(error).into_error("write", path))
    }

    /// An attachment's bytes, in pieces. The last piece is followed by an error if the content does not have the hash
    /// in its key.
    ///
    /// # Errors [`MirrorError::Damaged`] when there is no such object; [`MirrorError::Unavailable`],
    /// [`MirrorError::StoreRefused`].
    pub async fn get_blob(&self, key: &BlobKey) -> Result<BoxStream<'static, Result<Bytes, MirrorError>>, MirrorError> {
        let path = self.shared.keys.blob(key);
        let unread = |error: object_store::Error, path: &Path| match error.into() {
            Failure::NotFound(_) => MirrorError::damaged(path, "it is missing"),
            failure => failure.into_error("read", path),
        };
        let time = self.store.time_for(0);
        let unanswered = move || MirrorError::unavailable(format!("no answer within {} ms", time.as_millis()));
        let found = timeout(time, self.store.inner().get(&path)).await.map_err(|_| unanswered())?;
        let body = found.map_err(|error| unread(error, &path))?.into_stream();
        let state = (body, sha2::Sha256::new(), key.sha256, path);
        let checked = stream::try_unfold(state, move |(mut body, mut hasher, sha256, path)| async move {
            match timeout(time, body.try_next())
                .await
                .map_err(|_| unanswered())?
                .map_err(|error| unread(error, &path))?
            {
                Some(chunk) => {
                    hasher.update(&chunk);
                    Ok(Some((chunk, (body, hasher, sha256, path))))
                }
                None if Hash::from_bytes(hasher.finalize().into()) == sha256 => Ok(None),
                None => Err(MirrorError::damaged(&path, "its content does not have its hash")),
            }
        });
        Ok(checked.boxed())
    }
}

/// The key of an attachment that is uploaded for a commit on `parent`.
fn derived(parent: Option<Hash>, sha256: Hash) -> BlobKey {
    let parent = parent.map_or([0; 32], |parent| *parent.as_bytes());
    BlobKey { sha256, nonce: Id::derived(&[parent, *sha256.as_bytes()]) }
}

/// An upload in parts.
struct Parts {
    key: BlobKey,
    path: Path,
    upload: WriteMultipart,
}

fn with_retries() -> PutMultipartOptions {
    PutMultipartOptions::default().with_retry_policy(Arc::new(PartRetries))
}

/// Retries a part after a temporary failure: the same bytes under the same number.
#[derive(Debug)]
struct PartRetries;

#[async_trait]
impl RetryPolicy for PartRetries {
    async fn retry(&self, context: RetryContext) -> bool {
        use HttpErrorKind::{Connect, Interrupted, Request, Timeout};
        let passing = matches!(context.failure, RetryFailure::Transport(Connect | Interrupted | Request | Timeout));
        if !passing || context.attempt >= PART_TRIES {
            return false;
        }
        tokio::time::sleep(jittered(PART_WAIT)).await;
        true
    }
}
