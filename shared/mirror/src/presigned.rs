//! URLs to attachments' bytes, so that clients read or upload them without the store's credentials.

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

/// How old, or how far in the future, an upload may be for a commit to use it.
const FRESH: Duration = Duration::from_secs(3600);
// Garbage collection spares it until the commit is done, even if the clocks of this machine and the store differ by
// hours.
const _: () = assert!(FRESH.as_secs() + LONGEST_DEADLINE.as_secs() <= UPLOAD_TIME.as_secs() / 4);

/// A PUT that uploads an attachment's bytes.
#[derive(Clone, Debug)]
pub struct UploadRequest {
    /// The URL.
    pub url: String,
    /// The headers that it must have besides those of every request: names in lower case, and values.
    pub headers: Vec<(&'static str, String)>,
}

/// The state of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uploaded {
    /// There is no object.
    Missing,
    /// It is too old: garbage collection may be about to delete it.
    Stale,
    /// It has this many bytes. Whether they have the key's hash is not checked.
    Fresh(u64),
}

impl Mirror {
    /// A URL from which anyone can read an attachment's bytes for `time`, or until the credentials of this process
    /// expire; [`None`] if the store makes no URLs, such as a folder. Whether the object exists is not checked.
    ///
    /// # Errors [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`] when there are no credentials to sign it
    /// with.
    pub async fn url_to_read(&self, key: &BlobKey, time: Duration) -> Result<Option<String>, MirrorError> {
        self.sign(Method::GET, key, time, &SignedUrlOptions::new()).await
    }

    /// A request with which anyone can upload the bytes of `key`, which must be fresh, for `time`, or until the
    /// credentials of this process expire; [`None`] if the store supports none. The store is told to accept no other
    /// bytes, and to overwrite nothing; check the upload with [`uploaded`](Self::uploaded) and
    /// [`get_blob`](Self::get_blob).
    ///
    /// # Errors As [`url_to_read`](Self::url_to_read).
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

    /// The state at `now` of the upload of `key`, which no generation refers to yet.
    ///
    /// # Errors [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn uploaded(&self, key: &BlobKey, now: Timestamp) -> Result<Uploaded, MirrorError> {
        let Some(object) = self.store.look(&self.shared.keys.blob(key)).await? else { return Ok(Uploaded::Missing) };
        let is_fresh = now.duration_since(object.written).unsigned_abs() <= FRESH;
        Ok(if is_fresh { Uploaded::Fresh(object.bytes) } else { Uploaded::Stale })
    }
}
