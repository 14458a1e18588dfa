//! Garbage collection.

use std::collections::HashSet;

use atlas_mirror::{BlobKey, Collected, Mirror, MirrorError, Retention};

use super::{Place, Site, commit, notes_of, whole_history};
use crate::notes::{Delete, Put};

pub(super) async fn run(place: &impl Fn() -> Place) {
    what_is_young_is_not_collected(Site::new(place())).await;
}

/// Collects for a vault without attachments.
async fn collect(mirror: &Mirror, retention: Retention) -> Result<Collected, MirrorError> {
    mirror.collect(retention, |_| std::future::ready(Ok::<HashSet<BlobKey>, MirrorError>(HashSet::new()))).await
}

async fn what_is_young_is_not_collected(site: Site) {
    let writer = site.instance();
    for text in ["one", "two", "three"] {
        commit(&writer, Put::note("a.md", text)).await;
    }
    commit(&writer, Delete("a.md".to_owned())).await;
    // However little was asked to be kept, a writer or reader may still be at it.
    let all = Retention { time: std::time::Duration::ZERO, generations: 1 };
    assert_eq!(collect(&site.instance(), all).await.unwrap(), Collected::default());
    assert_eq!(whole_history(&site.instance()).await.len(), 4);
    assert!(notes_of(&site.instance()).await.unwrap().is_empty());
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;
    use std::time::Duration;

    use atlas_mirror::{Claimed, Hash, StoreOptions};
    use futures::TryStreamExt as _;
    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{ObjectStore as _, ObjectStoreExt as _};
    use proptest::prelude::*;

    use jiff::{SignedDuration, Timestamp};
    use serde_json::{Value, json};

    use super::super::mirror_on;
    use super::*;
    use crate::notes::{Merge, contents};
    use crate::{AgingStore, Fault, FaultStore, Op};

    const DAY: Duration = Duration::from_secs(24 * 3600);

    /// A store that ages, and the vault as it was at each generation.
    struct Aged {
        store: Arc<AgingStore>,
        history: BTreeMap<u64, BTreeMap<String, String>>,
        day: u32,
        /// When each generation was superseded.
        superseded: BTreeMap<u64, u32>,
    }

    impl Aged {
        fn new() -> Self {
            let store = AgingStore::new(Arc::new(InMemory::new()));
            Self { store, history: BTreeMap::new(), day: 0, superseded: BTreeMap::new() }
        }

        fn instance(&self) -> Mirror {
            mirror_on(self.store.clone(), "", StoreOptions::default())
        }

        fn pass(&mut self, days: u32) {
            self.store.pass(DAY * days);
            self.day += days;
        }

        async fn committed(&mut self) {
            let mirror = self.instance();
            let head = mirror.head().await.unwrap();
            if self.history.insert(head.generation(), contents(&head).await.unwrap()).is_none() {
                self.superseded.insert(head.generation() - 1, self.day);
            }
        }

        async fn put(&mut self, path: &str, text: &str) {
            commit(&self.instance(), Put::note(path, text)).await;
            self.committed().await;
        }

        async fn keys(&self) -> BTreeSet<Path> {
            let listed: Vec<_> = self.store.list(None).try_collect().await.unwrap();
            listed.into_iter().map(|object| object.location).collect()
        }

        /// Every generation that has to be there can be read; the answer has those that are.
        async fn check(&self, retention: Retention) -> Vec<u64> {
            let mirror = self.instance();
            let head = *self.history.keys().last().unwrap();
            let days = u32::try_from(retention.time.as_secs() / DAY.as_secs()).unwrap();
            let mut there = Vec::new();
            for (generation, expected) in &self.history {
                let has_to_be = generation + retention.generations > head
                    || self.superseded.get(generation).is_none_or(|day| day + days > self.day);
                match mirror.at(*generation).await.unwrap() {
                    Some(snapshot) => {
                        there.push(*generation);
                        assert_eq!(contents(&snapshot).await.unwrap(), *expected, "generation {generation}");
                    }
                    None => assert!(!has_to_be, "generation {generation} is gone"),
                }
            }
            there
        }
    }

    #[tokio::test]
    async fn what_was_superseded_long_ago_goes_and_an_idle_vault_keeps_its_yesterday() {
        let mut aged = Aged::new();
        let lost = [7, 8].map(|id| aged.instance().keys().segment(atlas_mirror::Id::from_u128(id)));
        aged.store.put(&lost[0], "left by a writer that died".into()).await.unwrap();
        for number in 0..40 {
            aged.put("a.md", &format!("text {number}")).await;
            aged.pass(2);
        }
        aged.store.put(&lost[1], "of a writer that may be at it".into()).await.unwrap();
        let before = aged.keys().await;
        let collected = collect(&aged.instance(), Retention::default()).await.unwrap();
        // The last was superseded never, that before it two days ago, and so on to thirty.
        assert_eq!(aged.check(Retention::default()).await, (25..=40).collect::<Vec<_>>());
        assert_eq!(collected.generations, 24);
        assert_eq!(before.len() - aged.keys().await.len(), (collected.generations + collected.objects) as usize);
        assert!(collected.objects >= 24, "{collected:?}");
        let keys = aged.keys().await;
        assert_eq!(lost.map(|key| keys.contains(&key)), [false, true]);
        assert_eq!(collect(&aged.instance(), Retention::default()).await.unwrap(), Collected::default());
        // A year later the vault has its newest ten.
        aged.pass(365);
        collect(&aged.instance(), Retention::default()).await.unwrap();
        assert_eq!(aged.check(Retention::default()).await, (31..=40).collect::<Vec<_>>());
        aged.put("a.md", "after a year").await;
        // What was the newest for so long was superseded just now.
        collect(&aged.instance(), Retention { generations: 1, ..Retention::default() }).await.unwrap();
        assert_eq!(aged.check(Retention { generations: 1, ..Retention::default() }).await, [40, 41]);
    }

    #[tokio::test]
    async fn an_attachment_goes_with_the_last_generation_that_has_it() {
        let mut aged = Aged::new();
        aged.put("a.md", "a").await;
        let bytes = bytes::Bytes::from("picture");
        let body = futures::stream::iter([Ok::<_, std::io::Error>(bytes.clone())]);
        let key = aged.instance().put_blob(None, Hash::of(&bytes), body).await.unwrap();
        let path = aged.instance().keys().blob(&key);
        aged.pass(100);
        aged.put("a.md", "b").await;
        for (needed, remains) in [(true, true), (false, false)] {
            let blobs = |_| std::future::ready(Ok::<_, MirrorError>(HashSet::from_iter(needed.then_some(key))));
            let retention = Retention { generations: 1, ..Retention::default() };
            aged.instance().collect(retention, blobs).await.unwrap();
            aged.pass(100);
            aged.put("a.md", &format!("{needed}")).await;
            assert_eq!(aged.keys().await.contains(&path), remains);
        }
    }

    const HOUR: Duration = Duration::from_secs(3600);

    /// A store that ages, and a clock that goes with it.
    struct Keyed {
        aged: Aged,
        hours: i32,
    }

    impl Keyed {
        async fn new() -> Self {
            let mut aged = Aged::new();
            aged.put("a.md", "a").await;
            Self { aged, hours: 0 }
        }

        fn pass(&mut self, hours: u32) {
            self.aged.store.pass(HOUR * hours);
            self.hours += i32::try_from(hours).unwrap();
        }

        /// Claims a key for a day.
        async fn claim(&self, arguments: &str) -> Result<Claimed, MirrorError> {
            let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(self.hours.into());
            let arguments = Hash::of(arguments.as_bytes());
            self.aged.instance().claim(Hash::of(b"key"), arguments, now, DAY).await
        }

        async fn write(&self, name: &str, value: &Value) {
            assert!(self.aged.instance().make(name, value).await.unwrap());
        }

        async fn collect(&self) -> u64 {
            collect(&self.aged.instance(), Retention::default()).await.unwrap().objects
        }

        /// The names below `state/`.
        async fn state(&self) -> Vec<String> {
            let keys = self.aged.keys().await;
            let names = keys.iter().filter_map(|key| key.as_ref().split_once("/state/"));
            names.map(|(_, name)| name.to_owned()).collect()
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
        keyed.aged.put("a.md", "b").await;
        assert_eq!(keyed.claim("other").await.unwrap(), Claimed { is_new: false, ..first });
        keyed.pass(1);
        let second = keyed.claim("other").await.unwrap();
        assert!(second.is_new && second.arguments == Hash::of(b"other") && second.key.since == 2);
        assert_ne!(second.key.hash, first.key.hash, "what the first came to is no answer to the second");
        keyed.pass(23);
        assert_eq!(keyed.claim("one").await.unwrap(), Claimed { is_new: false, ..second });
        assert_eq!(keyed.state().await, [claim_name(""), claim_name(".1")]);
        // They go a week after any of them could stand.
        keyed.pass(7 * 24);
        assert_eq!((keyed.collect().await, keyed.state().await.len()), (0, 2));
        keyed.pass(2);
        assert_eq!((keyed.collect().await, keyed.state().await.len()), (2, 0));
        assert!(keyed.claim("third").await.unwrap().is_new);
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
        // Whoever was at it was ended: the next one goes on.
        keyed.pass(8 * 24);
        keyed.collect().await;
        assert_eq!(keyed.state().await, Vec::<String>::new());
        // It was ended when the first was gone.
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
            let faults = FaultStore::new(keyed.aged.store.clone());
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

    #[derive(Clone, Debug)]
    enum Step {
        Put(u8, u8),
        Delete(u8),
        Merge,
        Days(u32),
        Collect,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0..4_u8, any::<u8>()).prop_map(|(note, text)| Step::Put(note, text)),
            2 => (0..4_u8).prop_map(Step::Delete),
            2 => Just(Step::Merge),
            4 => (1..20_u32).prop_map(Step::Days),
            3 => Just(Step::Collect),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

        #[test]
        fn every_generation_that_is_kept_can_be_read(
            steps in prop::collection::vec(step(), 1..40), days in 1..40_u32, generations in 1..6_u64,
        ) {
            let retention = Retention { time: DAY * days, generations };
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
            runtime.block_on(async {
                let mut aged = Aged::new();
                aged.put("0.md", "first").await;
                // An instance that works on while others collect.
                let warm = aged.instance();
                for step in steps {
                    match step {
                        Step::Put(note, text) => {
                            commit(&warm, Put::note(&format!("{note}.md"), &format!("text {text}"))).await;
                        }
                        Step::Delete(note) => {
                            warm.commit(&crate::notes::by("tester"), &Delete(format!("{note}.md"))).await.unwrap();
                        }
                        Step::Merge => {
                            let head = warm.head().await.unwrap();
                            if !head.segments().is_empty() && !contents(&head).await.unwrap().is_empty() {
                                commit(&warm, Merge::of(&head).await).await;
                            }
                        }
                        Step::Days(days) => aged.pass(days),
                        Step::Collect => {
                            collect(&aged.instance(), retention).await.unwrap();
                            aged.check(retention).await;
                        }
                    }
                    aged.committed().await;
                }
                prop_assert_eq!(notes_of(&aged.instance()).await.unwrap(), notes_of(&warm).await.unwrap());
                Ok(())
            })?;
        }
    }
}
