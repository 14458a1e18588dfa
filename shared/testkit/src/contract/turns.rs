//! Many writers at once, in one process and in several, by a clock on which only requests take time.

use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::{CommitInfo, Mirror, MirrorError, StoreOptions};
use futures::future::join_all;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use tokio::time::Instant;

use super::{Site, StorePrefix, commit, expect_new, mirror_on, notes_of};
use crate::counting::CountingStore;
use crate::faults::Fault;
use crate::notes::{Put, by};
use crate::request::Op;

/// Commits of each writer.
const COMMITS: usize = 5;

/// The result of a run.
#[derive(Debug)]
struct Run {
    /// For each commit, by the clock.
    each: Duration,
    /// The longest that one took.
    longest: Duration,
    /// How many manifests were sent to the store.
    manifests: usize,
}

/// Each of `writers` writes as fast as it can, with the mirror of one of `processes` in turn.
async fn run(store: Arc<dyn ObjectStore>, writers: usize, processes: usize) -> Run {
    let store = CountingStore::new(store);
    let mirrors: Vec<Mirror> = (0..processes).map(|_| mirror_on(store.clone(), "", StoreOptions::default())).collect();
    commit(&mirrors[0], Put::note("first.md", "")).await;
    store.take();
    let begun = Instant::now();
    let writer = |writer: usize| {
        let mirror = mirrors[writer % processes].clone();
        async move {
            let mut longest = Duration::ZERO;
            for number in 0..COMMITS {
                let begun = Instant::now();
                let info = CommitInfo { deadline: Duration::from_secs(600), ..by("writer") };
                let name = format!("{writer} {number}.md");
                expect_new(mirror.commit(&info, &Put::note(&name, &name)).await);
                longest = longest.max(begun.elapsed());
            }
            longest
        }
    };
    let longest = join_all((0..writers).map(writer)).await.into_iter().max().unwrap();
    let each = begun.elapsed() / (writers * COMMITS) as u32;
    let manifests = store.take().of(Op::Create).filter(|create| create.key.contains("/manifests/")).count();
    assert_eq!(notes_of(&mirror_on(store, "", StoreOptions::default())).await.unwrap().len(), writers * COMMITS + 1);
    Run { each, longest, manifests }
}

#[tokio::test(start_paused = true)]
async fn writers_of_one_process_do_not_race() {
    let store = || Arc::new(InMemory::new());
    let few = run(store(), 4, 1).await;
    for writers in [1, 4, 16, 64] {
        let run = run(store(), writers, 1).await;
        assert_eq!(run.manifests, writers * COMMITS, "{writers} writers: a race was lost");
        assert!(run.each <= few.each || writers == 1, "{writers} writers: {run:?}, 4: {few:?}");
        assert!(run.longest <= few.each * 2 * writers as u32 + Duration::from_millis(5), "{writers} writers: {run:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn writers_of_many_processes_lose_few_races() {
    for processes in [4, 16] {
        let run = run(Arc::new(InMemory::new()), processes, processes).await;
        assert!(run.manifests <= 3 * processes * COMMITS, "{processes} processes: {run:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn writers_of_many_processes_lose_few_races_in_a_slow_store() {
    const PROCESSES: usize = 16;
    let latency = Duration::from_millis(20);
    let slow = ThrottleConfig {
        wait_get_per_call: latency,
        wait_put_per_call: latency,
        wait_list_per_call: latency,
        ..ThrottleConfig::default()
    };
    let run = run(Arc::new(ThrottledStore::new(InMemory::new(), slow)), PROCESSES, PROCESSES).await;
    assert!(run.manifests <= 5 * PROCESSES * COMMITS, "{run:?}");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_one_that_is_stuck_goes_on_without() {
    let site = Site::new(StorePrefix { store: Arc::new(InMemory::new()), prefix: String::new() });
    let mirror = site.instance();
    commit(&mirror, Put::note("first.md", "")).await;
    site.faults.script(Op::Create, "/manifests/", [Some(Fault::Silence)]);
    let stuck = async {
        let info = CommitInfo { deadline: Duration::from_secs(3), ..by("stuck") };
        mirror.commit(&info, &Put::note("stuck.md", "")).await
    };
    let other = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let begun = Instant::now();
        expect_new(mirror.commit(&by("other"), &Put::note("other.md", "")).await);
        begun.elapsed()
    };
    let (stuck, other) = futures::future::join(stuck, other).await;
    assert!(other < Duration::from_secs(1), "{other:?}");
    assert!(matches!(stuck, Ok(_) | Err(MirrorError::CommitUnknown { .. } | MirrorError::Contended)), "{stuck:?}");
    assert!(notes_of(&site.instance()).await.unwrap().contains_key("other.md"));
}
