//! Temporary state: claims, which end, and other objects, which expire by age.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::{Claimed, Hash, Mirror, MirrorError, Retention, StoreOptions};
use futures::TryStreamExt as _;
use jiff::{SignedDuration, Timestamp};
use object_store::ObjectStore as _;
use object_store::memory::InMemory;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::collections::collect;
use super::{commit, mirror_on};
use crate::notes::Put;
use crate::{AgingStore, Fault, FaultStore, Op};

const DAY: Duration = Duration::from_secs(24 * 3600);
const HOUR: Duration = Duration::from_secs(3600);

/// A store that ages, and a clock in step with it.
struct Keyed {
    store: Arc<AgingStore>,
    hours: i32,
}

impl Keyed {
    async fn new() -> Self {
        let keyed = Self { store: AgingStore::new(Arc::new(InMemory::new())), hours: 0 };
        keyed.commit("a").await;
        keyed
    }

    fn instance(&self) -> Mirror {
        mirror_on(self.store.clone(), "", StoreOptions::default())
    }

    async fn commit(&self, text: &str) {
        commit(&self.instance(), Put::note("a.md", text)).await;
    }

    fn pass(&mut self, hours: u32) {
        self.store.pass(HOUR * hours);
        self.hours += i32::try_from(hours).unwrap();
    }

    /// Claims a key for a day.
    async fn claim(&self, arguments: &str) -> Result<Claimed, MirrorError> {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(self.hours.into());
        let arguments = Hash::of(arguments.as_bytes());
        self.instance().claim(Hash::of(b"key"), arguments, now, DAY).await
    }

    async fn write(&self, name: &str, value: &Value) {
        assert!(self.instance().create_state_if_absent(name, value).await.unwrap());
    }

    async fn collect(&self) -> u64 {
        collect(&self.instance(), Retention::default()).await.unwrap().objects
    }

    /// The names below `state/`, except those of collections themselves.
    async fn state(&self) -> Vec<String> {
        let listed: Vec<_> = self.store.list(None).try_collect().await.unwrap();
        let names = listed.iter().filter_map(|object| object.location.as_ref().split_once("/state/"));
        let names: BTreeSet<String> =
            names.map(|(_, name)| name.to_owned()).filter(|name| name != "collection").collect();
        names.into_iter().collect()
    }
}

fn claim_name(end: &str) -> String {
    format!("claims/{}{end}", Hash::of(b"key"))
}

#[tokio::test]
async fn a_key_is_free_when_its_time_is_over() {
    let mut keyed = Keyed::new().await;
    let first = keyed.claim("one").await.unwrap();
    assert!(first.is_new && first.arguments == Hash::of(b"one") && first.key.since == 1);
    keyed.pass(23);
    keyed.commit("b").await;
    assert_eq!(keyed.claim("other").await.unwrap(), Claimed { is_new: false, ..first });
    keyed.pass(1);
    let second = keyed.claim("other").await.unwrap();
    assert!(second.is_new && second.arguments == Hash::of(b"other") && second.key.since == 2);
    assert_ne!(second.key.hash, first.key.hash, "what the first came to is no answer to the second");
    keyed.pass(23);
    assert_eq!(keyed.claim("one").await.unwrap(), Claimed { is_new: false, ..second });
    assert_eq!(keyed.state().await, [claim_name(""), claim_name(".1")]);
    // They are deleted a week after any of them could be valid.
    keyed.pass(7 * 24);
    assert_eq!((keyed.collect().await, keyed.state().await.len()), (0, 2));
    keyed.pass(2);
    assert_eq!((keyed.collect().await, keyed.state().await.len()), (2, 0));
    assert!(keyed.claim("third").await.unwrap().is_new);
}

#[tokio::test]
async fn a_claim_stands_that_a_store_says_is_old_whose_clock_was_behind() {
    let mut keyed = Keyed::new().await;
    let (key, now) = (Hash::of(b"key"), Timestamp::now());
    let claimed = keyed.instance().claim(key, key, now, DAY).await.unwrap();
    keyed.pass(365 * 24);
    assert_eq!(keyed.collect().await, 0);
    assert_eq!(keyed.instance().claim(key, key, now, DAY).await.unwrap(), Claimed { is_new: false, ..claimed });
}

#[tokio::test(start_paused = true)]
async fn who_slept_claims_from_what_is_there_now() {
    let keyed = Keyed::new().await;
    let sleeper = keyed.instance();
    sleeper.head().await.unwrap();
    keyed.commit("b").await;
    tokio::time::advance(DAY).await;
    let hash = Hash::of(b"key");
    assert_eq!(sleeper.claim(hash, hash, Timestamp::UNIX_EPOCH, DAY).await.unwrap().key.since, 2);
}

#[tokio::test]
async fn a_claim_by_an_older_version_stands_as_long_as_it_is_there() {
    let mut keyed = Keyed::new().await;
    keyed.write(&claim_name(""), &json!({ "arguments": Hash::of(b"one"), "since": 1 })).await;
    keyed.pass(8 * 24 - 1);
    assert_eq!(keyed.collect().await, 0);
    let found = keyed.claim("other").await.unwrap();
    assert!(!found.is_new && found.arguments == Hash::of(b"one") && found.key.hash == Hash::of(b"key"));
    keyed.pass(2);
    assert_eq!(keyed.collect().await, 1);
    assert!(keyed.claim("other").await.unwrap().is_new);
}

#[tokio::test]
async fn while_the_claims_of_a_key_go_nobody_claims_it_where_it_would_not_be_found() {
    let mut keyed = Keyed::new().await;
    let closed = json!({ "closed": true });
    keyed.claim("one").await.unwrap();
    keyed.write(&claim_name(".1"), &closed).await;
    assert!(!keyed.claim("one").await.unwrap().is_new);
    keyed.pass(25);
    assert!(keyed.claim("one").await.unwrap_err().is_retryable());
    // An interrupted collection is continued by the next one.
    keyed.pass(8 * 24);
    keyed.collect().await;
    assert_eq!(keyed.state().await, Vec::<String>::new());
    // It was interrupted after the first was deleted.
    keyed.write(&claim_name(".1"), &closed).await;
    assert!(keyed.claim("one").await.unwrap().is_new);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_made_while_older_ones_of_its_key_go_stays() {
    for slow in ["", ".1", ".2", ".3"] {
        let mut keyed = Keyed::new().await;
        for arguments in ["one", "two", "three"] {
            keyed.claim(arguments).await.unwrap();
            keyed.pass(24);
        }
        keyed.pass(8 * 24);
        let faults = FaultStore::new(keyed.store.clone());
        faults.once(Op::Other, &claim_name(slow), Fault::Slow(Duration::from_secs(1)));
        let collector = mirror_on(faults, "", StoreOptions::default());
        let claim = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            keyed.claim("new").await
        };
        let (collected, claimed) = futures::join!(collect(&collector, Retention::default()), claim);
        assert_eq!(collected.unwrap().objects, 3);
        let after = keyed.claim("other").await.unwrap();
        match claimed {
            Ok(claimed) => assert_eq!((claimed.is_new, after), (true, Claimed { is_new: false, ..claimed })),
            Err(error) => assert!(error.is_retryable() && after.is_new, "{slow}: {error}"),
        }
    }
}

#[tokio::test]
async fn what_a_person_granted_outlives_the_codes_of_the_authorization_server() {
    let mut keyed = Keyed::new().await;
    let names = ["oauth/codes/a", "oauth/attempts/b/c", "oauth/grants/d", "oauth/grants/d.ended", "oauth/refresh/d.e"];
    for name in names {
        keyed.write(name, &json!({})).await;
    }
    keyed.pass(3 * 24);
    assert_eq!(keyed.collect().await, 2);
    assert_eq!(keyed.state().await, ["oauth/grants/d", "oauth/grants/d.ended", "oauth/refresh/d.e"]);
    keyed.pass(60 * 24);
    assert_eq!(keyed.collect().await, 1);
    keyed.pass(300 * 24);
    assert_eq!(keyed.collect().await, 0);
    keyed.pass(10 * 24);
    assert_eq!(keyed.collect().await, 2);
}

#[tokio::test]
async fn what_is_kept_for_a_while_goes_by_its_age() {
    let mut keyed = Keyed::new().await;
    let names = ["confirmations/a", "confirmations/a.used", "throttle/x/00000000000000000007", "writing/1-x"];
    for name in names {
        keyed.write(name, &json!({})).await;
    }
    keyed.write("of another version", &json!({})).await;
    keyed.pass(48);
    assert_eq!(keyed.collect().await, 0);
    keyed.pass(1);
    keyed.write("throttle/x/00000000000000000008", &json!({})).await;
    assert_eq!(keyed.collect().await, 4);
    assert_eq!(keyed.state().await, ["of another version", "throttle/x/00000000000000000008"]);
}

#[tokio::test]
async fn captures_stay_a_month() {
    let mut keyed = Keyed::new().await;
    keyed.write("captures/x/1", &json!({})).await;
    keyed.write("captures/x/1.committed", &json!({})).await;
    keyed.pass(31 * 24);
    assert_eq!((keyed.collect().await, keyed.state().await.len()), (0, 2));
    keyed.pass(1);
    assert_eq!((keyed.collect().await, keyed.state().await.len()), (2, 0));
}

#[tokio::test]
async fn what_an_app_was_asked_is_kept_as_long_as_a_key_is_known() {
    let mut keyed = Keyed::new().await;
    for name in ["app/requests/00000000000000000007-a", "app/taken/a", "app/answers/a"] {
        keyed.write(name, &json!({})).await;
    }
    keyed.pass(8 * 24);
    assert_eq!(keyed.collect().await, 0);
    keyed.pass(1);
    assert_eq!(keyed.collect().await, 3);
}

#[derive(Clone, Copy, Debug)]
enum KeyStep {
    Claim(u8),
    Hours(u32),
    Collect,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_claim_stands_until_its_time_is_over_whatever_is_collected(
        steps in prop::collection::vec(
            prop_oneof![
                4 => (0..3_u8).prop_map(KeyStep::Claim),
                4 => prop_oneof![0..30_u32, 150..250_u32].prop_map(KeyStep::Hours),
                2 => Just(KeyStep::Collect),
            ],
            1..40,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut keyed = Keyed::new().await;
            let mut standing: Option<(Hash, i32)> = None;
            for step in steps {
                match step {
                    KeyStep::Claim(arguments) => {
                        let wanted = arguments.to_string();
                        let claimed = keyed.claim(&wanted).await.unwrap();
                        let stands = standing.filter(|(_, end)| keyed.hours < *end);
                        prop_assert_eq!(claimed.is_new, stands.is_none());
                        let (expected, end) = stands.unwrap_or((Hash::of(wanted.as_bytes()), keyed.hours + 24));
                        prop_assert_eq!(claimed.arguments, expected);
                        standing = Some((expected, end));
                    }
                    KeyStep::Hours(hours) => keyed.pass(hours),
                    KeyStep::Collect => drop(keyed.collect().await),
                }
            }
            Ok(())
        })?;
    }
}
