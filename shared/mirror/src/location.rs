//! Stores by URL: `file:///a/folder`, `memory://`, `s3://bucket/prefix`.

use std::collections::BTreeMap;
use std::fmt;
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

/// What to write, said wherever a URL is none of these.
const FORMS: &str = "write file:///a/folder, s3://bucket/prefix or memory://";

/// The environment variables that say how to reach an S3 store: those whose names begin with `AWS_`.
/// Collected from all variables of a process. An empty one counts as unset, and values are never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// The value of the variable `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

impl Extend<(String, String)> for Variables {
    fn extend<I: IntoIterator<Item = (String, String)>>(&mut self, variables: I) {
        let wanted = |(name, value): &(String, String)| name.starts_with("AWS_") && !value.is_empty();
        self.0.extend(variables.into_iter().filter(wanted));
    }
}

impl FromIterator<(String, String)> for Variables {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        let mut wanted = Self::default();
        wanted.extend(variables);
        wanted
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Opens the store that `url` names. Nothing is asked of a remote one yet; a folder is made if it is not there.
///
/// - `file:///a/folder`: a folder of this machine; `file://a/folder` is one below the working folder.
/// - `memory://`: the memory of this process, empty at first.
/// - `s3://bucket/prefix`: everything below `prefix`, which may be left out, in a bucket of S3 or of what speaks
///   its protocol, reached as `variables` say (see `shared/web/README.md`).
///
/// What cannot stand in a URL is percent-encoded.
///
/// # Errors
/// [`MirrorError::StoreRefused`] when the URL is none of these, the folder can be neither found nor made, or a variable
/// cannot be used.
pub fn open(url: &str, variables: &Variables) -> Result<Store, MirrorError> {
    let opened = match url.split_once("://") {
        Some(("file", path)) if !path.is_empty() => folder(path),
        Some(("memory", "")) => store(Arc::new(InMemory::new()), "", url),
        Some(("s3", place)) if !place.is_empty() => in_bucket(place, url, variables),
        _ => Err(format!("{:?} is not the URL of a store: {FORMS}", masked(url))),
    };
    opened.map_err(refused)
}

/// The bucket that `url` names, if it names one: for what cannot be done through the store.
///
/// # Errors
/// [`MirrorError::StoreRefused`] when its name or a variable cannot be used.
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
    store(Arc::new(folder.with_fsync(true)), "", &name)
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

    #[test]
    fn variables_keep_what_stores_need_and_show_no_value() {
        let all = [("AWS_REGION", "eu-west-1"), ("AWS_SESSION_TOKEN", ""), ("PATH", "/bin")];
        let all = all.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let variables: Variables = all.into_iter().collect();
        assert_eq!(variables.get("AWS_REGION"), Some("eu-west-1"));
        assert_eq!((variables.get("AWS_SESSION_TOKEN"), variables.get("PATH")), (None, None));
        assert_eq!(format!("{variables:?}"), "{\"AWS_REGION\"}");
    }
}
