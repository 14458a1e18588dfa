//! One object store, with a limit on the time, the size and the number of tries of every request.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::TryStreamExt as _;
use futures::stream::BoxStream;
use jiff::Timestamp;
use object_store::path::Path;
use object_store::signer::Signer;
use object_store::{
    GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload,
};
use tokio::time::{Instant, sleep, timeout};

use crate::body::{Body, whole};
use crate::counters::{Counters, Counts};
use crate::error::MirrorError;
use crate::failure::Failure;
use crate::keys::{InvalidKey, path_of};

/// The slowest transfer that is waited for, in bytes a second: a request gets additional time for its bytes. A sync
/// over half a megabit a second has four of them at once. A read that brings nothing for the time of a request ends
/// before; of a write nobody can see how far it is.
const SLOWEST: u64 = 16 << 10;
/// Most objects of one listing, and how long all of it may take.
const MAX_LISTED: usize = 10_000_000;
const LISTING_TIME: Duration = Duration::from_secs(3600);
/// The wait before the second try; it doubles with each try, and is drawn at random between half of that and all.
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// Limits on the requests to a store.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// Time for one request, without the time for its bytes.
    pub request_timeout: Duration,
    /// Most tries of a request that may be repeated.
    pub tries: u32,
    /// No try begins later than this after the first.
    pub retry_budget: Duration,
}

impl Default for StoreOptions {
    /// 3 tries of 3 seconds, so that an unreachable store is reported within 10 seconds.
    fn default() -> Self {
        Self { request_timeout: Duration::from_secs(3), tries: 3, retry_budget: Duration::from_secs(6) }
    }
}

/// A handle on an object store. Cloning is cheap; clones share their counters.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<dyn ObjectStore>,
    /// The same without the wait for the disk, for an object that may be lost.
    hasty: Option<Arc<dyn ObjectStore>>,
    /// Makes URLs to objects, if the store can.
    signer: Option<Arc<dyn Signer>>,
    name: Arc<str>,
    prefix: Arc<str>,
    options: StoreOptions,
    counters: Arc<Counters>,
}

/// An object's metadata.
#[derive(Clone, Debug)]
pub(crate) struct ListedObject {
    pub(crate) key: Path,
    pub(crate) bytes: u64,
    /// When it was written, by the store's clock.
    pub(crate) written: Timestamp,
}

impl Store {
    /// A handle on `inner`, with all keys below `prefix` (empty for the root).
    ///
    /// # Errors
    /// When `prefix` cannot be part of a key.
    pub fn new(inner: Arc<dyn ObjectStore>, prefix: &str, options: StoreOptions) -> Result<Self, InvalidKey> {
        if !prefix.is_empty() {
            path_of(prefix)?;
        }
        let name = inner.to_string().into();
        Ok(Self { name, inner, hasty: None, signer: None, prefix: prefix.into(), options, counters: Arc::default() })
    }

    /// The same store, with a handle on it that does not wait until what it writes is on the disk.
    #[must_use]
    pub(crate) fn with_hasty(self, hasty: Arc<dyn ObjectStore>) -> Self {
        Self { hasty: Some(hasty), ..self }
    }

    /// The same store, with a signer that makes URLs to its objects.
    #[must_use]
    pub fn signed_by(self, signer: Arc<dyn Signer>) -> Self {
        Self { signer: Some(signer), ..self }
    }

    /// The same store with other limits on its requests.
    #[must_use]
    pub fn limited(self, options: StoreOptions) -> Self {
        Self { options, ..self }
    }

    /// The same store, called `name` in errors.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Its name in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The prefix of all keys.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// A handle on the same store with its own counters.
    #[must_use]
    pub fn metered(&self) -> Self {
        Self { counters: Arc::default(), ..self.clone() }
    }

    /// The requests of this handle and its clones.
    pub fn counts(&self) -> Counts {
        self.counters.counts()
    }

    /// The store itself: without prefix, limits and counts.
    pub fn inner(&self) -> &Arc<dyn ObjectStore> {
        &self.inner
    }

    /// The signer that makes URLs to its objects, if any.
    pub(crate) fn signer(&self) -> Option<&Arc<dyn Signer>> {
        self.signer.as_ref()
    }

    /// The object at `key`, if there is one. One over `limit` bytes is damaged.
    pub(crate) async fn get(&self, key: &Path, limit: u64) -> Result<Option<Bytes>, MirrorError> {
        let read = async || {
            let found = self.answer(self.inner.get(key)).await?;
            let size = found.meta.size;
            if size > limit {
                Err(Failure::WrongSize(size))
            } else {
                whole(found, size, self.options.request_timeout).await
            }
        };
        match self.retry(|| self.request(self.time_for(limit), 0, read())).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Failure::NotFound(_)) => Ok(None),
            Err(failure) => Err(failure.into_error("read", key)),
        }
    }

    /// The bytes `range` of the object at `key`, which has `size` bytes in all; [`None`] if there is no such object.
    pub(crate) async fn get_range(
        &self,
        key: &Path,
        range: Range<u64>,
        size: u64,
    ) -> Result<Option<Bytes>, MirrorError> {
        let length = range.end.saturating_sub(range.start);
        let wrong_size = |found: u64| MirrorError::damaged(key, format!("it has {found} bytes instead of {size}"));
        let read = async || {
            let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
            let found = self.answer(self.inner.get_opts(key, options)).await?;
            if found.meta.size != size {
                Err(Failure::WrongSize(found.meta.size))
            } else {
                whole(found, length, self.options.request_timeout).await
            }
        };
        match self.retry(|| self.request(self.time_for(length), 0, read())).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Failure::NotFound(_)) => Ok(None),
            Err(Failure::WrongSize(found)) => Err(wrong_size(found)),
            // A range that begins behind the end of a truncated object fails as if the store were at fault.
            Err(failure @ Failure::Unclear(_)) => match self.size(key).await {
                Ok(Some(found)) if found != size => Err(wrong_size(found)),
                _ => Err(failure.into_error("read", key)),
            },
            Err(failure) => Err(failure.into_error("read", key)),
        }
    }

    /// Bytes of the object at `key`, if there is one.
    pub(crate) async fn size(&self, key: &Path) -> Result<Option<u64>, MirrorError> {
        Ok(self.head(key).await?.map(|head| head.size))
    }

    /// When the object at `key` was written, if there is one, by the store's clock.
    pub(crate) async fn modified(&self, key: &Path) -> Result<Option<Timestamp>, MirrorError> {
        Ok(self.look(key).await?.map(|object| object.written))
    }

    /// The metadata of the object at `key`, if there is one.
    pub(crate) async fn look(&self, key: &Path) -> Result<Option<ListedObject>, MirrorError> {
        let Some(head) = self.head(key).await? else { return Ok(None) };
        let time = Timestamp::from_millisecond(head.last_modified.timestamp_millis());
        let written = time.map_err(|error| MirrorError::damaged(key, error))?;
        Ok(Some(ListedObject { key: head.location, bytes: head.size, written }))
    }

    async fn head(&self, key: &Path) -> Result<Option<ObjectMeta>, MirrorError> {
        let head = async || Ok(self.inner.head(key).await?);
        match self.retry(|| self.request(self.time_for(0), 0, head())).await {
            Ok(head) => Ok(Some(head)),
            Err(Failure::NotFound(_)) => Ok(None),
            Err(failure) => Err(failure.into_error("read", key)),
        }
    }

    /// Writes `bytes` at `key`, over any object: for keys to which all writers write the same, or where the last may
    /// win. Repeated until it has certainly happened.
    pub(crate) async fn put(&self, key: &Path, bytes: &Bytes) -> Result<(), MirrorError> {
        let write = || self.write_once(&self.inner, key, bytes, PutMode::Overwrite);
        self.retry(write).await.map_err(|failure| failure.into_error("write", key))
    }

    /// As [`put`](Self::put), for a copy of what is in another object: it may be lost when the machine stops.
    pub(crate) async fn put_copy(&self, key: &Path, bytes: &Bytes) -> Result<(), MirrorError> {
        let write = || self.write_once(self.hasty.as_ref().unwrap_or(&self.inner), key, bytes, PutMode::Overwrite);
        self.retry(write).await.map_err(|failure| failure.into_error("write", key))
    }

    /// Writes `bytes` at `key`, which nobody else knows, and overwrites nothing. Repeated until it has certainly
    /// happened.
    pub(crate) async fn put_new(&self, key: &Path, bytes: &Bytes) -> Result<(), MirrorError> {
        let size = async || Ok(self.inner.head(key).await?);
        let write = async || {
            match self.create(key, bytes).await {
                Err(Failure::Exists) => {}
                result => return result,
            }
            // An earlier try has arrived after all, or will.
            match self.request(self.time_for(0), 0, size()).await {
                Ok(found) if found.size == bytes.len() as u64 => Ok(()),
                Ok(_) => Err(Failure::Exists),
                Err(Failure::NotFound(_)) => {
                    Err(Failure::Unclear(format!("the store says that {key} exists, but it is missing")))
                }
                Err(failure) => Err(failure),
            }
        };
        self.retry(write).await.map_err(|failure| failure.into_error("write", key))
    }

    /// Writes `bytes` at `key` if no object exists. Only one try: the caller decides what a failure means.
    pub(crate) async fn create(&self, key: &Path, bytes: &Bytes) -> Result<(), Failure> {
        self.write_once(&self.inner, key, bytes, PutMode::Create).await
    }

    /// Deletes the object at `key`, if there is one.
    pub(crate) async fn delete(&self, key: &Path) -> Result<(), MirrorError> {
        let delete = async || Ok(self.inner.delete(key).await?);
        match self.retry(|| self.request(self.time_for(0), 0, delete())).await {
            Ok(()) | Err(Failure::NotFound(_)) => Ok(()),
            Err(failure) => Err(failure.into_error("delete", key)),
        }
    }

    /// The greatest `rank` of the keys below `folder` that are greater than `offset`.
    pub(crate) async fn greatest_after<T: Ord>(
        &self,
        folder: &Path,
        offset: Option<&Path>,
        rank: impl Fn(&Path) -> Option<T>,
    ) -> Result<Option<T>, MirrorError> {
        let list = async || {
            let mut listing = self.listing(folder, offset);
            let mut greatest = None;
            // Stores need not list in order.
            while let Some(object) = listing.try_next().await? {
                greatest = greatest.max(rank(&object.location));
            }
            Ok(greatest)
        };
        let result = self.retry(|| self.request(self.time_for(0), 0, list())).await;
        result.map_err(|failure| failure.into_error("list", folder))
    }

    /// All objects below `folder`, or those whose keys are greater than `offset`.
    pub(crate) async fn list(&self, folder: &Path, offset: Option<&Path>) -> Result<Vec<ListedObject>, MirrorError> {
        let (all, has_more) = self.list_up_to(folder, offset, MAX_LISTED).await?;
        if has_more {
            let refused = Failure::Refused(format!("there are more than {MAX_LISTED} objects below {folder}"));
            return Err(refused.into_error("list", folder));
        }
        Ok(all)
    }

    /// Like [`list`](Self::list), of the first `most` objects; and whether there are more.
    pub(crate) async fn list_up_to(
        &self,
        folder: &Path,
        offset: Option<&Path>,
        most: usize,
    ) -> Result<(Vec<ListedObject>, bool), MirrorError> {
        let time = self.options.request_timeout;
        let list = async || {
            let mut listing = self.listing(folder, offset);
            let mut all = Vec::new();
            while let Some(object) =
                timeout(time, listing.try_next()).await.map_err(|_| Failure::unanswered(time))??
            {
                if all.len() == most {
                    return Ok((all, true));
                }
                let written = Timestamp::from_millisecond(object.last_modified.timestamp_millis());
                let written = written.map_err(|error| Failure::Unclear(error.to_string()))?;
                all.push(ListedObject { key: object.location, bytes: object.size, written });
            }
            Ok((all, false))
        };
        let result = self.retry(|| self.request(LISTING_TIME, 0, list())).await;
        result.map_err(|failure| failure.into_error("list", folder))
    }

    fn listing(&self, folder: &Path, offset: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        match offset {
            Some(offset) => self.inner.list_with_offset(Some(folder), offset),
            None => self.inner.list(Some(folder)),
        }
    }

    async fn write_once(
        &self,
        store: &Arc<dyn ObjectStore>,
        key: &Path,
        bytes: &Bytes,
        mode: PutMode,
    ) -> Result<(), Failure> {
        let size = bytes.len() as u64;
        let options = PutOptions { mode, ..PutOptions::default() };
        let write =
            async { Ok(store.put_opts(key, PutPayload::from_bytes(bytes.clone()), options).await.map(|_| ())?) };
        self.request(self.time_for(size), size, write).await
    }

    pub(crate) fn time_for(&self, bytes: u64) -> Duration {
        self.options.request_timeout + Duration::from_secs(bytes / SLOWEST)
    }

    /// Counts bytes sent outside of [`request`](Self::request), as a part of an upload.
    pub(crate) fn count_sent(&self, bytes: u64) {
        self.counters.end(self.counters.begin(), 0, bytes);
    }

    /// The headers of an answer; its body may take longer.
    async fn answer(&self, begun: impl Future<Output = object_store::Result<GetResult>>) -> Result<GetResult, Failure> {
        let time = self.options.request_timeout;
        Ok(timeout(time, begun).await.map_err(|_| Failure::unanswered(time))??)
    }

    /// Makes one request: counted, and with a time limit.
    async fn request<T: Body>(
        &self,
        time: Duration,
        sent: u64,
        request: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let depth = self.counters.begin();
        let result = timeout(time, request).await.unwrap_or_else(|_| Err(Failure::unanswered(time)));
        self.counters.end(depth, result.as_ref().map_or(0, Body::size), sent);
        result.map_err(|failure| failure.of(&self.name))
    }

    /// Repeats a request after temporary failures.
    pub(crate) async fn retry<T, F: Future<Output = Result<T, Failure>>>(
        &self,
        request: impl Fn() -> F,
    ) -> Result<T, Failure> {
        let begun = Instant::now();
        let mut tried = 0;
        loop {
            let result = request().await;
            tried += 1;
            let again = matches!(result, Err(Failure::Unclear(_))) && tried < self.options.tries;
            if !again || begun.elapsed() > self.options.retry_budget {
                return result;
            }
            sleep(jittered(FIRST_WAIT * 2u32.saturating_pow(tried - 1))).await;
        }
    }
}

/// A random duration between half of `wait` and all of it, so that writers that collided do not collide again.
pub(crate) fn jittered(wait: Duration) -> Duration {
    // Without randomness there is no jitter, which is harmless.
    let part = getrandom::u32().unwrap_or(u32::MAX);
    wait.mul_f64(0.5 + f64::from(part) / f64::from(u32::MAX) / 2.0)
}
