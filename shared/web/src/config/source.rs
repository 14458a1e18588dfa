//! Finds and reads a configuration document.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use atlas_mirror::Store;
use bytes::Bytes;
use object_store::path::Path;
use object_store::{GetOptions, ObjectStore as _};
use tokio::io::AsyncReadExt as _;

use crate::config::error::ConfigError;

/// Most bytes of a document.
pub const MAX_BYTES: usize = 256 << 10;
/// The known kinds of source, for errors.
const FORMS: &str = "write the path of a file, store:KEY for an object of ATLAS_STORE, or the JSON itself";
/// The prefix of an object's key.
pub(crate) const OBJECT: &str = "store:";
/// Folders of the store that functions write to.
const TAKEN: [&str; 2] = ["vaults", "probes"];
/// Most tries to read an object, and the time for each.
const TRIES: u32 = 3;
const TIMEOUT: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(100);

/// The location of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// The text itself.
    Inline(String),
    /// In this file.
    File(PathBuf),
    /// The object with this key, below the prefix of the vaults' store.
    Object(String),
}

/// The content read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) bytes: Bytes,
    /// The store's version tag.
    tag: Option<String>,
}

/// The result of reading an object.
pub(crate) enum Found {
    /// It is still the version that was seen.
    Unchanged,
    /// Its content; one byte more than [`MAX_BYTES`] if it is too long.
    Contents(Contents),
    /// There is no such object.
    Nothing,
}

impl ConfigSource {
    /// Parses a location.
    ///
    /// # Errors What to write, if it is invalid.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim_start().starts_with('{') {
            return Ok(Self::Inline(text.to_owned()));
        }
        if let Some(key) = text.strip_prefix(OBJECT) {
            let folder = key.split('/').next().unwrap_or_default();
            if TAKEN.contains(&folder) {
                return Err(format!("functions write below {folder}/: write store: and a key outside of it"));
            }
            let is_key = Path::parse(key).is_ok_and(|path| !key.is_empty() && path.as_ref() == key);
            return if is_key { Ok(Self::Object(key.to_owned())) } else { Err(FORMS.to_owned()) };
        }
        if text.is_empty() || text.contains("://") {
            return Err(FORMS.to_owned());
        }
        Ok(Self::File(PathBuf::from(text)))
    }

    /// Whether the document can change.
    pub(crate) const fn can_change(&self) -> bool {
        !matches!(self, Self::Inline(_))
    }

    /// The document; [`None`] if it is still the version `seen`. An unchanged object is not fetched again.
    pub(crate) async fn read(&self, store: &Store, seen: Option<&Contents>) -> Result<Option<Contents>, ConfigError> {
        let read = match self {
            Self::Inline(text) => Ok(Some(Contents { bytes: Bytes::from(text.clone()), tag: None })),
            Self::File(path) => read_file(path).await,
            Self::Object(key) => match read_object(store, key, seen).await {
                Ok(Found::Contents(contents)) => Ok(Some(contents)),
                Ok(Found::Unchanged) => Ok(None),
                Ok(Found::Nothing) => Err("there is no such object".to_owned()),
                Err(reason) => Err(reason),
            },
        };
        let unreadable = |reason| ConfigError::Unreadable { place: self.called(store), reason };
        let read = read.map_err(unreadable)?;
        if read.as_ref().is_some_and(|read| read.bytes.len() > MAX_BYTES) {
            return Err(unreadable(format!("it has more than {MAX_BYTES} bytes")));
        }
        Ok(read.filter(|read| seen.is_none_or(|seen| seen.bytes != read.bytes)))
    }

    fn called(&self, store: &Store) -> String {
        match self {
            Self::Object(key) => format!("{key:?} of {}", store.name()),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for ConfigSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(_) => f.write_str("ATLAS_CONFIG"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Object(key) => write!(f, "{OBJECT}{key}"),
        }
    }
}

async fn read_file(path: &std::path::Path) -> Result<Option<Contents>, String> {
    let read = async {
        let file = tokio::fs::File::open(path).await?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).await?;
        Ok(Some(Contents { bytes: bytes.into(), tag: None }))
    };
    read.await.map_err(|error: std::io::Error| error.to_string())
}

/// Reads the object with this key below the prefix of the store, unless it is the version `seen`.
pub(crate) async fn read_object(store: &Store, key: &str, seen: Option<&Contents>) -> Result<Found, String> {
    let key = if store.prefix().is_empty() { key.to_owned() } else { format!("{}/{key}", store.prefix()) };
    let key = Path::parse(key).map_err(|error| error.to_string())?;
    let if_none_match = seen.and_then(|seen| seen.tag.clone());
    let options = GetOptions { if_none_match, ..GetOptions::default() };
    let mut tries = 1;
    loop {
        let read = async {
            let found = store.inner().get_opts(&key, options.clone()).await?;
            let tag = found.meta.e_tag.clone();
            // An object that is too long is not fetched; the caller reports it.
            let length = usize::try_from(found.meta.size).unwrap_or(usize::MAX);
            let bytes = if length > MAX_BYTES { Bytes::from(vec![0; MAX_BYTES + 1]) } else { found.bytes().await? };
            Ok((bytes.len() >= length.min(MAX_BYTES)).then_some(Contents { bytes, tag }))
        };
        let failure = match tokio::time::timeout(TIMEOUT, read).await {
            Ok(Ok(Some(contents))) => return Ok(Found::Contents(contents)),
            Ok(Ok(None)) => "the answer was cut short".to_owned(),
            Ok(Err(object_store::Error::NotModified { .. })) => return Ok(Found::Unchanged),
            Ok(Err(object_store::Error::NotFound { .. })) => return Ok(Found::Nothing),
            Ok(Err(error)) => error.to_string().split_whitespace().collect::<Vec<_>>().join(" "),
            Err(_) => format!("the store does not answer within {} seconds", TIMEOUT.as_secs()),
        };
        if tries == TRIES {
            return Err(failure);
        }
        tokio::time::sleep(PAUSE * tries).await;
        tries += 1;
    }
}
