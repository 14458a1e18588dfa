//! The cost of reads and writes.

use std::sync::Arc;

use atlas_mirror::{Snapshot, StoreOptions};

use super::{StorePrefix, commit, mirror_on, notes_of};
use crate::counting::CountingStore;
use crate::notes::Put;
use crate::request::Op;

pub(super) async fn run(place: &impl Fn() -> StorePrefix) {
    reads_take_few_waves(place()).await;
    writes_take_few_waves(place()).await;
    a_lost_race_uploads_nothing_twice(place()).await;
    a_load_is_one_wave_of_few_requests(place()).await;
}

async fn reads_take_few_waves(place: StorePrefix) {
    let store = CountingStore::new(place.store.clone());
    let instance = || mirror_on(store.clone(), &place.prefix, StoreOptions::default());
    let writer = instance();
    commit(&writer, Put::note("a.md", "text")).await;
    store.take();

    // The hint, then the probe and the first parts at once, then the text.
    let reader = instance();
    notes_of(&reader).await.unwrap();
    let cold = store.take();
    assert_eq!(cold.waves(), 3, "{cold}");
    assert_eq!(cold.count(), 5, "{cold}");
    assert_eq!((cold.of(Op::Head).count(), cold.of(Op::List).count()), (1, 0), "{cold}");

    notes_of(&reader).await.unwrap();
    let warm = store.take();
    assert_eq!(warm.count(), 1, "a warm check is one request: {warm}");

    // One generation behind: the probe finds the next, and the next probe runs beside the first parts.
    commit(&writer, Put::note("b.md", "text")).await;
    store.take();
    notes_of(&reader).await.unwrap();
    let behind = store.take();
    assert_eq!(behind.waves(), 3, "{behind}");
    assert_eq!(behind.of(Op::List).count(), 0, "{behind}");

    // Far behind: a listing, not a walk.
    for number in 0..30 {
        commit(&writer, Put::note("c.md", &number.to_string())).await;
    }
    store.take();
    reader.head().await.unwrap();
    let far = store.take();
    assert!(far.waves() <= 5 && far.count() <= 6, "{far}");

    let metered = reader.metered();
    metered.head().await.unwrap();
    let (counts, seen) = (metered.counts(), store.take());
    assert_eq!((counts.requests, counts.waves), (seen.count() as u64, seen.waves()), "{seen}");
}

async fn writes_take_few_waves(place: StorePrefix) {
    let store = CountingStore::new(place.store.clone());
    let instance = || mirror_on(store.clone(), &place.prefix, StoreOptions::default());
    let warm = instance();
    commit(&warm, Put::note("a.md", "text")).await;
    store.take();

    // Probe and upload at once, then the manifest; the hint comes after.
    commit(&warm, Put::note("zz.md", "text")).await;
    let requests = store.take();
    let wave = |op| requests.of(op).map(|request| request.wave).collect::<Vec<_>>();
    assert_eq!(wave(Op::Create), [1, 2], "{requests}");
    assert_eq!(requests.count(), 5, "two reads, a segment, the manifest, the hint: {requests}");

    commit(&instance(), Put::note("zzz.md", "text")).await;
    let requests = store.take();
    // If a segment may contain the note, its records are read first.
    assert!(requests.of(Op::Create).all(|create| create.wave <= 4), "{requests}");
}

async fn a_lost_race_uploads_nothing_twice(place: StorePrefix) {
    let store = CountingStore::new(place.store.clone());
    let mirrors = [(); 4].map(|()| mirror_on(store.clone(), &place.prefix, StoreOptions::default()));
    let commits = mirrors.iter().enumerate().map(|(number, mirror)| async move {
        commit(mirror, Put::note(&format!("{number}.md"), "text")).await;
    });
    futures::future::join_all(commits).await;
    let requests = store.take();
    let created = |folder: &str| requests.of(Op::Create).filter(|request| request.key.contains(folder)).count();
    assert!(created("/manifests/") > 4, "no race was lost: {requests}");
    assert_eq!(created("/segments/"), 4, "{requests}");
}

async fn a_load_is_one_wave_of_few_requests(place: StorePrefix) {
    let store = CountingStore::new(place.store.clone());
    let mirror = mirror_on(store.clone(), &place.prefix, StoreOptions::default());
    for number in 0..5 {
        commit(&mirror, Put::note(&format!("{number}.md"), "text")).await;
    }
    let reader = mirror_on(store.clone(), &place.prefix, StoreOptions::default());
    let snapshot = reader.head().await.unwrap();
    store.take();
    let wants = |snapshot: &Snapshot| {
        let layouts = snapshot.segments().iter().enumerate();
        let parts = layouts.flat_map(|(segment, entry)| {
            let layout = &entry.layout;
            let parts = [layout.paths(), layout.names(), layout.headings(), layout.chunks()];
            parts.map(|part| (segment, part.unwrap()))
        });
        parts.collect::<Vec<_>>()
    };
    let wants = wants(&snapshot);
    let parts = snapshot.load(&wants).await.unwrap();
    let requests = store.take();
    assert_eq!((parts.len(), requests.count(), requests.waves()), (20, 5, 1), "{requests}");
    let again = snapshot.load(&wants).await.unwrap();
    assert_eq!(store.take().count(), 0);
    assert!(parts.iter().zip(&again).all(|(one, two)| Arc::ptr_eq(one, two)), "what is cached is shared");
}
