//! URLs to attachments' bytes, so that whoever reads or uploads them needs no keys of the store.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use object_store::signer::{HeaderName, HeaderValue, Method, SignedUrlOptions};

use crate::collect::UPLOAD_TIME;
use crate::commit::LONGEST_DEADLINE;
use crate::error::MirrorError;
use crate::failure::Failure;
use crate::keys::BlobKey;
use crate::mirror::Mirror;

/// How far from now an upload may have been written for a commit to take it up.
const FRESH: Duration = Duration::from_secs(3600);
// Garbage collection leaves it until the commit is done, though the clocks of this machine and the store be hours apart.
const _: () = assert!(FRESH.as_secs() + LONGEST_DEADLINE.as_secs() <= UPLOAD_TIME.as_secs() / 4);

/// A PUT that uploads an attachment's bytes.
#[derive(Clone, Debug)]
pub struct UploadRequest {
    /// Where to.
    pub url: String,
    /// The headers that it must have besides those that every such request has: their names, in lower case, and values.
    pub headers: Vec<(&'static str, String)>,
}

/// What has become of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uploaded {
    /// There is nothing.
    Missing,
    /// It was written too long ago: garbage collection may be about to delete it.
    Stale,
    /// So many bytes are there. Whether they are what the key's hash says is not known.
    Fresh(u64),
}

impl Mirror {
    /// A URL from which anyone can read an attachment's bytes for as long as `time`, or until the credentials of this process end;
    /// [`None`] if the store makes none, as folders do not. Whether there is such an object is not asked.
    ///
    /// # Errors
    /// [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`] when there are no credentials to sign it with.
    pub async fn url_to_read(&self, key: &BlobKey, time: Duration) -> Result<Option<String>, MirrorError> {
        self.sign(Method::GET, key, time, &SignedUrlOptions::new()).await
    }

    /// A request by which anyone can upload the bytes of `key`, which must be a fresh one, for as long as `time`, or until the credentials of this
    /// process end; [`None`] if the store takes none. The store is asked to take no other bytes, and none where there are some already;
    /// [`uploaded`](Self::uploaded) and [`get_blob`](Self::get_blob) tell what it has taken.
    ///
    /// # Errors
    /// As [`url_to_read`](Self::url_to_read).
    pub async fn url_to_upload(&self, key: &BlobKey, time: Duration) -> Result<Option<UploadRequest>, MirrorError> {
        let headers =
            vec![("if-none-match", "*".to_owned()), ("x-amz-checksum-sha256", BASE64.encode(key.sha256.as_bytes()))];
        let mut options = SignedUrlOptions::new();
        for (name, value) in &headers {
            let value = HeaderValue::from_str(value).map_err(|error| MirrorError::conflict(error.to_string()))?;
            options = options.with_signed_header(HeaderName::from_static(name), value);
        }
        let url = self.sign(Method::PUT, key, time, &options).await?;
        Ok(url.map(|url| UploadRequest { url, headers }))
    }

    async fn sign(
        &self,
        method: Method,
        key: &BlobKey,
        time: Duration,
        options: &SignedUrlOptions,
    ) -> Result<Option<String>, MirrorError> {
        let Some(signer) = self.store.signer() else { return Ok(None) };
        let action = if method == Method::GET { "read" } else { "write" };
        let path = self.shared.keys.blob(key);
        let signed = signer.signed_url_opts(method, &path, time, options).await;
        signed.map(|url| Some(url.into())).map_err(|error| Failure::from(error).into_error(action, &path))
    }

    /// What has become, until `now`, of the upload of `key`, which no generation refers to yet.
    ///
    /// # Errors
    /// [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn uploaded(&self, key: &BlobKey, now: Timestamp) -> Result<Uploaded, MirrorError> {
        let Some(object) = self.store.look(&self.shared.keys.blob(key)).await? else { return Ok(Uploaded::Missing) };
        let is_fresh = now.duration_since(object.written).unsigned_abs() <= FRESH;
        Ok(if is_fresh { Uploaded::Fresh(object.bytes) } else { Uploaded::Stale })
    }
}
