//! Attachments.

use atlas_mirror::{BlobKey, Hash, Mirror, MirrorError};
use bytes::{Bytes, BytesMut};
use futures::stream::{self, TryStreamExt as _};
use object_store::ObjectStoreExt as _;

use super::{Site, StorePrefix, assert_damaged};

pub(super) async fn run(place: &impl Fn() -> StorePrefix) {
    a_blob_comes_back_as_it_was(Site::new(place())).await;
    a_blob_that_changed_meanwhile_is_refused(Site::new(place())).await;
    a_damaged_blob_is_named(Site::new(place())).await;
}

async fn put(mirror: &Mirror, parent: Option<Hash>, sha256: Hash, bytes: &Bytes) -> Result<BlobKey, MirrorError> {
    let pieces = (0..bytes.len()).step_by(100_000).map(|at| bytes.slice(at..bytes.len().min(at + 100_000)));
    mirror.put_blob(parent, sha256, stream::iter(pieces.map(Ok::<_, std::io::Error>))).await
}

async fn get(mirror: &Mirror, key: &BlobKey) -> Result<BytesMut, MirrorError> {
    let body = mirror.get_blob(key).await?;
    body.try_fold(BytesMut::new(), async |mut all, piece| {
        all.extend_from_slice(&piece);
        Ok(all)
    })
    .await
}

fn some_bytes(length: u32) -> Bytes {
    (0..length).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<_>>().into()
}

async fn a_blob_comes_back_as_it_was(site: Site) {
    let mirror = site.instance();
    for length in [0, 1, 1 << 20, 20_000_000] {
        let bytes = some_bytes(length);
        let key = put(&mirror, None, Hash::of(&bytes), &bytes).await.unwrap();
        assert_eq!(get(&site.instance(), &key).await.unwrap(), bytes);
        // Nothing refers to it, so it may be about to be deleted.
        let again = put(&mirror, None, Hash::of(&bytes), &bytes).await.unwrap();
        assert_ne!(again, key);
        assert_eq!(get(&site.instance(), &again).await.unwrap(), bytes);
        let later = put(&mirror, Some(Hash::of(b"a manifest")), Hash::of(&bytes), &bytes).await.unwrap();
        assert_ne!(key, later, "what another generation uploads has a key of its own");
    }
}

async fn a_blob_that_changed_meanwhile_is_refused(site: Site) {
    let mirror = site.instance();
    for length in [100, 20_000_000] {
        let refused = put(&mirror, None, Hash::of(b"before"), &some_bytes(length)).await;
        assert!(matches!(refused, Err(MirrorError::Conflict { .. })), "{refused:?}");
    }
    let broken = stream::iter([Ok(some_bytes(9_000_000)), Err("the disk is gone")]);
    let refused = mirror.put_blob(None, Hash::of(b""), broken).await;
    assert!(matches!(refused, Err(MirrorError::Conflict { .. })), "{refused:?}");
    let prefix = object_store::path::Path::parse(&site.place.prefix).unwrap();
    let left: Vec<_> = site.place.store.list(Some(&prefix)).try_collect().await.unwrap();
    assert!(left.is_empty(), "{left:?}");
}

async fn a_damaged_blob_is_named(site: Site) {
    let mirror = site.instance();
    let bytes = some_bytes(1000);
    let key = put(&mirror, None, Hash::of(&bytes), &bytes).await.unwrap();
    let path = site.keys().blob(&key);
    let mut damaged = bytes.to_vec();
    damaged[500] ^= 1;
    site.overwrite(&path, damaged).await;
    assert_damaged(get(&mirror, &key).await, &path);
    site.place.store.delete(&path).await.unwrap();
    assert_damaged(get(&mirror, &key).await, &path);
}
