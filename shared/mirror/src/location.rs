//! Stores by URL: `file:///a/folder`, `memory://`, `s3://bucket/prefix`.

use std::path::Path;
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use percent_encoding::percent_decode_str;

use crate::error::MirrorError;
use crate::s3;
pub use crate::s3::Bucket;
use crate::secrets::masked;
use crate::store::{Store, StoreOptions};
pub use crate::variables::Variables;

/// The known kinds of URL, for errors.
const FORMS: &str = "write file:///a/folder, s3://bucket/prefix or memory://";

/// Opens the store at `url`. No request is made to a remote store; a missing folder is created.
///
/// - `file:///a/folder`: a folder of this machine; `file://a/folder` is relative to the working folder.
/// - `memory://`: the memory of this process, empty at first.
/// - `s3://bucket/prefix`: everything below `prefix`, which is optional, in a bucket of S3 or a compatible store.
///   `variables` configure the connection (see `shared/web/README.md`).
///
/// Characters that a URL cannot contain are percent-encoded.
///
/// # Errors [`MirrorError::StoreRefused`] when the URL is none of these, the folder can be neither opened nor created,
/// or a variable is invalid.
pub fn open(url: &str, variables: &Variables) -> Result<Store, MirrorError> {
    let opened = match url.split_once("://") {
        Some(("file", path)) if !path.is_empty() => folder(path),
        Some(("memory", "")) => store(Arc::new(InMemory::new()), "", url),
        Some(("s3", place)) if !place.is_empty() => in_bucket(place, url, variables),
        _ => Err(format!("{:?} is not the URL of a store: {FORMS}", masked(url))),
    };
    opened.map_err(refused)
}

/// The bucket of `url`, if it is an S3 URL: for requests that the store cannot make.
///
/// # Errors [`MirrorError::StoreRefused`] when its name or a variable is invalid.
pub fn bucket(url: &str, variables: &Variables) -> Result<Option<Bucket>, MirrorError> {
    let Some(place) = url.strip_prefix("s3://") else { return Ok(None) };
    let name = place.split('/').next().unwrap_or_default();
    s3::connect(name, variables).map(Some).map_err(refused)
}

fn refused(reason: String) -> MirrorError {
    MirrorError::StoreRefused { action: "open", reason }
}

fn folder(path: &str) -> Result<Store, String> {
    let path = decoded(path)?;
    let name = format!("the folder {path}");
    let path = Path::new(&path);
    std::fs::create_dir_all(path).map_err(|error| format!("{name} cannot be made: {error}"))?;
    let folder = LocalFileSystem::new_with_prefix(path).map_err(|error| format!("{name} cannot be opened: {error}"))?;
    let store = store(Arc::new(folder.clone().with_fsync(true)), "", &name)?;
    Ok(store.with_hasty(Arc::new(folder)))
}

fn in_bucket(place: &str, url: &str, variables: &Variables) -> Result<Store, String> {
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    let prefix = decoded(prefix.strip_suffix('/').unwrap_or(prefix))?;
    let bucket = s3::connect(bucket, variables)?;
    let name = bucket.endpoint.as_ref().map_or_else(|| url.to_owned(), |endpoint| format!("{url} at {endpoint}"));
    let client = Arc::new(bucket.into_client());
    Ok(store(client.clone(), &prefix, &name)?.signed_by(client))
}

fn store(inner: Arc<dyn object_store::ObjectStore>, prefix: &str, name: &str) -> Result<Store, String> {
    let store = Store::new(inner, prefix, StoreOptions::default()).map_err(|error| error.to_string())?;
    Ok(store.named(name))
}

fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Into::into).map_err(|_| format!("{} is not UTF-8 when it is percent-decoded", masked(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_plain(url: &str) -> Result<Store, MirrorError> {
        open(url, &Variables::default())
    }

    #[test]
    fn a_folder_is_made_and_its_name_decoded() {
        let folder = tempfile::tempdir().unwrap();
        open_plain(&format!("file://{}/my%20notes", folder.path().display())).unwrap();
        assert!(folder.path().join("my notes").is_dir());
    }

    #[test]
    fn a_bucket_may_have_a_prefix() {
        for (url, prefix) in
            [("s3://notes", ""), ("s3://notes/", ""), ("s3://notes/team%20a/b", "team a/b"), ("s3://notes/a/", "a")]
        {
            assert_eq!(open_plain(url).unwrap().prefix(), prefix);
        }
        for url in ["s3://notes//a", "s3://notes/../a", "s3://notes/%ff"] {
            assert!(open_plain(url).is_err(), "{url} passed");
        }
    }

    #[test]
    fn what_is_no_store_is_refused_with_what_to_write() {
        for url in ["", "notes", "file://", "memory://x", "ftp://host/x", "s3:bucket", "s3://"] {
            let message = open_plain(url).unwrap_err().to_string();
            assert!(message.contains(FORMS), "{message}");
        }
        let message = open_plain("https://user:hunter2@host/bucket").unwrap_err().to_string();
        assert!(!message.contains("hunter2"), "{message}");
    }
}
