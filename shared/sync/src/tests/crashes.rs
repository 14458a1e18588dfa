//! A sync may be killed at any instant: the next one completes it, and readers see whole generations only.

use std::sync::Arc;
use std::time::Duration;

use atlas_testkit::{Fault, FaultStore, Op, VaultBuilder};
use object_store::memory::InMemory;

use super::{Files, Host, done, files};

/// A sync that is killed when the store does not answer `op` on a key that contains `key`.
async fn killed(host: &Host, faults: &FaultStore, op: Op, key: &str, fault: Fault) {
    faults.always(op, key, fault);
    let ended = tokio::time::timeout(Duration::from_millis(400), host.sync()).await;
    assert!(ended.is_err(), "the sync ended before {op:?} {key}: {ended:?}");
    faults.heal();
}

const STEPS: [(Op, &str); 4] =
    [(Op::Create, "/blobs/"), (Op::Create, "/segments/"), (Op::Create, "/manifests/"), (Op::Put, "/latest")];

#[tokio::test]
async fn a_first_sync_that_is_killed_is_completed_by_the_next() {
    for (op, key) in STEPS {
        for fault in [Fault::Silence, Fault::SilenceAfter] {
            let faults = FaultStore::new(Arc::new(InMemory::new()));
            let vault = VaultBuilder::new().note("a.md", "a").note("b.md", "b").file("c.png", b"c");
            let host = Host::with_store(vault, faults.clone());
            killed(&host, &faults, op, key, fault).await;
            host.sync().await.unwrap();
            completes(&host, 1, files(host.vault.root())).await;
        }
    }
}

#[tokio::test]
async fn a_later_sync_that_is_killed_is_completed_by_the_next() {
    for (op, key) in STEPS {
        for fault in [Fault::Silence, Fault::SilenceAfter] {
            let faults = FaultStore::new(Arc::new(InMemory::new()));
            let vault = VaultBuilder::new().note("a.md", "a").note("b.md", "b").file("c.png", b"c").note("d.md", "d");
            let host = Host::with_store(vault, faults.clone());
            host.sync().await.unwrap();
            let before = host.mirrored().await;
            host.vault.write("a.md", b"changed");
            host.vault.remove("b.md");
            host.vault.write("e.png", b"new");
            killed(&host, &faults, op, key, fault).await;
            let seen = host.mirrored().await;
            assert!(seen == before || seen == files(host.vault.root()), "half a generation after {op:?} {key}");
            // The folder's last version counts, whether or not the commit happened.
            host.vault.write("d.md", b"changed since");
            host.sync().await.unwrap();
            let generation = host.mirror().head().await.unwrap().generation();
            completes(&host, generation, files(host.vault.root())).await;
        }
    }
}

#[tokio::test]
async fn what_an_interrupted_sync_uploaded_is_not_uploaded_again() {
    for size in [1000, 9 << 20] {
        let faults = FaultStore::new(Arc::new(InMemory::new()));
        let vault = VaultBuilder::new().note("a.md", "a").file("c.png", &vec![7; size]);
        let host = Host::with_store(vault, faults.clone());
        faults.always(Op::Create, "/manifests/", Fault::Silence);
        let ended = tokio::time::timeout(Duration::from_secs(5), host.sync_at_once()).await;
        assert!(ended.is_err(), "{ended:?}");
        faults.heal();
        let summary = host.sync_at_once().await.unwrap();
        assert!(done(&summary) == (2, 0, 0) && summary.uploaded_bytes < 20_000, "{summary:?}");
        assert_eq!(host.mirrored().await, files(host.vault.root()));
        // A sync that completes counts all bytes sent.
        host.vault.write("d.png", &vec![8; size]);
        assert!(host.sync_at_once().await.unwrap().uploaded_bytes >= size as u64);
    }
}

async fn completes(host: &Host, generation: u64, expected: Files) {
    assert_eq!(host.mirrored().await, expected);
    let summary = host.sync().await.unwrap();
    assert_eq!((summary.generation, done(&summary), summary.waiting), (generation, (0, 0, 0), 0));
}

#[tokio::test]
async fn a_store_that_fails_is_reported_and_nothing_is_forgotten() {
    for (op, key) in [(Op::Create, "/blobs/"), (Op::Create, "/segments/"), (Op::Get, "/latest")] {
        let faults = FaultStore::new(Arc::new(InMemory::new()));
        let host = Host::with_store(VaultBuilder::new().note("a.md", "a").file("c.png", b"c"), faults.clone());
        host.sync().await.unwrap();
        host.vault.write("a.md", b"changed");
        host.vault.write("c.png", b"changed");
        faults.always(op, key, Fault::Refused);
        let error = host.sync().await.unwrap_err().to_string();
        assert!(error.contains("403") && !error.contains('\n'), "{error}");
        faults.heal();
        assert_eq!(done(&host.sync().await.unwrap()), (0, 2, 0));
    }
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_happened_once() {
    let faults = FaultStore::new(Arc::new(InMemory::new()));
    let host = Host::with_store(VaultBuilder::new().note("a.md", "a"), faults.clone());
    host.sync().await.unwrap();
    for fault in [Fault::ErrorAfter, Fault::OwnSuccess, Fault::Error] {
        faults.once(Op::Create, "/manifests/", fault);
        host.vault.write("a.md", format!("{fault:?}").as_bytes());
        assert_eq!(done(&host.sync().await.unwrap()), (0, 1, 0), "{fault:?}");
    }
    assert_eq!(host.mirror().head().await.unwrap().generation(), 4);
}

#[tokio::test]
async fn a_state_that_cannot_be_written_is_reported_and_the_next_sync_completes() {
    let host = Host::published(VaultBuilder::new().note("a.md", "a")).await;
    host.vault.write("a.md", b"changed");
    // A folder at the path of the temporary file.
    let blocked = host.state().join("state.new");
    std::fs::create_dir(&blocked).unwrap();
    let error = host.refusal().await;
    assert!(error.contains("sync state") && error.contains("written"), "{error}");
    std::fs::remove_dir(&blocked).unwrap();
    let summary = host.sync().await.unwrap();
    assert_eq!((summary.generation, done(&summary)), (2, (0, 1, 0)));
}
