//! Damaged objects.

use atlas_mirror::MirrorError;

use super::{Site, StorePrefix, assert_damaged, commit, notes_of};
use crate::notes::Put;

pub(super) async fn run(place: &impl Fn() -> StorePrefix) {
    a_damaged_manifest_is_named(Site::new(place())).await;
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
