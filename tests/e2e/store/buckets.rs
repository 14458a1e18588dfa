//! `atlas init` and `atlas doctor` on real stores.

use std::collections::BTreeMap;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use atlas_mirror::location;
use atlas_testkit::real_store::{RealStore, localstack, minio};
use futures::TryStreamExt as _;
use object_store::{ObjectStoreExt as _, PutPayload};
use serde_json::Value;

use crate::support::deployment::demo;
use crate::support::programs::atlas;

fn stores() -> impl Iterator<Item = &'static RealStore> {
    [localstack(), minio()].into_iter().flatten()
}

fn fresh_bucket() -> String {
    static BUCKETS: AtomicUsize = AtomicUsize::new(0);
    format!("made-{}-{}", std::process::id(), BUCKETS.fetch_add(1, Relaxed))
}

fn run(store: &RealStore, arguments: &[&str]) -> Output {
    let mut command = atlas();
    command.args(arguments).envs(store.environment());
    command.output().unwrap()
}

/// Whether it succeeded, and the state of every setting that `init` checked.
fn init(store: &RealStore, arguments: &[&str]) -> (bool, BTreeMap<String, String>) {
    let output = run(store, &[&["init", "--json", "--store"], arguments].concat());
    let findings: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    let states = findings.as_array().unwrap().iter().map(|finding| (text(finding, "what"), text(finding, "state")));
    (output.status.success(), states.collect())
}

#[test]
fn a_bucket_is_made_and_found_right_the_next_time() {
    for store in stores() {
        let url = format!("s3://{}/team", fresh_bucket());
        let (well, first) = init(store, &[&url]);
        assert!(well, "{first:?}");
        for what in ["the bucket is there", "versions are kept", "old versions expire"] {
            assert_eq!(first[what], "set", "{what}");
        }
        let (well, second) = init(store, &[&url]);
        assert!(well, "{second:?}");
        for what in ["the bucket is there", "versions are kept", "old versions expire"] {
            assert_eq!(second[what], "right", "{what}");
        }
        assert_eq!(second["conditional writes work"], "right");
        // If the store supports it.
        assert!(["right", "unknown"].contains(&second["public access is blocked"].as_str()));
    }
}

#[test]
fn a_bucket_that_was_there_is_changed_only_when_asked() {
    for store in stores() {
        let bucket = fresh_bucket();
        let variables = store.environment();
        let key = format!("{}:{}", variables["AWS_ACCESS_KEY_ID"], variables["AWS_SECRET_ACCESS_KEY"]);
        let made = Command::new("curl")
            .args(["--silent", "--fail", "--request", "PUT", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", &key])
            .arg(format!("{}/{bucket}", store.endpoint()))
            .status();
        assert!(made.unwrap().success());
        let url = format!("s3://{bucket}");
        let (well, first) = init(store, &[&url]);
        assert_eq!((well, first["versions are kept"].as_str()), (false, "wrong"), "{first:?}");
        let (_, again) = init(store, &[&url]);
        assert_eq!(again, first);
        let (well, applied) = init(store, &[&url, "--apply"]);
        assert_eq!((well, applied["versions are kept"].as_str()), (true, "set"), "{applied:?}");
        assert!(init(store, &[&url]).0);
    }
}

/// Whether all checks passed, and the result of each.
fn doctor(store: &RealStore, url: &str) -> (bool, BTreeMap<String, (bool, String)>) {
    let output = run(store, &["doctor", "--json", "--store", url]);
    let checks: Value = serde_json::from_slice(&output.stdout).unwrap();
    let outcome = |check: &Value| (check["ok"].as_bool().unwrap(), check["detail"].as_str().unwrap().to_owned());
    let checks = checks.as_array().unwrap().iter();
    let checks = checks.map(|check| (check["what"].as_str().unwrap().to_owned(), outcome(check))).collect();
    (output.status.success(), checks)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_finds_what_is_wrong() {
    for store in stores() {
        let url = store.fresh_url();
        let (well, checks) = doctor(store, &url);
        assert!(!well && checks["conditional writes"].0 && checks["clock"].0);
        assert!(checks["newest generation"].1.contains("run `atlas sync`"), "{checks:?}");

        let state = tempfile::tempdir().unwrap();
        let (root, state) = (demo(), state.path().display().to_string());
        let synced = run(store, &["sync", "--store", &url, "--root", root.to_str().unwrap(), "--state", &state]);
        assert!(synced.status.success(), "{}", String::from_utf8_lossy(&synced.stderr));
        let (well, checks) = doctor(store, &url);
        assert!(well && checks.len() == 9, "{checks:?}");

        let place = location::open(&url, &store.variables(&[])).unwrap();
        let below = object_store::path::Path::parse(format!("{}/vaults/main/segments", place.prefix())).unwrap();
        let segments: Vec<_> = place.inner().list(Some(&below)).try_collect().await.unwrap();
        let key = &segments[0].location;
        let mut bytes = place.inner().get(key).await.unwrap().bytes().await.unwrap().to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        place.inner().put(key, PutPayload::from(bytes)).await.unwrap();
        let (well, checks) = doctor(store, &url);
        let (ok, detail) = &checks["objects"];
        assert!(!well && !ok && detail.contains(key.as_ref()) && detail.contains("damaged"), "{detail}");
    }
}

#[test]
fn the_doctor_names_a_bucket_that_is_not_there_and_keys_that_are_wrong() {
    for store in stores() {
        let (well, checks) = doctor(store, "s3://no-such-bucket");
        assert!(!well && checks["store"].1.contains("NoSuchBucket"), "{checks:?}");
    }
}
