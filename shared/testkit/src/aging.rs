//! A store with its own clock, which tests can set forward and back.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use futures::stream::{BoxStream, StreamExt as _};
use object_store::path::Path;
use object_store::signer::{Method, SignedUrlOptions, Signer, Url};
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, Result,
};

/// Passes requests to another store, and takes the times of objects from its own clock.
#[derive(Debug)]
pub struct AgingStore {
    inner: Arc<dyn ObjectStore>,
    times: Arc<Mutex<Times>>,
}

#[derive(Debug, Default)]
struct Times {
    now: DateTime<Utc>,
    written: HashMap<Path, DateTime<Utc>>,
}

impl AgingStore {
    /// A store over `inner` whose clock stands still, at the beginning of 1970.
    pub fn new(inner: Arc<dyn ObjectStore>) -> Arc<Self> {
        Arc::new(Self { inner, times: Arc::default() })
    }

    /// Lets time pass.
    pub fn pass(&self, time: Duration) {
        self.times().now += time;
    }

    /// Sets the clock back.
    pub fn turn_back(&self, time: Duration) {
        self.times().now -= time;
    }

    /// Sets the time of the object at `key` to `time` before now.
    pub fn date_back(&self, key: &Path, time: Duration) {
        let mut times = self.times();
        let written = times.now - time;
        times.written.insert(key.clone(), written);
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, key: &Path) {
        let mut times = self.times();
        let now = times.now;
        times.written.insert(key.clone(), now);
    }

    fn listed(&self, listing: BoxStream<'static, Result<ObjectMeta>>) -> BoxStream<'static, Result<ObjectMeta>> {
        let times = self.times.clone();
        let dated = move |object: Result<ObjectMeta>| object.map(|object| dated(&times, object));
        listing.map(dated).boxed()
    }
}

fn dated(times: &Mutex<Times>, object: ObjectMeta) -> ObjectMeta {
    let times = times.lock().unwrap_or_else(PoisonError::into_inner);
    let last_modified = times.written.get(&object.location).copied().unwrap_or(times.now);
    ObjectMeta { last_modified, ..object }
}

impl fmt::Display for AgingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "aging {}", self.inner)
    }
}

#[async_trait]
impl ObjectStore for AgingStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let put = self.inner.put_opts(location, payload, options).await?;
        self.write(location);
        Ok(put)
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.write(location);
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let found = self.inner.get_opts(location, options).await?;
        Ok(GetResult { meta: dated(&self.times, found.meta.clone()), ..found })
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(self.inner.list(prefix))
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(self.inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let listed = self.inner.list_with_delimiter(prefix).await?;
        let objects = listed.objects.into_iter().map(|object| dated(&self.times, object)).collect();
        Ok(ListResult { objects, ..listed })
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await?;
        self.write(to);
        Ok(())
    }
}

/// Its URLs name objects, but no server answers them.
#[async_trait]
impl Signer for AgingStore {
    async fn signed_url(&self, method: Method, path: &Path, expires_in: Duration) -> Result<Url> {
        self.signed_url_opts(method, path, expires_in, &SignedUrlOptions::new()).await
    }

    async fn signed_url_opts(&self, _: Method, path: &Path, _: Duration, _: &SignedUrlOptions) -> Result<Url> {
        let url = Url::parse(&format!("aging:///{path}"));
        url.map_err(|error| object_store::Error::Generic { store: "aging", source: error.into() })
    }
}
