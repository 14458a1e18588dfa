//! Damaged objects.

use std::sync::Arc;

use atlas_mirror::purge::Purge;
use atlas_mirror::{MirrorError, Snapshot};
use futures::TryStreamExt as _;
use object_store::path::Path;

use super::{Site, StorePrefix, assert_damaged, commit, notes_of};
use crate::notes::{Put, by, contents};

pub(super) async fn run(place: &impl Fn() -> StorePrefix) {
    a_damaged_manifest_is_named(Site::new(place())).await;
    a_damaged_older_manifest_counts_as_a_missing_one(Site::new(place())).await;
    for is_missing in [false, true] {
        a_purge_erases_also_beside_a_lost_manifest(Site::new(place()), is_missing).await;
    }
    a_purge_is_known_to_who_asks_for_a_generation(Site::new(place())).await;
    a_damaged_segment_is_named(Site::new(place())).await;
    a_lost_segment_is_named(Site::new(place())).await;
}

async fn a_damaged_manifest_is_named(site: Site) {
    let writer = site.instance();
    commit(&writer, Put::note("a.md", "one")).await;
    commit(&writer, Put::note("a.md", "two")).await;
    let key = site.keys().manifest(2);
    let sound = site.bytes(&key).await;
    // A new instance would take the state from the hint.
    site.remove(&site.keys().latest()).await;
    for at in (0..sound.len()).step_by(37).chain(sound.len() - 12..sound.len()) {
        site.overwrite(&key, sound.slice(..at)).await;
        assert_damaged(site.instance().head().await, &key);
        for bit in [0, 1, 5] {
            let mut flipped = sound.to_vec();
            flipped[at] ^= 1 << bit;
            site.overwrite(&key, flipped).await;
            assert_damaged(site.instance().head().await, &key);
        }
    }
    site.overwrite(&key, vec![b' '; 2 << 20]).await;
    assert_damaged(site.instance().head().await, &key);
    site.overwrite(&key, sound).await;
    assert_eq!(notes_of(&site.instance()).await.unwrap()["a.md"], "two");
}

async fn flip(site: &Site, generation: u64) {
    let key = site.keys().manifest(generation);
    let mut bytes = site.bytes(&key).await.to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    site.overwrite(&key, bytes).await;
}

async fn a_damaged_older_manifest_counts_as_a_missing_one(site: Site) {
    let writer = site.instance();
    for number in 1..=8 {
        commit(&writer, Put::note("a.md", &number.to_string())).await;
    }
    for generation in [1, 3, 5, 6] {
        flip(&site, generation).await;
    }
    let generations = |history: Vec<Arc<Snapshot>>| history.iter().map(|of| of.generation()).collect::<Vec<_>>();
    for reader in [writer, site.instance()] {
        assert_damaged(reader.at(5).await, &site.keys().manifest(5));
        assert_damaged(reader.history(5, 2).await, &site.keys().manifest(5));
        assert!(reader.at_if_readable(5).await.unwrap().is_none());
        assert_eq!(generations(reader.history(8, 10).await.unwrap()), [8, 7]);
        assert_eq!(generations(reader.history_over_gaps(8, 10).await.unwrap()), [8, 7, 4, 2]);
        assert_eq!(generations(reader.history_over_gaps(8, 3).await.unwrap()), [8, 7, 4]);
        assert_eq!(generations(reader.history_over_gaps(6, 10).await.unwrap()), [4, 2], "also where a page begins");
        assert_eq!(reader.gaps(8, 10).await.unwrap(), [5..=6, 3..=3, 1..=1]);
        assert_eq!(reader.gaps(8, 2).await.unwrap(), [6..=6]);
    }
    assert_eq!(notes_of(&site.instance()).await.unwrap()["a.md"], "8");
}

async fn a_purge_erases_also_beside_a_lost_manifest(site: Site, is_missing: bool) {
    let writer = site.instance();
    for text in ["halyard-42", "halyard-43", "elsewhere", "still elsewhere"] {
        commit(&writer, Put::note("a.md", text)).await;
        commit(&writer, Put::note("b.md", text)).await;
    }
    match is_missing {
        true => site.remove(&site.keys().manifest(3)).await,
        false => flip(&site, 3).await,
    }
    let purge = Purge { path: "a.md".parse().unwrap(), keeps_newest: true };
    let purged = site.instance().purge(&by("owner"), &[purge]).await.unwrap();
    assert_eq!((purged.generation, purged.generations), (9, 8 - u64::from(is_missing)));
    // The objects of the lost generation alone are young, if there are any: they may be of a write in progress.
    let needed = needed(&site).await;
    let left = listed(&site).await.into_iter().filter(|key| !needed.contains(key)).count();
    assert_eq!(left > 0, purged.unfinished.is_some(), "{left} left: {purged:?}");
    assert_eq!(notes_of(&site.instance()).await.unwrap()["a.md"], "still elsewhere");
    for generation in 1..=8 {
        assert!(site.instance().named(generation).await.unwrap().is_none(), "{generation}");
    }
}

/// The keys below `segments/`, and those among them that the newest generation refers to.
async fn listed(site: &Site) -> Vec<Path> {
    let folder = site.keys().segments();
    let found: Vec<_> = site.place.store.list(Some(&folder)).try_collect().await.unwrap();
    found.into_iter().map(|object| object.location).collect()
}

async fn needed(site: &Site) -> Vec<Path> {
    let head = site.instance().head().await.unwrap();
    head.segments().iter().map(|entry| site.keys().segment(entry.id)).collect()
}

async fn a_purge_is_known_to_who_asks_for_a_generation(site: Site) {
    let (writer, reader) = (site.instance(), site.instance());
    commit(&writer, Put::note("a.md", "halyard-42")).await;
    commit(&writer, Put::note("a.md", "elsewhere")).await;
    let older = reader.named(1).await.unwrap().unwrap();
    assert_eq!(contents(&older).await.unwrap()["a.md"], "halyard-42");
    let purge = Purge { path: "a.md".parse().unwrap(), keeps_newest: true };
    assert_eq!(writer.purge(&by("owner"), &[purge]).await.unwrap().unfinished, None);
    assert!(reader.named(1).await.unwrap().is_none(), "it has the texts in memory");
    assert!(reader.named(2).await.unwrap().is_none());
    assert_eq!(reader.named(3).await.unwrap().unwrap().generation(), 3);
    // What it had in memory is gone too.
    assert!(contents(&older).await.is_err());
}

async fn a_damaged_segment_is_named(site: Site) {
    let text = "It is all in the details. ".repeat(40);
    let snapshot = commit(&site.instance(), Put::note("a.md", &text).and("b.md", "b")).await;
    let key = site.keys().segment(snapshot.segments()[0].id);
    let sound = site.bytes(&key).await;
    let before = notes_of(&site.instance()).await.unwrap();
    for cut in [0, 1, sound.len() / 2, sound.len() - 1] {
        site.overwrite(&key, sound.slice(..cut)).await;
        assert_damaged(notes_of(&site.instance()).await, &key);
    }
    site.overwrite(&key, [&sound[..], b"x"].concat()).await;
    assert_damaged(notes_of(&site.instance()).await, &key);
    let mut found = 0;
    for at in (0..sound.len()).step_by(11) {
        let mut flipped = sound.to_vec();
        flipped[at] ^= 1 << (at % 8);
        site.overwrite(&key, flipped).await;
        match notes_of(&site.instance()).await {
            // The flipped bit is in a part that this does not read.
            Ok(notes) => assert_eq!(notes, before),
            damaged => {
                assert_damaged(damaged, &key);
                found += 1;
            }
        }
    }
    assert!(found > 3, "only {found} damages were found");
}

async fn a_lost_segment_is_named(site: Site) {
    let snapshot = commit(&site.instance(), Put::note("a.md", "text")).await;
    let key = site.keys().segment(snapshot.segments()[0].id);
    site.remove(&key).await;
    assert_damaged(notes_of(&site.instance()).await, &key);
    // An object of an older generation may have been collected.
    let older = site.instance().at(1).await.unwrap().unwrap();
    let gone = crate::notes::contents(&older).await.unwrap_err();
    assert_eq!(gone, MirrorError::Gone { object: key.to_string() });
}
