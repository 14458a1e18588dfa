//! URLs to attachments' bytes, so that whoever reads them needs no keys of the store.

use std::time::Duration;

use object_store::signer::Method;

use crate::error::MirrorError;
use crate::failure::Failure;
use crate::keys::BlobKey;
use crate::mirror::Mirror;

impl Mirror {
    /// A URL from which anyone can read an attachment's bytes for as long as `time`, or until the credentials of this process end;
    /// [`None`] if the store makes none, as folders do not. Whether there is such an object is not asked.
    ///
    /// # Errors
    /// [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`] when there are no credentials to sign it with.
    pub async fn url_to_read(&self, key: &BlobKey, time: Duration) -> Result<Option<String>, MirrorError> {
        let Some(signer) = self.store.signer() else { return Ok(None) };
        let path = self.shared.keys.blob(key);
        let signed = signer.signed_url(Method::GET, &path, time).await;
        signed.map(|url| Some(url.into())).map_err(|error| Failure::from(error).into_error("read", &path))
    }
}
