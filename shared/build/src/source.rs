//! The source: the files of a vault as plain objects below a folder of a store, as rclone or `aws s3 sync` puts them there.

use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::keys::{key_of, path_of};
use atlas_mirror::location::{self, Variables};
use atlas_mirror::{Store, VaultId};
use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{GetResult, ObjectMeta, ObjectStore, ObjectStoreExt as _};
use tokio::time::{sleep, timeout};

use crate::error::BuildError;

/// The time limit for an answer, and for each piece of a body or of a listing.
const ANSWER_TIME: Duration = Duration::from_secs(20);
/// Tries of a read, and the wait before the second, which doubles.
const TRIES: u32 = 3;
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// Most objects of one listing.
const MAX_LISTED: u64 = 50_000_000;

/// The sources of all vaults: for each a folder of its name.
#[derive(Clone, Debug)]
pub struct Sources {
    store: Store,
    /// Whether the store lists objects in the order of their keys.
    is_ordered: bool,
}

/// The source of one vault.
#[derive(Clone, Debug)]
pub struct Source {
    inner: Arc<dyn ObjectStore>,
    folder: Path,
    is_ordered: bool,
}

/// An object of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its key below the source's folder.
    pub key: String,
    /// Its entity tag, by which the store tells versions of it apart; empty if the store has none.
    pub etag: String,
    /// Bytes.
    pub bytes: u64,
    /// When it was written, in milliseconds since 1970 UTC.
    pub modified_ms: i64,
}

/// A part of a source: the keys after `after` up to `upto`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The key before the first; [`None`] to begin with the first.
    pub after: Option<String>,
    /// The last key; [`None`] to end with the last.
    pub upto: Option<String>,
}

impl Range {
    /// Whether `key` is in it.
    pub fn has(&self, key: &str) -> bool {
        self.after.as_deref().is_none_or(|after| key > after) && self.upto.as_deref().is_none_or(|upto| key <= upto)
    }

    /// Whether a key can be in both.
    pub fn meets(&self, other: &Self) -> bool {
        let ends_before = |one: &Self, other: &Self| {
            one.upto.as_deref().zip(other.after.as_deref()).is_some_and(|(upto, after)| upto <= after)
        };
        !ends_before(self, other) && !ends_before(other, self)
    }
}

impl Sources {
    /// The sources in the store at `url`, such as `s3://bucket/sources`.
    ///
    /// # Errors
    /// As [`location::open`].
    pub fn open(url: &str, variables: &Variables) -> Result<Self, BuildError> {
        Ok(Self { store: location::open(url, variables)?, is_ordered: url.starts_with("s3://") })
    }

    /// The sources in `store`, which need not list in order.
    pub const fn of(store: Store) -> Self {
        Self { store, is_ordered: false }
    }

    /// The source of `vault`.
    ///
    /// # Errors [`BuildError::Invalid`] when the store's prefix cannot be part of a key.
    pub fn vault(&self, vault: &VaultId) -> Result<Source, BuildError> {
        let folder = match self.store.prefix() {
            "" => vault.to_string(),
            prefix => format!("{prefix}/{vault}"),
        };
        let folder = path_of(&folder).map_err(|error| BuildError::Invalid(error.to_string()))?;
        Ok(Source { inner: self.store.inner().clone(), folder, is_ordered: self.is_ordered })
    }
}

impl Source {
    /// Its folder in the store.
    pub fn place(&self) -> &str {
        key_of(&self.folder)
    }

    /// Calls `each` with the objects of `range`, in the order of their keys. Of an unordered store, all objects are in memory.
    ///
    /// # Errors [`BuildError::Source`], [`BuildError::TooLarge`], and the errors of `each`.
    pub async fn walk(
        &self,
        range: &Range,
        mut each: impl FnMut(Object) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        let mut listing = match &range.after {
            Some(after) => self.inner.list_with_offset(Some(&self.folder), &self.path_of(after)?),
            None => self.inner.list(Some(&self.folder)),
        };
        let mut unordered = Vec::new();
        let mut listed = 0u64;
        while let Some(found) = timeout(ANSWER_TIME, listing.next()).await.map_err(|_| self.unanswered())? {
            let Some(object) = self.object(found.map_err(|error| self.failed(self.place(), &error))?) else { continue };
            listed += 1;
            if listed > MAX_LISTED {
                return Err(BuildError::TooLarge { limit: format!("{MAX_LISTED} objects") });
            }
            match range.has(&object.key) {
                true if self.is_ordered => each(object)?,
                true => unordered.push(object),
                false if self.is_ordered => break,
                false => {}
            }
        }
        unordered.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        unordered.into_iter().try_for_each(each)
    }

    /// The object at `key` with its whole content; [`None`] if there is none, or it has more than `most` bytes.
    ///
    /// # Errors [`BuildError::Source`].
    pub async fn read(&self, key: &str, most: u64) -> Result<Option<(Object, Bytes)>, BuildError> {
        let path = self.path_of(key)?;
        let mut tried = 0;
        loop {
            match self.read_once(&path, most).await {
                Ok(found) => return Ok(found),
                Err(error) if tried + 1 >= TRIES => return Err(error),
                Err(_) => {
                    sleep(FIRST_WAIT * 2u32.saturating_pow(tried)).await;
                    tried += 1;
                }
            }
        }
    }

    async fn read_once(&self, path: &Path, most: u64) -> Result<Option<(Object, Bytes)>, BuildError> {
        let Some(found) = self.get(path).await? else { return Ok(None) };
        let meta = found.meta.clone();
        if meta.size > most {
            return Ok(None);
        }
        let mut body = BytesMut::with_capacity(usize::try_from(meta.size).unwrap_or(0));
        let mut pieces = self.pieces(found);
        while let Some(piece) = pieces.next().await {
            body.extend_from_slice(&piece?);
        }
        if body.len() as u64 != meta.size {
            let reason = format!("it has {} bytes instead of {}", body.len(), meta.size);
            return Err(BuildError::Source { place: key_of(path).to_owned(), reason });
        }
        Ok(self.object(meta).map(|object| (object, body.freeze())))
    }

    /// The object at `key` with its content in pieces; [`None`] if there is none.
    ///
    /// # Errors [`BuildError::Source`].
    pub async fn stream(
        &self,
        key: &str,
    ) -> Result<Option<(Object, BoxStream<'static, Result<Bytes, BuildError>>)>, BuildError> {
        let Some(found) = self.get(&self.path_of(key)?).await? else { return Ok(None) };
        let meta = found.meta.clone();
        Ok(self.object(meta).map(|object| (object, self.pieces(found))))
    }

    /// Whether there is an object at `key`.
    ///
    /// # Errors [`BuildError::Source`].
    pub async fn has(&self, key: &str) -> Result<bool, BuildError> {
        let path = self.path_of(key)?;
        match timeout(ANSWER_TIME, self.inner.head(&path)).await.map_err(|_| self.unanswered())? {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(self.failed(key, &error)),
        }
    }

    async fn get(&self, path: &Path) -> Result<Option<GetResult>, BuildError> {
        match timeout(ANSWER_TIME, self.inner.get(path)).await.map_err(|_| self.unanswered())? {
            Ok(found) => Ok(Some(found)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(key_of(path), &error)),
        }
    }

    fn pieces(&self, found: GetResult) -> BoxStream<'static, Result<Bytes, BuildError>> {
        let source = self.clone();
        let place = key_of(&found.meta.location).to_owned();
        let next = futures::stream::try_unfold(found.into_stream(), move |mut body| {
            let (source, place) = (source.clone(), place.clone());
            async move {
                let piece = timeout(ANSWER_TIME, body.next()).await.map_err(|_| source.unanswered())?;
                let piece = piece.transpose().map_err(|error| source.failed(&place, &error))?;
                Ok(piece.map(|piece| (piece, body)))
            }
        });
        next.boxed()
    }

    /// [`None`] for what is not below the folder.
    fn object(&self, meta: ObjectMeta) -> Option<Object> {
        let key = key_of(&meta.location).strip_prefix(self.place())?.strip_prefix('/')?;
        Some(Object {
            key: key.to_owned(),
            etag: meta.e_tag.unwrap_or_default(),
            bytes: meta.size,
            modified_ms: meta.last_modified.timestamp_millis(),
        })
    }

    fn path_of(&self, key: &str) -> Result<Path, BuildError> {
        path_of(&format!("{}/{key}", self.place())).map_err(|error| BuildError::Invalid(error.to_string()))
    }

    fn failed(&self, place: &str, error: &object_store::Error) -> BuildError {
        BuildError::Source { place: place.to_owned(), reason: error.to_string() }
    }

    fn unanswered(&self) -> BuildError {
        BuildError::Source { place: self.place().to_owned(), reason: "no answer in time".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(after: Option<&str>, upto: Option<&str>) -> Range {
        Range { after: after.map(str::to_owned), upto: upto.map(str::to_owned) }
    }

    #[test]
    fn ranges_that_follow_each_other_have_no_key_in_common() {
        let (first, second) = (range(None, Some("b")), range(Some("b"), None));
        for key in ["a", "b", "b/c", "c"] {
            assert_ne!(first.has(key), second.has(key), "{key}");
        }
        assert!(!first.meets(&second) && !second.meets(&first));
        assert!(first.meets(&range(Some("a"), Some("c"))) && second.meets(&range(None, None)));
    }
}
