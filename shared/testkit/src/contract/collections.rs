//! Garbage collection.

use atlas_mirror::{Collected, Mirror, MirrorError, Retention};
use jiff::Timestamp;

use super::{Site, StorePrefix, commit, notes_of, whole_history};
use crate::notes::{Delete, Put};

pub(super) async fn run(place: &impl Fn() -> StorePrefix) {
    what_is_young_is_not_collected(Site::new(place())).await;
}

/// Collects by the store's clock.
pub(super) async fn collect(mirror: &Mirror, retention: Retention) -> Result<Collected, MirrorError> {
    mirror.collect(retention, Timestamp::MAX).await
}

async fn what_is_young_is_not_collected(site: Site) {
    let writer = site.instance();
    for text in ["one", "two", "three"] {
        commit(&writer, Put::note("a.md", text)).await;
    }
    commit(&writer, Delete("a.md".to_owned())).await;
    // Even with the shortest retention, a running writer or reader is protected.
    let all = Retention { time: std::time::Duration::ZERO, generations: 1, ..Retention::default() };
    assert_eq!(collect(&site.instance(), all).await.unwrap(), Collected::default());
    assert_eq!(whole_history(&site.instance()).await.len(), 4);
    assert!(notes_of(&site.instance()).await.unwrap().is_empty());
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;
    use std::time::Duration;

    use atlas_mirror::{BlobKey, Hash, StoreOptions};
    use futures::TryStreamExt as _;
    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{ObjectStore as _, ObjectStoreExt as _};
    use proptest::prelude::*;

    use super::super::mirror_on;
    use super::*;
    use crate::notes::{Attach, Merge, contents};
    use crate::{AgingStore, CountingStore, Op};

    const DAY: Duration = Duration::from_secs(24 * 3600);

    /// A store that ages, and the vault at each generation.
    struct Aged {
        store: Arc<AgingStore>,
        history: BTreeMap<u64, BTreeMap<String, String>>,
        day: u32,
        /// Whether the clock was set: then times are unreliable.
        jumped: bool,
        /// When each generation was superseded.
        superseded: BTreeMap<u64, u32>,
    }

    impl Aged {
        fn new() -> Self {
            let store = AgingStore::new(Arc::new(InMemory::new()));
            Self { store, history: BTreeMap::new(), day: 0, jumped: false, superseded: BTreeMap::new() }
        }

        fn instance(&self) -> Mirror {
            mirror_on(self.store.clone(), "", StoreOptions::default())
        }

        fn pass(&mut self, days: u32) {
            self.store.pass(DAY * days);
            self.day += days;
        }

        /// Sets the clock forward by `days`, without that time passing.
        fn jump(&mut self, days: i32) {
            let time = DAY * days.unsigned_abs();
            if days < 0 {
                self.store.turn_back(time)
            } else {
                self.store.pass(time)
            }
            self.jumped = true;
        }

        async fn committed(&mut self) {
            let mirror = self.instance();
            let head = mirror.head().await.unwrap();
            if self.history.insert(head.generation(), contents(&head).await.unwrap()).is_none() {
                self.superseded.insert(head.generation() - 1, self.day);
            }
        }

        async fn attachment(&self, text: &'static str) -> BlobKey {
            let bytes = bytes::Bytes::from(text);
            let body = futures::stream::iter([Ok::<_, std::io::Error>(bytes.clone())]);
            self.instance().put_blob(None, Hash::of(&bytes), body).await.unwrap()
        }

        async fn put(&mut self, path: &str, text: &str) {
            commit(&self.instance(), Put::note(path, text)).await;
            self.committed().await;
        }

        async fn keys(&self) -> BTreeSet<Path> {
            let listed: Vec<_> = self.store.list(None).try_collect().await.unwrap();
            let kept_by_collections = |key: &Path| key.as_ref().ends_with("/state/collection");
            listed.into_iter().map(|object| object.location).filter(|key| !kept_by_collections(key)).collect()
        }

        /// Checks that every generation that must exist can be read; returns those that exist.
        async fn check(&self, retention: Retention) -> Vec<u64> {
            let mirror = self.instance();
            let head = *self.history.keys().last().unwrap();
            let days = u32::try_from(retention.time.as_secs() / DAY.as_secs()).unwrap();
            let mut there = Vec::new();
            for (generation, expected) in &self.history {
                let has_to_be = generation + retention.generations > head
                    || (!self.jumped && self.superseded.get(generation).is_none_or(|day| day + days > self.day));
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
        // The last was never superseded, the one before it two days ago, and so on to thirty.
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
        // The generation that was the newest for so long was superseded just now.
        collect(&aged.instance(), Retention { generations: 1, ..Retention::default() }).await.unwrap();
        assert_eq!(aged.check(Retention { generations: 1, ..Retention::default() }).await, [40, 41]);
    }

    #[tokio::test]
    async fn an_attachment_goes_with_the_last_generation_that_has_it() {
        let aged = Aged::new();
        let first = aged.attachment("first").await;
        let second = aged.attachment("second").await;
        let path = |key| aged.instance().keys().blob(&key);
        commit(&aged.instance(), Attach("a.png".to_owned(), first)).await;
        aged.store.pass(DAY * 100);
        let retention = Retention { generations: 1, ..Retention::default() };
        // The second was uploaded long before it was committed, for a generation between the oldest kept one and the
        // newest.
        commit(&aged.instance(), Attach("a.png".to_owned(), second)).await;
        commit(&aged.instance(), Delete("a.png".to_owned())).await;
        collect(&aged.instance(), retention).await.unwrap();
        let keys = aged.keys().await;
        assert_eq!([first, second].map(|key| keys.contains(&path(key))), [true, true]);
        aged.store.pass(DAY * 100);
        collect(&aged.instance(), retention).await.unwrap();
        let keys = aged.keys().await;
        assert_eq!([first, second].map(|key| keys.contains(&path(key))), [false, false]);
    }

    #[tokio::test]
    async fn an_attachment_that_comes_again_is_kept() {
        let aged = Aged::new();
        commit(&aged.instance(), Put::note("a.md", "text")).await;
        let again = aged.attachment("again").await;
        for deleted in [true, false] {
            commit(&aged.instance(), Attach("a.png".to_owned(), again)).await;
            if deleted {
                commit(&aged.instance(), Delete("a.png".to_owned())).await;
            }
        }
        // The first collection reads that it came twice; for the second the oldest kept generation is the one without it.
        collect(&aged.instance(), Retention::default()).await.unwrap();
        aged.store.pass(DAY * 100);
        collect(&aged.instance(), Retention { generations: 2, ..Retention::default() }).await.unwrap();
        assert!(aged.instance().at(2).await.unwrap().is_none() && aged.instance().at(3).await.unwrap().is_some());
        assert!(aged.keys().await.contains(&aged.instance().keys().blob(&again)));
    }

    #[tokio::test]
    async fn what_the_newest_generation_refers_to_stays_whatever_its_time_says() {
        let mut aged = Aged::new();
        aged.pass(20_000);
        aged.put("a.md", "first").await;
        aged.pass(100);
        aged.put("b.md", "second").await;
        aged.pass(1);
        aged.put("b.md", "third").await;
        let mirror = aged.instance();
        let keys = mirror.keys();
        for generation in [2, 3] {
            let snapshot = mirror.at(generation).await.unwrap().unwrap();
            aged.store.date_back(&keys.manifest(generation), DAY * 3000);
            snapshot.segments().iter().for_each(|entry| aged.store.date_back(&keys.segment(entry.id), DAY * 3000));
        }
        let collected = collect(&aged.instance(), Retention::default()).await.unwrap();
        assert_eq!((collected.objects, collected.ran_back), (0, Some(3)));
        assert_eq!(aged.check(Retention::default()).await, [1, 2, 3]);
        assert_eq!(mirror.ran_back().await.unwrap(), Some(3));
    }

    #[tokio::test]
    async fn the_clock_that_is_behind_counts() {
        let mut aged = Aged::new();
        for number in 0..20 {
            aged.put("a.md", &format!("{number}")).await;
            aged.pass(1);
        }
        let retention = Retention { generations: 1, ..Retention::default() };
        let today = Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_hours(24 * 20);
        // The store's clock jumps ahead, the caller's does not.
        aged.store.pass(DAY * 1000);
        assert_eq!(aged.instance().collect(retention, today).await.unwrap(), Collected::default());
        aged.store.turn_back(DAY * 1000);
        assert_eq!(collect(&aged.instance(), retention).await.unwrap(), Collected::default());
        assert_eq!(aged.check(retention).await.len(), 20);
    }

    #[tokio::test]
    async fn nothing_goes_before_all_was_read_that_could_refer_to_it() {
        let mut aged = Aged::new();
        aged.put("a.md", "old").await;
        aged.pass(40);
        for number in 0..30 {
            aged.put("a.md", &format!("{number}")).await;
        }
        let counting = CountingStore::new(aged.store.clone());
        let mirror = || mirror_on(counting.clone(), "", StoreOptions::default());
        let retention = Retention { reads: 10, ..Retention::default() };
        let mut unread = Vec::new();
        for _ in 0..4 {
            counting.take();
            unread.push(collect(&mirror(), retention).await.unwrap().unread);
            let requests = counting.take();
            let manifests = requests.of(Op::Get).filter(|request| request.key.contains("manifests/")).count();
            // The ten, and the head, the oldest, and the last that was read.
            assert!(manifests <= 10 + 5, "{requests}");
        }
        assert_eq!(unread, [20, 10, 0, 0]);
        assert_eq!(aged.check(retention).await.len(), 31);
        // The stored additions are damaged, or of another mirror: they are read again.
        let kept = aged.instance().keys().state("collection").unwrap();
        for bad in ["", "{}", "x"] {
            aged.store.put(&kept, bad.into()).await.unwrap();
            assert_eq!(collect(&mirror(), retention).await.unwrap().unread, 20);
        }
    }

    #[tokio::test]
    async fn a_collection_with_nothing_to_do_asks_for_little() {
        let mut aged = Aged::new();
        for number in 0..30 {
            aged.put(&format!("{number}.md"), "text").await;
        }
        collect(&aged.instance(), Retention::default()).await.unwrap();
        let counting = CountingStore::new(aged.store.clone());
        collect(&mirror_on(counting.clone(), "", StoreOptions::default()), Retention::default()).await.unwrap();
        let requests = counting.take();
        // The hint, the head, the oldest kept generation, and the stored additions; listings of three folders and of
        // the state.
        assert!(requests.count() <= 23, "{requests}");
    }

    #[derive(Clone, Debug)]
    enum Step {
        Put(u8, u8),
        Delete(u8),
        Merge,
        Days(u32),
        Jump(i32),
        Collect,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0..4_u8, any::<u8>()).prop_map(|(note, text)| Step::Put(note, text)),
            2 => (0..4_u8).prop_map(Step::Delete),
            2 => Just(Step::Merge),
            4 => (1..20_u32).prop_map(Step::Days),
            2 => prop_oneof![-400..400_i32, Just(-20_000), Just(20_000)].prop_map(Step::Jump),
            3 => Just(Step::Collect),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

        #[test]
        fn every_generation_that_is_kept_can_be_read(
            steps in prop::collection::vec(step(), 1..40), days in 1..40_u32, generations in 1..6_u64, reads in 1..30_usize,
        ) {
            let retention = Retention { time: DAY * days, generations, reads };
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
            runtime.block_on(async {
                let mut aged = Aged::new();
                aged.put("0.md", "first").await;
                // An instance that continues while others collect.
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
                        Step::Jump(days) => aged.jump(days),
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
