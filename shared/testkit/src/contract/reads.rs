//! Finding the newest generation, whatever the hint contains.

use super::{Site, StorePrefix, assert_damaged, commit, notes_of, whole_history};
use crate::notes::Put;

pub(super) async fn run(place: &impl Fn() -> StorePrefix) {
    what_one_instance_writes_all_see(Site::new(place())).await;
    an_instance_that_slept_sees_the_newest(Site::new(place())).await;
    a_bad_hint_is_only_a_hint(Site::new(place())).await;
    a_hint_to_a_collected_generation_is_only_a_hint(Site::new(place())).await;
    a_commit_does_not_extend_a_collected_generation(Site::new(place())).await;
    a_bucket_that_was_restored_is_believed(Site::new(place())).await;
    a_commit_does_not_extend_another_history(Site::new(place())).await;
    vaults_do_not_mix(Site::new(place())).await;
}

async fn generation(mirror: &atlas_mirror::Mirror) -> u64 {
    mirror.head().await.unwrap().generation()
}

/// Commits until the newest generation is `last`.
async fn commit_until(site: &Site, last: u64) {
    let writer = site.instance();
    loop {
        let made = commit(&writer, Put::note("a.md", "text")).await.generation();
        if made >= last {
            return;
        }
    }
}

async fn what_one_instance_writes_all_see(site: Site) {
    let instances = [site.instance(), site.instance(), site.instance()];
    for round in 0..4 {
        for (number, writer) in instances.iter().enumerate() {
            let text = format!("round {round}");
            commit(writer, Put::note(&format!("{number}.md"), &text)).await;
            for reader in &instances {
                assert_eq!(notes_of(reader).await.unwrap()[&format!("{number}.md")], text);
            }
        }
    }
}

async fn an_instance_that_slept_sees_the_newest(site: Site) {
    commit_until(&site, 1).await;
    let sleeper = site.instance();
    assert_eq!(generation(&sleeper).await, 1);
    for newest in [2, 4, 7, 20] {
        commit_until(&site, newest).await;
        assert_eq!(generation(&sleeper).await, newest);
    }
}

async fn a_bad_hint_is_only_a_hint(site: Site) {
    let hint = site.keys().latest();
    commit_until(&site, 2).await;
    let stale = site.bytes(&hint).await;
    commit_until(&site, 6).await;
    let newest = site.bytes(&hint).await;

    let mut flipped = newest.to_vec();
    flipped[40] ^= 4;
    for bad in [stale, newest.slice(..50), flipped.into(), "".into(), "{}".into(), vec![b'['; 3 << 20].into()] {
        site.overwrite(&hint, bad).await;
        assert_eq!(generation(&site.instance()).await, 6);
    }
    site.remove(&hint).await;
    assert_eq!(generation(&site.instance()).await, 6);
    commit_until(&site, 7).await;
    assert_eq!(generation(&site.instance()).await, 7);
}

async fn a_hint_to_a_collected_generation_is_only_a_hint(site: Site) {
    commit_until(&site, 2).await;
    let stale = site.bytes(&site.keys().latest()).await;
    commit_until(&site, 6).await;
    site.overwrite(&site.keys().latest(), stale).await;
    for collected in 1..=5 {
        site.remove(&site.keys().manifest(collected)).await;
    }
    assert_eq!(generation(&site.instance()).await, 6);
    let made = commit(&site.instance(), Put::note("b.md", "text")).await;
    assert_eq!(made.generation(), 7);
}

async fn a_commit_does_not_extend_a_collected_generation(site: Site) {
    commit_until(&site, 2).await;
    let sleeper = site.instance();
    assert_eq!(generation(&sleeper).await, 2);
    commit_until(&site, 6).await;
    for collected in 1..=5 {
        site.remove(&site.keys().manifest(collected)).await;
    }
    assert_eq!(commit(&sleeper, Put::note("b.md", "text")).await.generation(), 7);
}

async fn a_bucket_that_was_restored_is_believed(site: Site) {
    commit_until(&site, 3).await;
    let writer = site.instance();
    commit(&writer, Put::note("lost.md", "text")).await;
    commit(&writer, Put::note("lost too.md", "text")).await;
    // The hint of generation 3: later writes of it may have failed.
    for generation in [4, 5] {
        site.remove(&site.keys().manifest(generation)).await;
    }
    assert_eq!(generation(&site.instance()).await, 3);
    let made = commit(&writer, Put::note("b.md", "text")).await;
    assert_eq!(made.generation(), 4);
    assert_eq!(notes_of(&site.instance()).await.unwrap().into_keys().collect::<Vec<_>>(), ["a.md", "b.md"]);
    whole_history(&site.instance()).await;
}

async fn a_commit_does_not_extend_another_history(site: Site) {
    commit_until(&site, 3).await;
    let (writer, other) = (site.instance(), site.instance());
    commit(&writer, Put::note("lost.md", "text")).await;
    site.remove(&site.keys().manifest(4)).await;
    // The same generation again, with another content.
    assert_eq!(commit(&other, Put::note("kept.md", "text")).await.generation(), 4);
    assert_eq!(commit(&writer, Put::note("b.md", "text")).await.generation(), 5);
    assert_eq!(notes_of(&writer).await.unwrap().into_keys().collect::<Vec<_>>(), ["a.md", "b.md", "kept.md"]);
    whole_history(&site.instance()).await;
}

async fn vaults_do_not_mix(site: Site) {
    commit_until(&site, 1).await;
    let first = site.keys().manifest(1);
    let other = String::from_utf8(site.bytes(&first).await.to_vec()).unwrap();
    assert!(other.contains("\"vault\":\"main\""));
    // A copy of another generation's manifest, under the wrong number.
    site.overwrite(&site.keys().manifest(2), other).await;
    assert_damaged(site.instance().head().await, &site.keys().manifest(2));
}
