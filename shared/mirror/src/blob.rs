//! Attachments: bytes under the hash of their content and the nonce of their upload.

use std::fmt::Display;
use std::pin::pin;

use bytes::{Bytes, BytesMut};
use futures::stream::{self, BoxStream, Stream, StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, WriteMultipart};
use sha2::Digest as _;
use tokio::time::timeout;

use crate::error::MirrorError;
use crate::id::{Hash, Id};
use crate::keys::BlobKey;
use crate::mirror::Mirror;
use crate::store::Failure;

/// A body up to this many bytes is one request; a longer one is uploaded in parts of as many.
const PART: usize = 8 << 20;
/// Parts under way at once.
const PARALLEL_PARTS: usize = 4;

impl Mirror {
    /// Uploads an attachment, whose content must have the hash `sha256`, under a fresh key.
    ///
    /// # Errors
    /// [`MirrorError::Conflict`] when `body` fails or is not what the hash says: the file changed while it was read.
    /// [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`]. Nothing is left behind that anything refers to.
    pub async fn put_blob<E: Display>(
        &self,
        sha256: Hash,
        body: impl Stream<Item = Result<Bytes, E>>,
    ) -> Result<BlobKey, MirrorError> {
        let key = BlobKey { sha256, nonce: Id::random()? };
        let path = self.shared.keys.blob(&key);
        let mut body = pin!(body);
        let mut hasher = sha2::Sha256::new();
        let mut buffer = BytesMut::new();
        let mut parts = None;
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(|error| MirrorError::conflict(format!("an attachment cannot be read: {error}")));
            let chunk = abort_on_error(&mut parts, chunk).await?;
            hasher.update(&chunk);
            buffer.extend_from_slice(&chunk);
            if buffer.len() >= PART {
                let upload = match &mut parts {
                    Some(upload) => upload,
                    None => parts.insert(self.begin_parts(&path).await?),
                };
                upload.put(buffer.split().freeze());
                let room = upload.wait_for_capacity(PARALLEL_PARTS).await.map_err(|error| unwritten(error, &path));
                abort_on_error(&mut parts, room).await?;
            }
        }
        let found = Hash::from_bytes(hasher.finalize().into());
        let same = if found == sha256 {
            Ok(())
        } else {
            Err(MirrorError::conflict("an attachment changed while it was read"))
        };
        abort_on_error(&mut parts, same).await?;
        match parts {
            None => self.store.put(&path, &buffer.freeze()).await?,
            Some(mut upload) => {
                upload.put(buffer.freeze());
                upload.finish().await.map_err(|error| unwritten(error, &path))?;
            }
        }
        Ok(key)
    }

    /// An attachment's bytes, in pieces. The last piece is followed by an error if together they are not what
    /// the key's hash says.
    ///
    /// # Errors
    /// [`MirrorError::Damaged`] when there is no such object; [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn get_blob(&self, key: &BlobKey) -> Result<BoxStream<'static, Result<Bytes, MirrorError>>, MirrorError> {
        let path = self.shared.keys.blob(key);
        let unread = |error: object_store::Error, path: &Path| match error.into() {
            Failure::NotFound(_) => MirrorError::damaged(path, "it is missing"),
            failure => failure.into_error("read", path),
        };
        let time = self.store.time_to_read(PART as u64);
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

    async fn begin_parts(&self, path: &Path) -> Result<WriteMultipart, MirrorError> {
        let upload = self.store.inner().put_multipart(path).await.map_err(|error| unwritten(error, path))?;
        Ok(WriteMultipart::new_with_chunk_size(upload, PART))
    }
}

fn unwritten(error: object_store::Error, path: &Path) -> MirrorError {
    Failure::from(error).into_error("write", path)
}

/// Takes back the parts that were uploaded when `result` is an error.
async fn abort_on_error<T>(
    parts: &mut Option<WriteMultipart>,
    result: Result<T, MirrorError>,
) -> Result<T, MirrorError> {
    if result.is_err()
        && let Some(parts) = parts.take()
        && let Err(error) = parts.abort().await
    {
        tracing::warn!(%error, "the parts of an upload that failed were not taken back");
    }
    result
}
