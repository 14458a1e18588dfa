//! A store that counts requests, bytes and waves.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt as _};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, Result,
};

use crate::request::Op;

/// The latency of every request, so that concurrent requests also begin together. On a paused clock it takes no time.
const LATENCY: Duration = Duration::from_millis(1);

/// One request to a [`CountingStore`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its kind.
    pub op: Op,
    /// The key.
    pub key: String,
    /// Bytes of the body, in either direction.
    pub bytes: u64,
    /// One more than the greatest wave of the requests that had completed when this one began.
    pub wave: u64,
}

/// Passes requests to another store, and logs them.
#[derive(Debug)]
pub struct CountingStore {
    inner: Arc<dyn ObjectStore>,
    log: Arc<Mutex<Log>>,
}

#[derive(Debug, Default)]
struct Log {
    requests: Vec<Request>,
    completed: u64,
}

impl CountingStore {
    /// A store that counts its requests to `inner`.
    pub fn new(inner: Arc<dyn ObjectStore>) -> Arc<Self> {
        Arc::new(Self { inner, log: Arc::default() })
    }

    /// The requests since the last call of this function, in the order in which they completed.
    pub fn take(&self) -> Requests {
        Requests(std::mem::take(&mut *lock(&self.log)).requests)
    }
}

/// Requests that were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requests(pub Vec<Request>);

impl Requests {
    /// The number of waves.
    pub fn waves(&self) -> u64 {
        self.0.iter().map(|request| request.wave).max().unwrap_or(0)
    }

    /// The number of requests.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Bytes of all bodies.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|request| request.bytes).sum()
    }

    /// The requests of kind `op`.
    pub fn of(&self, op: Op) -> impl Iterator<Item = &Request> {
        self.0.iter().filter(move |request| request.op == op)
    }

    /// The requests whose key does not contain `part`.
    #[must_use]
    pub fn without(&self, part: &str) -> Self {
        Self(self.0.iter().filter(|request| !request.key.contains(part)).cloned().collect())
    }
}

/// One line a request, for the message of an assertion.
impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|request| {
            let Request { op, key, bytes, wave } = request;
            writeln!(f, "wave {wave}: {op:?} {key} ({bytes} bytes)")
        })
    }
}

fn lock(log: &Mutex<Log>) -> std::sync::MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts one request around `run`, whose body has `size` bytes.
async fn counted<T>(log: &Mutex<Log>, op: Op, key: &Path, run: impl Future<Output = T>, size: impl Fn(&T) -> u64) -> T {
    let wave = lock(log).completed + 1;
    tokio::time::sleep(LATENCY).await;
    let result = run.await;
    let mut log = lock(log);
    log.completed = log.completed.max(wave);
    log.requests.push(Request { op, key: key.to_string(), bytes: size(&result), wave });
    result
}

impl fmt::Display for CountingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "counting {}", self.inner)
    }
}

#[async_trait]
impl ObjectStore for CountingStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let (op, size) = (Op::of_put(&options), payload.content_length() as u64);
        counted(&self.log, op, location, self.inner.put_opts(location, payload, options), |_| size).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        counted(&self.log, Op::Other, location, self.inner.put_multipart_opts(location, options), |_| 0).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let op = Op::of_get(&options);
        let size = |result: &Result<GetResult>| match result {
            Ok(found) if op != Op::Head => found.range.end - found.range.start,
            _ => 0,
        };
        counted(&self.log, op, location, self.inner.get_opts(location, options), size).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(prefix, self.inner.list(prefix))
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(prefix, self.inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let key = prefix.cloned().unwrap_or_default();
        counted(&self.log, Op::List, &key, self.inner.list_with_delimiter(prefix), |_| 0).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        counted(&self.log, Op::Other, to, self.inner.copy_opts(from, to, options), |_| 0).await
    }
}

impl CountingStore {
    /// A listing counts as one request, however many pages a real store would need.
    fn listed(
        &self,
        prefix: Option<&Path>,
        listing: BoxStream<'static, Result<ObjectMeta>>,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let log = self.log.clone();
        let key = prefix.cloned().unwrap_or_default();
        let all = async move { counted(&log, Op::List, &key, listing.collect::<Vec<_>>(), |_| 0).await };
        stream::once(all).flat_map(stream::iter).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::join;
    use object_store::memory::InMemory;
    use object_store::{ObjectStoreExt as _, PutMode};

    #[tokio::test(start_paused = true)]
    async fn a_wave_is_what_waits_for_the_same_requests() {
        let store = CountingStore::new(Arc::new(InMemory::new()));
        let (a, b) = (Path::from("a"), Path::from("b"));
        let (first, second) = join(store.put(&a, "one".into()), store.put(&b, "three".into())).await;
        first.and(second).unwrap();
        store.get_range(&a, 1..3).await.unwrap();
        store.put_opts(&a, "x".into(), PutMode::Create.into()).await.unwrap_err();

        let requests = store.take();
        let waves: Vec<_> = requests.0.iter().map(|request| (request.op, request.bytes, request.wave)).collect();
        assert_eq!(waves, [(Op::Put, 3, 1), (Op::Put, 5, 1), (Op::Range, 2, 2), (Op::Create, 1, 3)]);
        assert_eq!((requests.waves(), requests.count(), requests.bytes()), (3, 4, 11));
        assert_eq!(store.take().count(), 0);
    }
}
