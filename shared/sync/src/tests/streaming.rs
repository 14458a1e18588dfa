//! A large folder is published segment by segment: full ones are uploaded while the next ones are filled.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use atlas_mirror::Hash;
use atlas_testkit::notes::{Put, by};
use atlas_testkit::{CountingStore, Fault, FaultStore, Op, VaultBuilder};
use futures::FutureExt as _;
use jiff::Timestamp;
use object_store::memory::InMemory;

use super::{Host, after, at, done, files, many};
use crate::{Phase, Progress, Summary, SyncError, SyncOptions, sync};

const NOTES: u64 = 80;
const NOTE_BYTES: u64 = 8 << 10;
/// With this size, about eight notes fill a segment.
const FULL_BYTES: usize = 32 << 10;
const SEGMENT_BYTES: u64 = 9 * NOTE_BYTES;

/// Text that compression hardly shortens.
fn noise(seed: u64) -> String {
    let line = |number: u64| format!("{}\n", Hash::of(&[seed, number].map(u64::to_le_bytes).concat()));
    (0..NOTE_BYTES / 65).map(line).collect()
}

fn large() -> VaultBuilder {
    (0..NOTES).fold(VaultBuilder::new(), |vault, number| vault.note(&format!("{number:02}.md"), &noise(number)))
}

fn streaming(host: &Host) -> SyncOptions {
    SyncOptions { full_bytes: FULL_BYTES, began: Timestamp::now(), ..host.options() }
}

async fn streamed(host: &Host, progress: Arc<dyn Progress>) -> Result<Summary, SyncError> {
    sync(&host.mirror(), &streaming(host), progress).await
}

/// A sync that is killed at the `call`th progress of `phase`; its last requests arrive nevertheless.
async fn killed(host: &Host, phase: Phase, call: usize) {
    let kill = after(phase, call, || panic!("killed"));
    let ended = AssertUnwindSafe(streamed(host, kill)).catch_unwind().await;
    assert!(!matches!(ended, Ok(Ok(_))), "{ended:?}");
    tokio::time::sleep(Duration::from_millis(200)).await;
}

/// The keys of the segments that were uploaded since the last call.
fn uploads(store: &CountingStore) -> Vec<String> {
    let requests = store.take();
    let created = requests.of(Op::Create).filter(|request| request.key.contains("/segments/"));
    created.map(|request| request.key.clone()).collect()
}

#[tokio::test]
async fn full_segments_are_uploaded_before_the_last_file_is_read() {
    let store = CountingStore::new(Arc::new(InMemory::new()));
    let host = Host::with_store(large(), store.clone());
    let early = Arc::new(AtomicUsize::new(0));
    let look = {
        let (store, early) = (store.clone(), early.clone());
        move || early.store(uploads(&store).len(), Ordering::Relaxed)
    };
    let summary = streamed(&host, after(Phase::Index, NOTES as usize - 1, look)).await.unwrap();
    let (early, late) = (early.load(Ordering::Relaxed), uploads(&store).len());
    assert_eq!(done(&summary), (NOTES, 0, 0));
    assert!(early >= 5 && late <= 4, "{early} uploads, and {late} after the last file was read");

    let head = host.mirror().head().await.unwrap();
    let ranges: Vec<&str> =
        head.segments().iter().flat_map(|entry| [&*entry.layout.first, &*entry.layout.last]).collect();
    assert!(head.segments().len() == early + late && ranges.is_sorted(), "{ranges:?}");
    assert_eq!(host.mirrored().await, files(host.vault.root()));
    assert_eq!(done(&streamed(&host, Arc::new(())).await.unwrap()), (0, 0, 0));
}

/// Counts the bytes that were indexed.
#[derive(Default)]
struct Indexed(AtomicU64);

impl Progress for Indexed {
    fn begin(&self, _: Phase, _: Option<u64>) {
        self.0.store(0, Ordering::Relaxed);
    }

    fn advance(&self, units: u64) {
        self.0.fetch_add(units, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_store_that_does_not_take_segments_stops_the_reading() {
    let faults = FaultStore::new(Arc::new(InMemory::new()));
    faults.always(Op::Create, "/segments/", Fault::Silence);
    let host = Host::with_store(large(), faults.clone());
    let indexed = Arc::new(Indexed::default());
    let ended = tokio::time::timeout(Duration::from_secs(2), streamed(&host, indexed.clone())).await;
    assert!(ended.is_err(), "{ended:?}");
    let bytes = indexed.0.load(Ordering::Relaxed);
    // One is sent, one is finished, and one is full.
    assert!((NOTE_BYTES..=3 * SEGMENT_BYTES + NOTE_BYTES).contains(&bytes), "{bytes} bytes were indexed");
}

#[tokio::test]
async fn a_segment_that_is_refused_ends_the_sync_with_the_reason() {
    let faults = FaultStore::new(Arc::new(InMemory::new()));
    faults.script(Op::Create, "/segments/", [None, Some(Fault::Refused)]);
    let host = Host::with_store(large(), faults.clone());
    let indexed = Arc::new(Indexed::default());
    let error = streamed(&host, indexed.clone()).await.unwrap_err().to_string();
    assert!(error.contains("403"), "{error}");
    assert!(indexed.0.load(Ordering::Relaxed) < NOTES * NOTE_BYTES, "all files were read in vain");
    assert!(host.mirror().head().await.is_err());
    assert_eq!(done(&streamed(&host, Arc::new(())).await.unwrap()), (NOTES, 0, 0));
    assert_eq!(host.mirrored().await, files(host.vault.root()));
}

#[tokio::test]
async fn a_first_sync_that_is_killed_goes_on_with_the_segments_that_it_uploaded() {
    let store = CountingStore::new(Arc::new(InMemory::new()));
    let host = Host::with_store(large(), store.clone());
    killed(&host, Phase::Index, NOTES as usize - 1).await;
    let sent = uploads(&store).len();
    assert!(sent >= 5, "{sent} segments were uploaded");

    let summary = streamed(&host, Arc::new(())).await.unwrap();
    let again = uploads(&store);
    let total = host.mirror().head().await.unwrap().segments().len();
    assert_eq!(done(&summary), (NOTES, 0, 0));
    assert!(again.len() <= total - sent, "{sent} of {total} segments were there, and {} were sent again", again.len());
    assert!(summary.uploaded_bytes < (again.len() as u64 + 1) * SEGMENT_BYTES, "{summary:?}");
    assert_eq!(host.mirrored().await, files(host.vault.root()));
}

#[tokio::test]
async fn what_changed_since_a_sync_was_killed_is_published_as_it_is() {
    let host = Host::new(large());
    killed(&host, Phase::Index, NOTES as usize - 1).await;
    host.vault.write("40.md", b"changed since");
    host.vault.remove("79.md");
    assert_eq!(done(&streamed(&host, Arc::new(())).await.unwrap()), (NOTES - 1, 0, 0));
    assert_eq!(host.mirrored().await, files(host.vault.root()));
}

#[tokio::test]
async fn uploads_that_garbage_collection_may_delete_are_sent_again() {
    let store = CountingStore::new(Arc::new(InMemory::new()));
    let host = Host::with_store(large(), store.clone());
    killed(&host, Phase::Commit, 0).await;
    let sent = uploads(&store);
    let late = SyncOptions { began: Timestamp::now() + Duration::from_secs(11 * 3600), ..streaming(&host) };
    sync(&host.mirror(), &late, Arc::new(())).await.unwrap();
    let mirror = host.mirror();
    let head = mirror.head().await.unwrap();
    let named: Vec<String> = head.segments().iter().map(|entry| mirror.keys().segment(entry.id).to_string()).collect();
    assert!(sent.len() > 5 && named.len() == sent.len() + 1, "{sent:?} {named:?}");
    assert!(!named.iter().any(|key| sent.contains(key)), "{sent:?} {named:?}");
    assert_eq!(host.mirrored().await, files(host.vault.root()));
}

/// Lets an agent write a note just before the commit of a large sync. Returns how many segments were uploaded before
/// that, and after it.
async fn raced(path: &str) -> (usize, usize) {
    let store = CountingStore::new(Arc::new(InMemory::new()));
    let host = Host::with_store(many(1), store.clone());
    streamed(&host, Arc::new(())).await.unwrap();
    for (name, bytes) in files(large().root()) {
        host.vault.write(&name, &bytes);
    }
    store.take();
    let before = Arc::new(AtomicUsize::new(0));
    let write = {
        let (mirror, put) = (host.mirror(), Put::note(path, "of an agent"));
        let (store, before) = (store.clone(), before.clone());
        move || {
            before.store(uploads(&store).len(), Ordering::Relaxed);
            let (mirror, put) = (mirror.clone(), put.clone());
            let commit = async move { mirror.commit(&by("agent"), &put).await.map(drop) };
            let run = move || tokio::runtime::Runtime::new().unwrap().block_on(commit);
            std::thread::spawn(run).join().unwrap().unwrap();
        }
    };
    streamed(&host, at(Phase::Commit, write)).await.unwrap();
    let after = uploads(&store).len();
    let head = host.mirror().head().await.unwrap();
    assert_eq!(head.generation(), 3);
    assert_eq!(host.text("55.md").await, Some(if path == "55.md" { "of an agent".to_owned() } else { noise(55) }));
    let mirrored: BTreeMap<_, _> = host.mirrored().await.into_iter().filter(|(name, _)| name != path).collect();
    let expected: BTreeMap<_, _> = files(host.vault.root()).into_iter().filter(|(name, _)| name != path).collect();
    assert_eq!(mirrored, expected);
    (before.load(Ordering::Relaxed), after)
}

#[tokio::test]
async fn a_lost_race_sends_no_segment_again() {
    let (before, after) = raced("of the agent.md").await;
    // The agent's segment, and the last of the sync, which was not full.
    assert!(before >= 8 && after <= 3, "{before} uploads, and {after} after the race");
}

#[tokio::test]
async fn a_race_lost_at_a_path_sends_only_the_segments_that_it_changes() {
    let (before, after) = raced("55.md").await;
    assert!(before >= 8 && after < before, "{before} uploads, and {after} after the race");
}
