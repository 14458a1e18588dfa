//! The store in a folder's `.atlas/`. Copies of files that are not text are not flushed to the disk one by one, which
//! took most of the time of a first index. A power cut may lose some of them; the folder still has them, and the next
//! start copies them again.

use std::error::Error;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use atlas_mirror::{Store, StoreOptions};
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, Result,
};

/// The part of a key that copies of files have.
const COPIES: &str = "blobs";

/// Opens the store in the folder `path`, which is created if it does not exist.
pub(crate) fn open(path: &Path) -> std::result::Result<Store, Box<dyn Error>> {
    fs::create_dir_all(path)?;
    let folder = |fsync| Ok::<_, object_store::Error>(LocalFileSystem::new_with_prefix(path)?.with_fsync(fsync));
    let kept = FolderStore { sure: Arc::new(folder(true)?), quick: Arc::new(folder(false)?) };
    let store = Store::new(Arc::new(kept), "", StoreOptions::default())?;
    Ok(store.named(&format!("the folder {}", path.display())))
}

/// One folder, written to with and without flushing.
#[derive(Debug)]
struct FolderStore {
    sure: Arc<dyn ObjectStore>,
    quick: Arc<dyn ObjectStore>,
}

impl FolderStore {
    fn writer(&self, key: &Key) -> &dyn ObjectStore {
        if key.parts().any(|part| part.as_ref() == COPIES) { &*self.quick } else { &*self.sure }
    }
}

impl fmt::Display for FolderStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sure.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for FolderStore {
    async fn put_opts(&self, location: &Key, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.writer(location).put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Key,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.writer(location).put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Key, options: GetOptions) -> Result<GetResult> {
        self.sure.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Key>>) -> BoxStream<'static, Result<Key>> {
        self.sure.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Key>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.sure.list(prefix)
    }

    fn list_with_offset(&self, prefix: Option<&Key>, offset: &Key) -> BoxStream<'static, Result<ObjectMeta>> {
        self.sure.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Key>) -> Result<ListResult> {
        self.sure.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Key, to: &Key, options: CopyOptions) -> Result<()> {
        self.writer(to).copy_opts(from, to, options).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt as _;
    use object_store::ObjectStoreExt as _;
    use object_store::memory::InMemory;

    #[tokio::test]
    async fn only_copies_of_files_are_not_forced_onto_the_disk() {
        let kept = FolderStore { sure: Arc::new(InMemory::new()), quick: Arc::new(InMemory::new()) };
        for number in 0..100 {
            kept.put(&Key::from(format!("vaults/main/blobs/{number}")), "x".into()).await.unwrap();
        }
        for key in ["vaults/main/segments/a", "vaults/main/manifests/1", "vaults/main/latest", "vaults/main/state/x"] {
            kept.put(&Key::from(key), "x".into()).await.unwrap();
        }
        assert_eq!((kept.sure.list(None).count().await, kept.quick.list(None).count().await), (4, 100));
    }
}
