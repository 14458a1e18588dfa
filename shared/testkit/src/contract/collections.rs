//! Garbage collection.

use std::collections::HashSet;

use atlas_mirror::{BlobKey, Collected, Mirror, MirrorError, Retention};

use super::{Place, Site, commit, notes_of, whole_history};
use crate::notes::{Delete, Put};

pub(super) async fn run(place: &impl Fn() -> Place) {
    what_is_young_is_not_collected(Site::new(place())).await;
}

/// Collects for a vault without attachments.
pub(super) async fn collect(mirror: &Mirror, retention: Retention) -> Result<Collected, MirrorError> {
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

    use atlas_mirror::{Hash, StoreOptions};
    use futures::TryStreamExt as _;
    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{ObjectStore as _, ObjectStoreExt as _};
    use proptest::prelude::*;

    use super::super::mirror_on;
    use super::*;
    use crate::AgingStore;
    use crate::notes::{Merge, contents};

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
