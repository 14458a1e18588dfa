//! LocalStack behind a proxy that breaks requests: the errors for readers, writers and callers of functions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atlas_mirror::{CommitInfo, Committed, Mirror, MirrorError, Options, PartCache, Store, location};
use atlas_testkit::notes::{Put, by, contents};
use atlas_testkit::real_store::{RealStore, localstack};
use atlas_testkit::{Broken, FaultProxy, Op};
use serde_json::json;

use crate::support::deployment::{Client, demo};

/// Temporary faults: the answer contains only the failure.
const PASSING: [Broken; 7] = [
    Broken::Answer(503),
    Broken::Answer(429),
    Broken::AnswerAfter(500),
    Broken::Reset,
    Broken::ResetBefore,
    Broken::Truncated,
    Broken::Slow(Duration::from_millis(3_500)),
];

/// A vault in LocalStack, reached through a proxy by some and directly by others.
struct Site {
    store: &'static RealStore,
    proxy: FaultProxy,
    url: String,
}

impl Site {
    async fn new() -> Option<Self> {
        let store = localstack()?;
        Some(Self { proxy: FaultProxy::new(store.endpoint()).await, url: store.fresh_url(), store })
    }

    fn store(&self) -> Store {
        let endpoint = self.proxy.endpoint();
        location::open(&self.url, &self.store.variables(&[("AWS_ENDPOINT_URL", &endpoint)])).unwrap()
    }

    /// A process that reaches the store through the proxy.
    fn mirror(&self) -> Mirror {
        open(self.store())
    }

    /// One that does not.
    fn direct(&self) -> Mirror {
        open(location::open(&self.url, &self.store.variables(&[])).unwrap())
    }
}

fn open(store: Store) -> Mirror {
    Mirror::open(store, "main".parse().unwrap(), Arc::new(PartCache::new(1 << 20)), Options::default()).unwrap()
}

async fn notes_of(mirror: &Mirror) -> Result<BTreeMap<String, String>, MirrorError> {
    let (notes, _) = mirror.read(async |snapshot: Arc<_>| contents(&snapshot).await).await?;
    Ok(notes)
}

/// The number of commits with each message.
async fn messages(mirror: &Mirror) -> BTreeMap<String, usize> {
    let mut messages = BTreeMap::new();
    let Ok(head) = mirror.head().await else { return messages };
    let history = mirror.history(head.generation(), usize::MAX).await.unwrap();
    assert_eq!(history.len() as u64, head.generation(), "generations are missing");
    for snapshot in history {
        *messages.entry(snapshot.manifest().message.clone().unwrap()).or_default() += 1;
    }
    messages
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_is_repeated_until_its_time_is_over() {
    let Some(site) = Site::new().await else { return };
    let info = CommitInfo { message: Some("first".to_owned()), ..by("writer") };
    site.direct().commit(&info, &Put::note("a.md", &"text ".repeat(1000))).await.unwrap();
    for broken in PASSING {
        for (op, key) in [(Op::Get, "/latest"), (Op::Range, "/segments/")] {
            site.proxy.script(op, key, [Some(broken)]);
            assert_eq!(notes_of(&site.mirror()).await.unwrap().len(), 1, "{broken:?} {key}");
            site.proxy.heal();
        }
        site.proxy.always(Op::Get, "/latest", broken);
        let begun = Instant::now();
        let Err(error) = notes_of(&site.mirror()).await else { panic!("{broken:?} did not fail") };
        assert!(matches!(error, MirrorError::Unavailable { .. }), "{broken:?}: {error:?}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{broken:?}: {:?}", begun.elapsed());
        site.proxy.heal();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_is_told_at_once() {
    let Some(site) = Site::new().await else { return };
    let info = CommitInfo { message: Some("first".to_owned()), ..by("writer") };
    site.direct().commit(&info, &Put::note("a.md", "text")).await.unwrap();
    for (broken, says) in
        [(Broken::Answer(403), "check the credentials"), (Broken::NoBucket, "check the bucket's name")]
    {
        let before = site.proxy.count(Op::Get, "/latest");
        site.proxy.always(Op::Get, "/latest", broken);
        let error = notes_of(&site.mirror()).await.unwrap_err();
        assert!(matches!(error, MirrorError::StoreRefused { .. }) && error.to_string().contains(says), "{error}");
        assert_eq!(site.proxy.count(Op::Get, "/latest") - before, 1, "{broken:?}");
        site.proxy.heal();
        for (op, key) in [(Op::Create, "/manifests/"), (Op::Create, "/segments/")] {
            site.proxy.always(op, key, broken);
            let refused = site.mirror().commit(&by("writer"), &Put::note("b.md", "text")).await;
            assert!(matches!(refused, Err(MirrorError::StoreRefused { action: "write", .. })), "{refused:?}");
            site.proxy.heal();
        }
    }
    assert_eq!(messages(&site.direct()).await.len(), 1);
}

/// Every way to break a write, at every step of a commit, once and twice in a row.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_writer_is_told_is_what_happened() {
    let Some(site) = Site::new().await else { return };
    let writer = site.mirror();
    let mut told = BTreeMap::new();
    for broken in PASSING {
        for (op, key) in [(Op::Create, "/segments/"), (Op::Create, "/manifests/"), (Op::Put, "/latest")] {
            for times in [1, 2] {
                site.proxy.script(op, key, vec![Some(broken); times]);
                let message = format!("{broken:?} {key} {times}");
                let info = CommitInfo { message: Some(message.clone()), ..by("writer") };
                let committed = writer.commit(&info, &Put::note("a.md", &message)).await;
                site.proxy.heal();
                told.insert(message, committed);
            }
        }
    }
    let happened = messages(&site.direct()).await;
    for (message, committed) in &told {
        let count = happened.get(message).copied().unwrap_or(0);
        match committed {
            Ok(Committed::New(..)) => assert_eq!(count, 1, "{message}"),
            // There is only time for two slow answers.
            Err(MirrorError::Unavailable { .. }) => {
                assert_eq!((count, message.contains("Slow")), (0, true), "{message}")
            }
            Err(error) => panic!("{message}: {error}, and it happened {count} times"),
            other => panic!("{message}: {other:?}, and it happened {count} times"),
        }
    }
    assert!(told.values().filter(|committed| committed.is_err()).count() <= 1);
}

/// The answer is lost, and then the store is unavailable until the deadline.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_known_is_said_not_to_be() {
    let Some(site) = Site::new().await else { return };
    let info = CommitInfo { message: Some("first".to_owned()), ..by("writer") };
    site.direct().commit(&info, &Put::note("a.md", "text")).await.unwrap();
    for (broken, happens) in [(Broken::AnswerAfter(500), 1), (Broken::Answer(503), 0)] {
        site.proxy.always(Op::Create, "/manifests/", broken);
        let next = format!("{:020}", messages(&site.direct()).await.len() + 1);
        site.proxy.script(Op::Get, &next, [None].into_iter().chain([Some(Broken::Answer(503)); 200]));
        let message = format!("{broken:?}");
        let info = CommitInfo { message: Some(message.clone()), deadline: Duration::from_secs(2), ..by("writer") };
        let outcome = site.mirror().commit(&info, &Put::note("a.md", "text")).await;
        site.proxy.heal();
        assert!(matches!(outcome, Err(MirrorError::CommitUnknown { .. })), "{broken:?}: {outcome:?}");
        let happened = messages(&site.direct()).await;
        assert_eq!(happened.get(&message).copied().unwrap_or(0), happens, "{broken:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_are_told_to_try_again() {
    let Some(site) = Site::new().await else { return };
    let state = tempfile::tempdir().unwrap();
    crate::support::publish::publish(&demo(), &site.direct(), state.path()).await;
    let client = || Client::over(&site.store());
    client().post("/find", json!({ "term": "now" })).await.ok();
    for broken in PASSING {
        site.proxy.always(Op::Get, "/latest", broken);
        let begun = Instant::now();
        let reply = client().post("/find", json!({ "term": "now" })).await;
        assert_eq!(reply.status, 503, "{broken:?}");
        let (code, reason, message) = reply.error(503);
        assert_eq!((code.as_str(), reason.as_str()), ("UNAVAILABLE", "store_unavailable"), "{broken:?}");
        assert_eq!(reply.header("retry-after"), Some("2"));
        assert_eq!(reply.json()["error"]["details"]["retry_after_seconds"], 2);
        assert!(begun.elapsed() < Duration::from_secs(10));
        assert!(!message.contains("127.0.0.1") && !message.contains("s3://"), "{message}");
        site.proxy.heal();
    }
    client().post("/find", json!({ "term": "now" })).await.ok();
}
