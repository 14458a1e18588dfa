use proptest::prelude::*;

use super::*;
use crate::guard::{FileKind, LostFile};

fn any_entry() -> impl Strategy<Value = Entry> {
    let kind = prop_oneof![Just(Kind::Note), Just(Kind::Text), Just(Kind::Attachment), Just(Kind::Config)];
    ("\\PC{1,20}", any::<[u8; 32]>(), kind, any::<u64>(), any::<Option<i64>>())
        .prop_map(|(path, sha256, kind, size, mtime_ns)| Entry { path, sha256, kind, size, mtime_ns })
}

fn any_state() -> impl Strategy<Value = State> {
    let losses = prop::collection::vec((any::<i64>(), 0..2_usize, any::<Vec<u64>>(), any::<u64>()), 0..3);
    let entries = prop::collection::vec(any_entry(), 0..20);
    (any::<bool>(), any::<u64>(), any::<[u8; 32]>(), losses, entries).prop_map(
        |(settled, generation, manifest, losses, mut entries)| {
            entries.sort_by(|a, b| a.path.cmp(&b.path));
            entries.dedup_by(|a, b| a.path == b.path);
            let entries = entries.into_iter().map(Arc::new).collect();
            let file = |path: u64| LostFile { path, content: !path };
            let loss = |(time_ms, what, files, of): (i64, usize, Vec<u64>, u64)| Loss {
                time_ms,
                what: FileKind::ALL[what],
                files: files.into_iter().map(file).collect(),
                of,
            };
            let losses: Vec<Loss> = losses.into_iter().map(loss).collect();
            let seen = SeenGeneration { lineage: "l".to_owned(), generation, manifest };
            let earlier = vec![seen.clone(); usize::from(settled)];
            State {
                root: "/v".into(),
                vault: "main".into(),
                mount_point: "/".into(),
                seen,
                settled,
                head_losses: losses.clone(),
                losses,
                entries,
                earlier,
            }
        },
    )
}

proptest! {
    #[test]
    fn a_state_survives_its_file(state in any_state()) {
        prop_assert_eq!(State::decode(&state.encode().unwrap()), Some(state));
    }

    #[test]
    fn a_damaged_state_is_no_state(state in any_state(), at in any::<prop::sample::Index>(), bit in 0..8) {
        let mut bytes = state.encode().unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1u8 << bit;
        // Without losses, version 4 has the same bytes.
        prop_assert!(State::decode(&bytes).is_none_or(|read| read == state));
        prop_assert_eq!(State::decode(&bytes[..at]), None);
    }
}

#[test]
fn the_versions_before_are_read() {
    let seen = SeenGeneration { lineage: "l".to_owned(), generation: 7, manifest: [1; 32] };
    let entry = Entry { path: "a.md".into(), sha256: [2; 32], kind: Kind::Note, size: 3, mtime_ns: None };
    let fields = (
        "/v".to_owned(),
        "main".to_owned(),
        "/".to_owned(),
        seen.clone(),
        true,
        vec![(5_i64, FileKind::Notes, 11_u64, 20_u64)],
        vec![(6_i64, FileKind::Attachments, 1_u64, 2_u64)],
        vec![Arc::new(entry.clone())],
        vec![seen.clone()],
    );
    let mut state = State {
        root: "/v".into(),
        vault: "main".into(),
        mount_point: "/".into(),
        seen: seen.clone(),
        settled: true,
        losses: Vec::new(),
        head_losses: Vec::new(),
        entries: vec![Arc::new(entry)],
        earlier: vec![seen],
    };
    let file = |version: u32, body: &[u8]| {
        [&MAGIC[..], &version.to_le_bytes(), &crc32fast::hash(body).to_le_bytes(), body].concat()
    };
    let body = bincode::encode_to_vec(&fields, codec()).unwrap();
    assert_eq!(State::decode(&file(4, &body)).as_ref(), Some(&state));
    let body = bincode::encode_to_vec(
        (&fields.0, &fields.1, &fields.2, &fields.3, fields.4, &fields.5, &fields.6, &fields.7),
        codec(),
    );
    state.earlier.clear();
    assert_eq!(State::decode(&file(3, &body.unwrap())), Some(state));
    assert_eq!(State::decode(&file(6, &[])), None);
}

#[test]
fn of_generations_seen_earlier_few_are_kept_the_older_the_fewer() {
    let seen = |generation| SeenGeneration { lineage: "l".to_owned(), generation, manifest: [1; 32] };
    let mut state = State {
        root: "/v".into(),
        vault: "main".into(),
        mount_point: "/".into(),
        seen: seen(1),
        settled: true,
        losses: Vec::new(),
        head_losses: Vec::new(),
        entries: Vec::new(),
        earlier: Vec::new(),
    };
    for generation in 2..=10_000 {
        state.earlier = state.earlier_than(&seen(generation));
        state.seen = seen(generation);
    }
    let kept: Vec<u64> = state.earlier.iter().map(|seen| seen.generation).collect();
    assert!(kept.len() <= MAX_EARLIER && kept.first() == Some(&1) && kept.is_sorted(), "{kept:?}");
    assert!((9_970..10_000).all(|generation| kept.contains(&generation)), "{kept:?}");
    // A mirror that went back to an older generation differs from there on.
    assert!(state.earlier_than(&seen(9_980)).iter().all(|seen| seen.generation < 9_980));
}

#[test]
fn a_state_is_saved_and_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let folder = StateFolder::lock(&dir.path().join("deep/state")).unwrap();
    assert_eq!(folder.load().unwrap(), None);
    let seen = SeenGeneration { lineage: "l".to_owned(), generation: 7, manifest: [1; 32] };
    let mut state = State {
        root: "/v".into(),
        vault: "main".into(),
        mount_point: "/".into(),
        seen,
        settled: true,
        losses: Vec::new(),
        head_losses: Vec::new(),
        entries: Vec::new(),
        earlier: Vec::new(),
    };
    folder.save(&state).unwrap();
    state.settled = false;
    folder.save(&state).unwrap();
    assert_eq!(folder.load().unwrap(), Some(state));
}

#[test]
fn a_folder_is_locked_by_one_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let first = StateFolder::lock(dir.path()).unwrap();
    assert!(matches!(StateFolder::lock(dir.path()), Err(SyncError::Locked { .. })));
    // Like a child process that is just starting.
    let inherited = first.lock.try_clone().unwrap();
    drop(first);
    assert!(StateFolder::lock(dir.path()).is_ok());
    drop(inherited);
}

#[test]
fn a_damaged_file_is_no_state() {
    let dir = tempfile::tempdir().unwrap();
    let folder = StateFolder::lock(dir.path()).unwrap();
    fs::write(dir.path().join("state"), b"ATLASYNC and then nothing of use").unwrap();
    assert_eq!(folder.load().unwrap(), None);
}
