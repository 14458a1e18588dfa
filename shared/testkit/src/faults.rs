//! A store that fails on demand.

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt as _};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt as _, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use tokio::sync::Notify;

use crate::request::Op;
use crate::rules::Rules;

/// The time that a hasty store takes between check and write.
const HASTE: Duration = Duration::from_millis(100);

/// How a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request has no effect, and the answer is a server error.
    Error,
    /// The request has its effect, and the answer is a server error.
    ErrorAfter,
    /// A create has its effect, and the answer is that the object exists: the store's client had repeated a request
    /// that had succeeded.
    OwnSuccess,
    /// The request has no effect, and no answer.
    Silence,
    /// The request has its effect, but no answer.
    SilenceAfter,
    /// The request has its effect this much later, and no answer.
    Late(Duration),
    /// The request and its answer are delayed this much.
    Slow(Duration),
    /// The body of the answer ends in the middle.
    Truncated,
    /// The body of the answer breaks off in the middle, with an error.
    BrokenOff,
    /// The answer is that there is no such object.
    Missing,
    /// The answer is that it is not allowed.
    Refused,
    /// A create overwrites an existing object: the store ignores the condition.
    Careless,
    /// A create checks for an object and writes a little later, even if another was written meanwhile.
    Hasty,
    /// A listing omits this many of the greatest keys.
    Lag(usize),
}

/// Passes requests to another store, except those that must fail.
#[derive(Debug)]
pub struct FaultStore {
    inner: Arc<dyn ObjectStore>,
    rules: Arc<Rules<Fault>>,
    silent: Arc<Notify>,
}

impl FaultStore {
    /// A store that passes all requests to `inner` until faults are set.
    pub fn new(inner: Arc<dyn ObjectStore>) -> Arc<Self> {
        Arc::new(Self { inner, rules: Arc::default(), silent: Arc::default() })
    }

    /// The next request of kind `op` whose key contains `key` fails with `fault`.
    pub fn once(&self, op: Op, key: &str, fault: Fault) {
        self.rules.script(op, key, [Some(fault)]);
    }

    /// All requests of kind `op` whose key contains `key` fail with `fault`.
    pub fn always(&self, op: Op, key: &str, fault: Fault) {
        self.rules.always(op, key, fault);
    }

    /// The next requests of kind `op` whose key contains `key` follow `script`, one after the other.
    pub fn script(&self, op: Op, key: &str, script: impl IntoIterator<Item = Option<Fault>>) {
        self.rules.script(op, key, script);
    }

    /// Removes all faults.
    pub fn heal(&self) {
        self.rules.clear();
    }

    /// Waits until a request gets no answer: the point at which a killed process would have stopped.
    pub async fn silent(&self) {
        self.silent.notified().await;
    }

    fn fault(&self, op: Op, key: &Path) -> Option<Fault> {
        self.rules.next(op, key.as_ref())
    }
}

fn server_error() -> Error {
    Error::Generic { store: "faults", source: "500 Internal Server Error".into() }
}

fn missing(key: &Path) -> Error {
    Error::NotFound { path: key.to_string(), source: "404 Not Found".into() }
}

fn refused(key: &Path) -> Error {
    Error::PermissionDenied { path: key.to_string(), source: "403 Forbidden".into() }
}

fn exists(key: &Path) -> Error {
    Error::AlreadyExists { path: key.to_string(), source: "412 Precondition Failed".into() }
}

/// Lets `request` fail. It is owned, so that it can continue when nobody waits for it any more.
async fn failing<T: Send + 'static>(
    silent: &Notify,
    fault: Option<Fault>,
    key: &Path,
    request: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    match fault {
        None | Some(Fault::Truncated | Fault::BrokenOff | Fault::Careless | Fault::Hasty | Fault::Lag(_)) => {
            request.await
        }
        Some(Fault::Error) => Err(server_error()),
        Some(Fault::ErrorAfter) => request.await.and(Err(server_error())),
        Some(Fault::OwnSuccess) => {
            request.await?;
            Err(exists(key))
        }
        Some(Fault::Silence) => {
            silent.notify_waiters();
            pending().await
        }
        Some(Fault::SilenceAfter) => {
            let _ = request.await;
            silent.notify_waiters();
            pending().await
        }
        Some(Fault::Late(delay)) => {
            tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                let _ = request.await;
            });
            pending().await
        }
        Some(Fault::Slow(delay)) => {
            tokio::time::sleep(delay).await;
            request.await
        }
        Some(Fault::Missing) => Err(missing(key)),
        Some(Fault::Refused) => Err(refused(key)),
    }
}

impl fmt::Display for FaultStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failing {}", self.inner)
    }
}

#[async_trait]
impl ObjectStore for FaultStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, mut options: PutOptions) -> Result<PutResult> {
        let fault = self.fault(Op::of_put(&options), location);
        if fault == Some(Fault::Hasty) {
            if self.inner.head(location).await.is_ok() {
                return Err(exists(location));
            }
            tokio::time::sleep(HASTE).await;
        }
        if matches!(fault, Some(Fault::Careless | Fault::Hasty)) {
            options.mode = PutMode::Overwrite;
        }
        let (inner, key) = (self.inner.clone(), location.clone());
        failing(&self.silent, fault, location, async move { inner.put_opts(&key, payload, options).await }).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let fault = self.fault(Op::Other, location);
        let (inner, key) = (self.inner.clone(), location.clone());
        failing(&self.silent, fault, location, async move { inner.put_multipart_opts(&key, options).await }).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let fault = self.fault(Op::of_get(&options), location);
        let (inner, key) = (self.inner.clone(), location.clone());
        let found = failing(&self.silent, fault, location, async move { inner.get_opts(&key, options).await }).await?;
        match fault {
            Some(Fault::Truncated) => cut_short(found, None).await,
            Some(Fault::BrokenOff) => cut_short(found, Some(server_error())).await,
            _ => Ok(found),
        }
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let (rules, silent, inner) = (self.rules.clone(), self.silent.clone(), self.inner.clone());
        let delete = move |location: Result<Path>| {
            let (rules, silent, inner) = (rules.clone(), silent.clone(), inner.clone());
            async move {
                let key = location?;
                let (fault, gone) = (rules.next(Op::Other, key.as_ref()), key.clone());
                failing(&silent, fault, &key, async move { inner.delete(&gone).await }).await?;
                Ok(key)
            }
        };
        locations.then(delete).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(prefix, self.inner.list(prefix))
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(prefix, self.inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

impl FaultStore {
    fn listed(
        &self,
        prefix: Option<&Path>,
        listing: BoxStream<'static, Result<ObjectMeta>>,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let key = prefix.cloned().unwrap_or_default();
        let fault = self.fault(Op::List, &key);
        let silent = self.silent.clone();
        let all = async move {
            let listing = async { Ok(listing.collect::<Vec<_>>().await) };
            match failing(&silent, fault, &key, listing).await {
                Ok(mut all) => {
                    if let Some(Fault::Lag(lag)) = fault {
                        all.sort_by_key(|object| object.as_ref().map(|object| object.location.clone()).ok());
                        all.truncate(all.len().saturating_sub(lag));
                    }
                    all
                }
                Err(error) => vec![Err(error)],
            }
        };
        stream::once(all).flat_map(stream::iter).boxed()
    }
}

/// The first half of the body, with the headers of the whole.
async fn cut_short(found: GetResult, error: Option<Error>) -> Result<GetResult> {
    let (meta, range, attributes, extensions) =
        (found.meta.clone(), found.range.clone(), found.attributes.clone(), found.extensions.clone());
    let bytes = found.bytes().await?;
    let half = bytes.slice(..bytes.len() / 2);
    let payload = GetResultPayload::Stream(stream::iter([Ok(half)].into_iter().chain(error.map(Err))).boxed());
    Ok(GetResult { payload, meta, range, attributes, extensions })
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;

    #[tokio::test(start_paused = true)]
    async fn a_script_is_played_once_and_then_all_is_well() {
        let store = FaultStore::new(Arc::new(InMemory::new()));
        let key = Path::from("a");
        store.script(Op::Create, "a", [None, Some(Fault::Error)]);
        let create = || store.put_opts(&key, "x".into(), PutMode::Create.into());
        create().await.unwrap();
        assert!(matches!(create().await, Err(Error::Generic { .. })));
        assert!(matches!(create().await, Err(Error::AlreadyExists { .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_late_happens_after_its_caller_has_given_up() {
        let store = FaultStore::new(Arc::new(InMemory::new()));
        let key = Path::from("a");
        store.once(Op::Put, "", Fault::Late(Duration::from_secs(9)));
        let put = tokio::time::timeout(Duration::from_secs(3), store.put(&key, "x".into()));
        put.await.unwrap_err();
        store.head(&key).await.unwrap_err();
        tokio::time::sleep(Duration::from_secs(10)).await;
        store.head(&key).await.unwrap();
    }

    #[tokio::test]
    async fn a_truncated_body_has_the_headers_of_the_whole() {
        let store = FaultStore::new(Arc::new(InMemory::new()));
        store.put(&Path::from("a"), "abcd".into()).await.unwrap();
        store.always(Op::Get, "a", Fault::Truncated);
        let found = store.get(&Path::from("a")).await.unwrap();
        assert_eq!(found.meta.size, 4);
        assert_eq!(found.bytes().await.unwrap(), "ab");
    }
}
