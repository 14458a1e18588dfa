//! The mirror on real stores.

use std::time::{Duration, Instant};

use atlas_mirror::{Mirror, MirrorError, Options, PartCache, Store, location};
use atlas_testkit::contract::{StorePrefix, mirror_contract};
use atlas_testkit::real_store::{RealStore, localstack, minio};

/// Commits of each of the 16 writers in the race.
const COMMITS: usize = 50;

async fn keeps_the_contract(store: &RealStore) {
    let place = || {
        let store = store.fresh();
        StorePrefix { prefix: store.prefix().to_owned(), store: store.inner().clone() }
    };
    mirror_contract(place, COMMITS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn localstack_keeps_the_contract() {
    if let Some(store) = localstack() {
        keeps_the_contract(store).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn minio_keeps_the_contract() {
    if let Some(store) = minio() {
        keeps_the_contract(store).await;
    }
}

/// The error of reading from `store`, which must come in time and on one line.
async fn refusal(store: Store) -> MirrorError {
    let begun = Instant::now();
    let mirror = Mirror::open(store, "main".parse().unwrap(), PartCache::new(0).into(), Options::default()).unwrap();
    let error = mirror.head().await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}: {error}", begun.elapsed());
    assert!(!error.to_string().contains('\n'), "{error}");
    error
}

#[tokio::test]
async fn a_bucket_that_is_not_there_is_told_in_one_sentence() {
    for store in [localstack(), minio()].into_iter().flatten() {
        let message = refusal(location::open("s3://no-such-bucket", &store.variables(&[])).unwrap()).await.to_string();
        assert!(message.contains("s3://no-such-bucket") && message.contains("NoSuchBucket"), "{message}");
    }
}

#[tokio::test]
async fn wrong_keys_are_told_in_one_sentence() {
    let Some(store) = minio() else { return };
    for (name, value, says) in [
        ("AWS_ACCESS_KEY_ID", "nobody", "InvalidAccessKeyId"),
        ("AWS_SECRET_ACCESS_KEY", "wrong", "SignatureDoesNotMatch"),
    ] {
        let error = refusal(location::open(&store.fresh_url(), &store.variables(&[(name, value)])).unwrap()).await;
        assert!(matches!(error, MirrorError::StoreRefused { .. }), "{error:?}");
        let message = error.to_string();
        assert!(message.contains(says) && message.contains("check AWS_ACCESS_KEY_ID"), "{message}");
        assert!(!message.contains(value), "{message}");
    }
}
