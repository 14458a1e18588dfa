//! Commits under random faults, checked against the invariants of any history.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::{CommitInfo, CommitKey, Committed, Hash, MirrorError};
use futures::future::join_all;
use object_store::memory::InMemory;
use proptest::prelude::*;

use super::{Site, StorePrefix, notes_of, whole_history};
use crate::faults::Fault;
use crate::notes::{Put, by};
use crate::request::Op;

/// The answer that a writer got for one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CommitAnswer {
    Happened,
    DidNot,
    Unknown,
}

fn write_fault() -> impl Strategy<Value = Option<Fault>> {
    prop_oneof![
        3 => Just(None),
        4 => prop::sample::select(vec![
            Fault::Error,
            Fault::ErrorAfter,
            Fault::OwnSuccess,
            Fault::Silence,
            Fault::SilenceAfter,
            Fault::Refused,
            Fault::Slow(Duration::from_millis(100)),
            Fault::Slow(Duration::from_secs(2)),
            Fault::Late(Duration::from_millis(600)),
            Fault::Late(Duration::from_secs(5)),
        ])
        .prop_map(Some),
    ]
}

fn read_fault() -> impl Strategy<Value = Option<Fault>> {
    prop_oneof![
        6 => Just(None),
        3 => prop::sample::select(vec![
            Fault::Error,
            Fault::Silence,
            Fault::Truncated,
            Fault::Refused,
            Fault::Slow(Duration::from_millis(200)),
        ])
        .prop_map(Some),
    ]
}

/// The faults of a run's requests, by kind.
#[derive(Clone, Debug)]
struct Script {
    creates: Vec<Option<Fault>>,
    uploads: Vec<Option<Fault>>,
    hints: Vec<Option<Fault>>,
    manifests: Vec<Option<Fault>>,
    listings: Vec<Option<Fault>>,
}

fn script() -> impl Strategy<Value = Script> {
    let listing = prop_oneof![Just(None), Just(Some(Fault::Error)), (1..3usize).prop_map(|lag| Some(Fault::Lag(lag)))];
    (
        prop::collection::vec(write_fault(), 0..40),
        prop::collection::vec(
            write_fault().prop_filter("a put has no such answer", |fault| *fault != Some(Fault::OwnSuccess)),
            0..10,
        ),
        prop::collection::vec(
            prop_oneof![Just(None), Just(Some(Fault::Error)), Just(Some(Fault::Late(Duration::from_secs(3))))],
            0..10,
        ),
        prop::collection::vec(read_fault(), 0..60),
        prop::collection::vec(listing, 0..6),
    )
        .prop_map(|(creates, uploads, hints, manifests, listings)| Script {
            creates,
            uploads,
            hints,
            manifests,
            listings,
        })
}

/// Runs `writers` writers of `commits` commits each, keyed or not, in one process or one each, against `script`; checks the history.
async fn run(script: Script, writers: usize, commits: usize, keyed: bool, together: bool) {
    let site = Site::new(StorePrefix { store: Arc::new(InMemory::new()), prefix: String::new() });
    super::commit(&site.instance(), Put::note("first.md", "")).await;
    site.faults.script(Op::Create, "/manifests/", script.creates);
    site.faults.script(Op::Create, "/segments/", script.uploads);
    site.faults.script(Op::Put, "/latest", script.hints);
    site.faults.script(Op::Get, "/manifests/", script.manifests);
    site.faults.script(Op::List, "", script.listings);

    let shared = site.impatient();
    let writer = |writer: usize| {
        let mirror = if together { shared.clone() } else { site.impatient() };
        async move {
            let mut told = Vec::new();
            for number in 0..commits {
                let name = format!("{writer} {number}.md");
                let info = CommitInfo {
                    message: Some(name.clone()),
                    // Keyed clients have a short deadline, so that they repeat more often.
                    deadline: if keyed { Duration::from_millis(700) } else { Duration::from_secs(4) },
                    key: keyed.then(|| CommitKey { hash: Hash::of(name.as_bytes()), since: 1, is_executed: false }),
                    ..by("writer")
                };
                // A keyed commit is repeated until its outcome is known, as a client would.
                let mut tries = 0;
                let outcome = loop {
                    let outcome = mirror.commit(&info, &Put::note(&name, &name)).await;
                    tries += 1;
                    if outcome.is_ok() || !keyed || tries == 20 {
                        break outcome;
                    }
                };
                told.push((
                    name,
                    match outcome {
                        Ok(Committed::New(snapshot, ())) => {
                            assert_eq!(snapshot.manifest().message, info.message);
                            CommitAnswer::Happened
                        }
                        Ok(Committed::Replayed { .. }) => CommitAnswer::Happened,
                        Ok(Committed::Unchanged(..)) => panic!("a put always changes"),
                        Err(MirrorError::CommitUnknown { .. }) => CommitAnswer::Unknown,
                        Err(MirrorError::Damaged { object, reason }) => panic!("{object} is called damaged: {reason}"),
                        Err(_) if keyed && tries > 1 => CommitAnswer::Unknown,
                        Err(_) => CommitAnswer::DidNot,
                    },
                ));
            }
            told
        }
    };
    let told: Vec<_> = join_all((0..writers).map(writer)).await.into_iter().flatten().collect();
    // Late requests arrive now.
    site.faults.heal();
    tokio::time::sleep(Duration::from_secs(60)).await;

    let history = whole_history(&site.instance()).await;
    let mut happened: BTreeMap<&str, usize> = BTreeMap::new();
    for snapshot in &history {
        *happened.entry(snapshot.manifest().message.as_deref().unwrap_or("first.md")).or_default() += 1;
    }
    let notes = notes_of(&site.instance()).await.unwrap();
    for (name, told) in &told {
        let times = happened.get(name.as_str()).copied().unwrap_or(0);
        let allowed = match told {
            CommitAnswer::Happened => 1..=1,
            CommitAnswer::DidNot => 0..=0,
            CommitAnswer::Unknown => 0..=1,
        };
        assert!(allowed.contains(&times), "{name}: told {told:?}, happened {times} times");
        assert_eq!(notes.contains_key(name), times == 1, "{name}");
    }
    assert_eq!(notes.len(), happened.len());
}

fn on_a_paused_clock(run: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(run);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_a_writer_is_told_is_true(script in script(), writers in 1..6usize, together in any::<bool>()) {
        on_a_paused_clock(run(script, writers, 5, false, together));
    }

    #[test]
    fn what_is_repeated_with_a_key_happens_once(script in script(), writers in 1..6usize, together in any::<bool>()) {
        on_a_paused_clock(run(script, writers, 3, true, together));
    }
}
