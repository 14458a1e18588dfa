//! Generations, history, keys, merges.

use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::manifest::Totals;
use atlas_mirror::{
    Attempt, ChangeSet, CommitInfo, CommitKey, Committed, Derived, Hash, Manifest, MirrorError, Snapshot,
};
use futures::future::join;

use super::{Site, StorePrefix, commit, expect_new, notes_of, whole_history};
use crate::notes::{Delete, Merge, Put, by, contents};

pub(super) async fn run(place: &impl Fn() -> StorePrefix) {
    a_vault_is_not_published_until_its_first_commit(Site::new(place())).await;
    generations_name_their_parents(Site::new(place())).await;
    nothing_to_do_makes_no_generation(Site::new(place())).await;
    older_generations_can_be_read(Site::new(place())).await;
    a_keyed_commit_happens_once(Site::new(place())).await;
    one_key_used_twice_at_once_happens_once(Site::new(place())).await;
    an_answer_is_found_beyond_a_purge_but_not_beyond_a_collection(Site::new(place())).await;
    a_replay_comes_before_a_precondition(Site::new(place())).await;
    a_merge_carries_over_tombstones(Site::new(place())).await;
    a_merge_that_would_bring_notes_back_is_refused(Site::new(place())).await;
    a_merge_of_what_was_merged_is_refused(Site::new(place())).await;
    many_tombstones_are_an_object_of_their_own(Site::new(place())).await;
    what_is_too_large_is_refused(Site::new(place())).await;
}

async fn a_vault_is_not_published_until_its_first_commit(site: Site) {
    let mirror = site.instance();
    let unpublished = mirror.not_published();
    assert_eq!(mirror.head().await.unwrap_err(), unpublished);
    assert!(mirror.at(1).await.unwrap().is_none());
    commit(&mirror, Put::note("a.md", "one")).await;
    assert_eq!(notes_of(&site.instance()).await.unwrap()["a.md"], "one");
}

async fn generations_name_their_parents(site: Site) {
    let mirror = site.instance();
    for text in ["one", "two", "three"] {
        commit(&mirror, Put::note("a.md", text)).await;
    }
    let second = site.bytes(&site.keys().manifest(2)).await;
    let third = Manifest::decode(&site.bytes(&site.keys().manifest(3)).await).unwrap();
    assert_eq!(third.parent, Some(Hash::of(&second)));
    assert_eq!(third.lineage, Manifest::decode(&second).unwrap().lineage);
    assert_eq!(site.bytes(&site.keys().latest()).await, site.bytes(&site.keys().manifest(3)).await);
    let history = whole_history(&site.instance()).await;
    let totals: Vec<_> = history.iter().map(|snapshot| snapshot.manifest().totals.notes).collect();
    assert_eq!(totals, [1, 1, 1]);
}

async fn nothing_to_do_makes_no_generation(site: Site) {
    let mirror = site.instance();
    let unchanged = mirror.commit(&by("tester"), &Delete("a.md".to_owned())).await;
    assert!(matches!(unchanged, Ok(Committed::Unchanged(None, ()))), "{unchanged:?}");
    commit(&mirror, Put::note("a.md", "one")).await;
    let unchanged = mirror.commit(&by("tester"), &Delete("b.md".to_owned())).await;
    assert!(matches!(unchanged, Ok(Committed::Unchanged(Some(_), ()))), "{unchanged:?}");
    assert_eq!(mirror.head().await.unwrap().generation(), 1);
}

async fn older_generations_can_be_read(site: Site) {
    let mirror = site.instance();
    for text in ["one", "two", "three"] {
        commit(&mirror, Put::note("a.md", text)).await;
    }
    let reader = site.instance();
    let older = reader.at(2).await.unwrap().unwrap();
    assert_eq!(contents(&older).await.unwrap()["a.md"], "two");
    assert!(reader.at(4).await.unwrap().is_none());
    let generations = |history: Vec<Arc<Snapshot>>| history.iter().map(|of| of.generation()).collect::<Vec<_>>();
    assert_eq!(generations(reader.history(3, 2).await.unwrap()), [3, 2]);
    site.remove(&site.keys().manifest(1)).await;
    assert_eq!(generations(reader.history(3, 10).await.unwrap()), [3, 2]);
    assert!(reader.gaps(3, 10).await.unwrap().is_empty(), "the oldest may be gone");
    for text in ["four", "five", "six", "seven"] {
        commit(&mirror, Put::note("a.md", text)).await;
    }
    for lost in [3, 5, 6] {
        site.remove(&site.keys().manifest(lost)).await;
    }
    assert_eq!(reader.gaps(7, 10).await.unwrap(), [5..=6, 3..=3]);
    assert_eq!(generations(reader.history(7, 10).await.unwrap()), [7]);
    assert_eq!(generations(reader.history_over_gaps(7, 10).await.unwrap()), [7, 4, 2]);
    assert_eq!(generations(reader.history_over_gaps(7, 2).await.unwrap()), [7, 4]);
}

fn keyed(since: u64) -> CommitInfo {
    CommitInfo { key: Some(CommitKey { hash: Hash::of(b"key"), since, is_executed: false }), ..by("agent") }
}

async fn a_keyed_commit_happens_once(site: Site) {
    let mirror = site.instance();
    commit(&mirror, Put::note("a.md", "one")).await;
    let change = Put::note("a.md", "by key");
    let key = |since| CommitKey { hash: Hash::of(b"key"), since, is_executed: false };
    assert_eq!(mirror.committed(key(1)).await.unwrap(), None);
    expect_new(mirror.commit(&keyed(1), &change).await);
    for text in ["three", "four"] {
        commit(&mirror, Put::note("a.md", text)).await;
    }
    for instance in [mirror, site.instance()] {
        match instance.commit(&keyed(1), &change).await.unwrap() {
            Committed::Replayed { generation, result } => assert_eq!((generation, &result["put"]), (2, &1.into())),
            other => panic!("expected the earlier answer: {other:?}"),
        }
        assert_eq!(notes_of(&instance).await.unwrap()["a.md"], "four");
        let (generation, result) = instance.committed(key(1)).await.unwrap().unwrap();
        assert_eq!((generation, &result["put"]), (2, &1.into()));
        assert_eq!(instance.committed(key(2)).await.unwrap(), None, "it came to that by an earlier claim");
    }
}

async fn one_key_used_twice_at_once_happens_once(site: Site) {
    commit(&site.instance(), Put::note("a.md", "one")).await;
    let (one, two) = (site.instance(), site.instance());
    let (info, change) = (keyed(1), Put::note("b.md", "by key"));
    let (first, second) = join(one.commit(&info, &change), two.commit(&info, &change)).await;
    match (first.unwrap(), second.unwrap()) {
        (Committed::New(..), Committed::Replayed { .. }) | (Committed::Replayed { .. }, Committed::New(..)) => {}
        outcomes => panic!("expected one commit and one replay: {outcomes:?}"),
    }
    assert_eq!(whole_history(&one).await.len(), 2);
}

async fn an_answer_is_found_beyond_a_purge_but_not_beyond_a_collection(site: Site) {
    let mirror = site.instance();
    let change = Put::note("a.md", "by key");
    commit(&mirror, Put::note("a.md", "one")).await;
    expect_new(mirror.commit(&keyed(1), &change).await);
    commit(&mirror, Put::note("a.md", "three")).await;
    mirror.purge(&by("owner"), &[]).await.unwrap();
    let key = |name: &[u8]| CommitKey { hash: Hash::of(name), since: 1, is_executed: false };
    for instance in [mirror, site.instance()] {
        assert_eq!(instance.committed(key(b"key")).await.unwrap().unwrap().0, 2);
        assert_eq!(instance.committed(key(b"other")).await.unwrap(), None);
        let again = instance.commit(&keyed(1), &change).await;
        assert!(matches!(again, Ok(Committed::Replayed { generation: 2, .. })), "{again:?}");
    }
    site.remove(&site.keys().manifest(2)).await;
    let mirror = site.instance();
    assert_eq!(mirror.committed(key(b"key")).await, Err(MirrorError::Forgotten { before: 3 }));
    let again = mirror.commit(&keyed(1), &change).await;
    assert!(matches!(again, Err(MirrorError::Forgotten { before: 3 })), "{again:?}");
    assert_eq!(mirror.head().await.unwrap().generation(), 4);
}

/// A change that can be made only once: afterwards its precondition fails.
struct IfAbsent(Put);

impl ChangeSet for IfAbsent {
    type Error = MirrorError;
    type Outcome = ();

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<()>, MirrorError> {
        let derived = self.0.derive(head).await?.derived.unwrap();
        if derived.changes.changed > 0 {
            return Err(MirrorError::Conflict { reason: "the note exists".to_owned() });
        }
        Ok(Some(derived).into())
    }
}

async fn a_replay_comes_before_a_precondition(site: Site) {
    commit(&site.instance(), Put::note("a.md", "one")).await;
    let change = IfAbsent(Put::note("b.md", "by key"));
    expect_new(site.instance().commit(&keyed(1), &change).await);
    let again = site.instance().commit(&keyed(1), &change).await;
    assert!(matches!(again, Ok(Committed::Replayed { generation: 2, .. })), "{again:?}");
    let other =
        CommitInfo { key: Some(CommitKey { hash: Hash::of(b"other"), since: 1, is_executed: false }), ..by("agent") };
    let other = site.instance().commit(&other, &change).await;
    assert!(matches!(other, Err(MirrorError::Conflict { .. })), "{other:?}");
}

async fn a_merge_carries_over_tombstones(site: Site) {
    let mirror = site.instance();
    for name in ["a", "b", "c"] {
        commit(&mirror, Put::note(&format!("{name}.md"), name).and(&format!("{name} too.md"), name)).await;
    }
    let merge = Merge::of(&mirror.head().await.unwrap()).await;
    let writer = site.instance();
    commit(&writer, Delete("b.md".to_owned())).await;
    commit(&writer, Put::note("a.md", "newer")).await;
    let merged = commit(&mirror, merge).await;
    let documents: Vec<_> = merged.segments().iter().map(|entry| entry.layout.documents).collect();
    assert_eq!(documents, [6, 1], "what was merged stands where its inputs stood");
    let notes = notes_of(&site.instance()).await.unwrap();
    assert_eq!(notes.keys().collect::<Vec<_>>(), ["a too.md", "a.md", "b too.md", "c too.md", "c.md"]);
    assert_eq!(notes["a.md"], "newer");
}

async fn a_merge_that_would_bring_notes_back_is_refused(site: Site) {
    let mirror = site.instance();
    commit(&mirror, Put::note("a.md", "a").and("b.md", "b")).await;
    let mut merge = Merge::of(&mirror.head().await.unwrap()).await;
    merge.carries_over = false;
    commit(&mirror, Delete("b.md".to_owned())).await;
    let refused = mirror.commit(&by("sync"), &merge).await;
    assert!(matches!(refused, Err(MirrorError::Conflict { .. })), "{refused:?}");
    assert_eq!(mirror.head().await.unwrap().generation(), 2);
}

async fn a_merge_of_what_was_merged_is_refused(site: Site) {
    let mirror = site.instance();
    commit(&mirror, Put::note("a.md", "a")).await;
    commit(&mirror, Put::note("b.md", "b")).await;
    let snapshot = mirror.head().await.unwrap();
    let (first, second) = (Merge::of(&snapshot).await, Merge::of(&snapshot).await);
    commit(&mirror, first).await;
    let refused = mirror.commit(&by("sync"), &second).await;
    assert!(matches!(refused, Err(MirrorError::Conflict { .. })), "{refused:?}");
    assert_eq!(notes_of(&mirror).await.unwrap().len(), 2);
}

/// Deletes all documents of the first segment except one.
struct DeleteMost;

impl ChangeSet for DeleteMost {
    type Error = MirrorError;
    type Outcome = ();

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<()>, MirrorError> {
        let entry = &head.unwrap().segments()[0];
        let deleted = vec![(entry.id, (1..entry.layout.documents).collect())];
        let totals = Totals { notes: 1, ..Totals::default() };
        Ok(Some(Derived { deleted, totals, ..Derived::default() }).into())
    }
}

async fn many_tombstones_are_an_object_of_their_own(site: Site) {
    let mirror = site.instance();
    let mut put = Put::default();
    for number in 0..4500 {
        put = put.and(&format!("{number:05}.md"), "");
    }
    commit(&mirror, put).await;
    let snapshot = commit(&mirror, DeleteMost).await;
    let atlas_mirror::tombstones::Tombstones::Stored(stored) = &snapshot.segments()[0].deleted else {
        panic!("4499 tombstones stand in the manifest");
    };
    assert_eq!(stored.count, 4499);
    assert!(site.bytes(&site.keys().manifest(2)).await.len() < 4096);
    for instance in [&mirror, &site.instance()] {
        let notes = notes_of(instance).await.unwrap();
        assert_eq!(notes.keys().collect::<Vec<_>>(), ["00000.md"]);
    }

    // More tombstones join them.
    commit(&site.instance(), Delete("00000.md".to_owned())).await;
    assert!(notes_of(&site.instance()).await.unwrap().is_empty());

    let key = site.keys().segment(stored.id);
    let mut damaged = site.bytes(&key).await.to_vec();
    damaged[2000] ^= 1;
    site.overwrite(&key, damaged).await;
    let older = site.instance().at(2).await.unwrap().unwrap();
    super::assert_damaged(contents(&older).await, &key);
}

async fn what_is_too_large_is_refused(site: Site) {
    let info = CommitInfo { message: Some("x".repeat(5000)), deadline: Duration::from_secs(5), ..by("agent") };
    let refused = site.instance().commit(&info, &Put::note("a.md", "one")).await;
    assert!(matches!(refused, Err(MirrorError::TooLarge { .. })), "{refused:?}");
    let unpublished = site.instance().head().await;
    assert!(matches!(unpublished, Err(MirrorError::NotPublished { .. })), "{unpublished:?}");
}
