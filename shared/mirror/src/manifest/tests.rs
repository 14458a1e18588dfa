use std::collections::BTreeMap;

use atlas_segment::directories::Directories;
use atlas_segment::layout::Section;
use proptest::prelude::*;

use super::*;
use crate::directories;
use crate::tombstones::{DocumentSet, StoredTombstones};
use crate::vectors::{ClusterEntry, Embeddings, VectorEntry};
use atlas_segment::{ClusterLayout, VectorLayout, VectorWriter};

fn layouts() -> impl Strategy<Value = Layout> {
    (1..5000u32, 0..1000u64, 0..1000u64, "\\PC{0,20}").prop_map(|(documents, offset, length, first)| Layout {
        version: 1,
        bytes: offset + length,
        documents,
        notes: documents / 2,
        chunks: documents * 2,
        text_bytes: length,
        last: format!("{first}~"),
        first,
        sections: BTreeMap::from([("text".to_owned(), Section { offset, length })]),
        directories: Directories::default().into(),
    })
}

fn entries() -> impl Strategy<Value = SegmentEntry> {
    let deleted = prop_oneof![
        prop::collection::vec(any::<u32>(), 0..20).prop_map(Ok),
        (any::<u128>(), any::<u32>(), any::<u32>()).prop_map(Err),
    ];
    (any::<u128>(), 1..=7u64, layouts(), deleted).prop_map(|(id, generation, layout, deleted)| {
        let documents = layout.documents;
        let replaces = if documents == 1 { generation - 1 } else { 0 };
        let deleted = match deleted {
            Ok(ids) => Tombstones::Inline(ids.into_iter().map(|id| id % documents).collect()),
            Err((id, count, crc32)) => Tombstones::Stored(StoredTombstones {
                id: Id::from_u128(id),
                count: 1 + count % documents,
                bytes: 5000,
                crc32,
            }),
        };
        SegmentEntry {
            id: Id::from_u128(id),
            generation,
            bytes: layout.bytes + 100,
            layout,
            replaces,
            vectors: None,
            deleted,
        }
    })
}

fn manifests() -> impl Strategy<Value = Manifest> {
    let text = || prop::option::of("\\PC{0,40}");
    let segments = prop::collection::vec(entries(), 0..8);
    (any::<[u128; 2]>(), any::<[u8; 32]>(), any::<i32>(), text(), text(), segments).prop_map(
        |([lineage, nonce], hash, time, message, result, mut segments)| {
            segments.dedup_by_key(|entry| entry.id);
            Manifest {
                format: 1,
                embeddings: None,
                clusters: None,
                vault: "main".parse().unwrap(),
                lineage: Id::from_u128(lineage),
                generation: 7,
                parent: Some(Hash::from_bytes(hash)),
                nonce: Id::from_u128(nonce),
                time: Timestamp::from_second(time.into()).unwrap(),
                waited_ms: hash[1].into(),
                author: "Åsa \"quoted\"".to_owned(),
                caller: None,
                confirmed: false,
                origins: BTreeMap::new(),
                operation: "write_note".to_owned(),
                history_from: hash[0].into(),
                session: message.clone().map(|message| message.chars().take(60).collect()),
                message,
                idempotency: result
                    .map(|result| KeyedResult { key_hash: Hash::from_bytes(hash), result: result.into() }),
                changes: Changes { added: 1, changed: 2, removed: 3 },
                totals: Totals { notes: 4, attachments: 5, documents: 9, text_bytes: u64::MAX },
                segments,
            }
        },
    )
}

fn manifest() -> Manifest {
    Manifest {
        format: 1,
        embeddings: None,
        clusters: None,
        vault: "main".parse().unwrap(),
        lineage: Id::from_u128(1),
        generation: 1,
        parent: None,
        nonce: Id::from_u128(2),
        time: "2026-01-05T12:00:00Z".parse().unwrap(),
        waited_ms: 0,
        author: "sync".to_owned(),
        caller: None,
        confirmed: false,
        origins: BTreeMap::new(),
        operation: "sync".to_owned(),
        message: None,
        session: None,
        history_from: 0,
        idempotency: None,
        changes: Changes::default(),
        totals: Totals::default(),
        segments: Vec::new(),
    }
}

fn entry(id: u128) -> SegmentEntry {
    let layout = Layout {
        version: 1,
        bytes: 100,
        documents: 10,
        notes: 10,
        chunks: 12,
        text_bytes: 50,
        first: "a.md".to_owned(),
        last: "z.md".to_owned(),
        sections: BTreeMap::from([("text".to_owned(), Section { offset: 12, length: 88 })]),
        directories: Directories::default().into(),
    };
    SegmentEntry {
        id: Id::from_u128(id),
        generation: 1,
        bytes: 120,
        layout,
        replaces: 0,
        vectors: None,
        deleted: Tombstones::none(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_manifest_survives_its_encoding(manifest in manifests()) {
        let bytes = manifest.encode().unwrap();
        prop_assert_eq!(Manifest::decode(&bytes).unwrap(), manifest);
        prop_assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok(), "it is plain JSON");
    }

    #[test]
    fn an_altered_manifest_is_refused(manifest in manifests(), at: prop::sample::Index, bit in 0..8u32) {
        let bytes = manifest.encode().unwrap();
        let at = at.index(bytes.len());
        prop_assert!(Manifest::decode(&bytes[..at]).is_err(), "cut short");
        let mut altered = bytes.to_vec();
        altered[at] ^= 1 << bit;
        prop_assert!(Manifest::decode(&altered).is_err(), "a bit flipped");
    }

    #[test]
    fn no_bytes_make_it_panic(json in "\\{\"format\":[0-9]{1,3}(,\"[a-z]{1,9}\":(null|[0-9]{1,5}|\"[A-Za-z0-9+/]{0,9}\"|\\[\\[)){0,9}\\}") {
        prop_assert!(Manifest::decode(json.as_bytes()).is_err());
        prop_assert!(Manifest::decode(&sealed(json.into_bytes())).is_err());
    }
}

#[test]
fn a_manifest_reads_as_json() {
    let text = String::from_utf8(manifest().encode().unwrap().to_vec()).unwrap();
    assert_eq!(
        text,
        "{\"format\":1,\"vault\":\"main\",\"lineage\":\"00000000000000000000000000000001\",\"generation\":1,\
         \"parent\":null,\"nonce\":\"00000000000000000000000000000002\",\"time\":\"2026-01-05T12:00:00Z\",\
         \"author\":\"sync\",\"operation\":\"sync\",\"changes\":{\"added\":0,\"changed\":0,\"removed\":0},\
         \"totals\":{\"notes\":0,\"attachments\":0,\"documents\":0,\"text_bytes\":0},\"segments\":[],\
         \"crc32\":\"edb07d23\"}"
    );
}

#[test]
fn a_newer_format_is_called_newer_whatever_it_holds() {
    let newer = sealed(br#"{"format":4,"segments":"elsewhere"}"#.to_vec());
    assert_eq!(Manifest::decode(&newer), Err(ManifestError::Newer(4)));
    let same = Manifest { format: 4, ..manifest() };
    let same = sealed(serde_json::to_vec(&same).unwrap());
    assert_eq!(Manifest::decode(&same), Err(ManifestError::Newer(4)));
}

#[test]
fn directories_in_segments_make_a_manifest_one_that_older_programs_do_not_read() {
    let mut segments: Vec<SegmentEntry> = (1..=3).map(entry).collect();
    let bytes = segments[0].layout.directories().unwrap().bytes_in_json();
    let left = |segments: &[SegmentEntry]| -> Vec<bool> {
        segments.iter().map(|entry| entry.layout.leaves_directories()).collect()
    };
    directories::leave_out(&mut segments, 3 * bytes);
    assert_eq!(left(&segments), [false; 3]);
    directories::leave_out(&mut segments, 2 * bytes);
    assert_eq!(left(&segments), [true, false, false]);
    directories::leave_out(&mut segments, 0);
    assert_eq!(left(&segments), [true; 3]);

    let with = Manifest { format: 3, segments, ..manifest() };
    let read = Manifest::decode(&with.encode().unwrap()).unwrap();
    assert_eq!(read, with);
    assert_eq!(left(&read.segments), [true; 3], "they stay where they are");
    for format in [1, 2] {
        let wrong = sealed(serde_json::to_vec(&Manifest { format, ..with.clone() }).unwrap());
        assert!(matches!(Manifest::decode(&wrong), Err(ManifestError::Damaged(_))));
    }
}

#[test]
fn vectors_make_a_manifest_one_that_older_programs_do_not_extend() {
    let model = Embeddings {
        provider: "static".to_owned(),
        model: "m".to_owned(),
        id: Hash::of(b"m"),
        dimensions: 8,
        stored: None,
    };
    let with = Manifest { format: 2, embeddings: Some(model.clone()), ..manifest() };
    let bytes = with.encode().unwrap();
    assert_eq!(Manifest::decode(&bytes).as_ref(), Ok(&with));
    // Older programs look at the format first.
    let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!((json["format"].as_u64(), &json["embeddings"]["model"]), (Some(2), &serde_json::json!("m")));
    let mut writer = VectorWriter::new(8);
    writer.push(Some(&[]));
    let layout = writer.finish().unwrap().unwrap().layout;
    let own = VectorEntry { id: Id::from_u128(5), layout, listed: None };
    let vectors = Some(own);
    let segments = |vectors| vec![SegmentEntry { vectors, ..entry(1) }];
    let sound = Manifest { segments: segments(vectors), ..with.clone() };
    assert_eq!(Manifest::decode(&sound.encode().unwrap()), Ok(sound.clone()));
    let other = VectorEntry { layout: VectorLayout { dimensions: 9, ..layout }, ..own };
    let layout = ClusterLayout { bytes: 200, dimensions: 8, clusters: 2, rows: 0, head: 40 };
    let clusters = |layout| Some(ClusterEntry { id: Id::from_u128(6), layout });
    let clustered = Manifest { clusters: clusters(layout), ..sound.clone() };
    assert_eq!(Manifest::decode(&clustered.encode().unwrap()), Ok(clustered.clone()));
    assert_eq!(Manifest { clusters: None, ..clustered.clone() }, sound, "older programs leave them out");
    for refused in [
        Manifest { format: 1, ..with.clone() },
        Manifest { format: 2, ..manifest() },
        Manifest { segments: segments(vectors), ..manifest() },
        Manifest { segments: segments(Some(other)), ..with.clone() },
        Manifest { embeddings: Some(Embeddings { dimensions: 0, ..model }), ..with },
        Manifest { clusters: clusters(ClusterLayout { dimensions: 9, ..layout }), ..clustered.clone() },
        Manifest { clusters: clusters(ClusterLayout { clusters: 99, ..layout }), ..clustered.clone() },
        Manifest { embeddings: None, format: 1, segments: segments(None), ..clustered },
    ] {
        assert!(refused.encode().is_err(), "{refused:?}");
        let bytes = sealed(serde_json::to_vec(&refused).unwrap());
        assert!(matches!(Manifest::decode(&bytes), Err(ManifestError::Damaged(_))));
    }
}

#[test]
fn what_a_later_version_adds_is_ignored_but_for_sections_which_a_commit_carries_on() {
    let listed = Manifest { segments: vec![entry(1)], ..manifest() };
    let mut json = serde_json::to_value(&listed).unwrap();
    for place in ["", "/changes", "/totals", "/segments/0", "/segments/0/layout"] {
        json.pointer_mut(place).unwrap()["later"] = serde_json::json!({ "more": [1, 2] });
    }
    let sections = "/segments/0/layout/sections";
    json.pointer_mut(sections).unwrap()["later"] = serde_json::json!([20, 5]);
    let read = Manifest::decode(&sealed(serde_json::to_vec(&json).unwrap())).unwrap();
    let written: serde_json::Value = serde_json::from_slice(&read.encode().unwrap()).unwrap();
    assert_eq!(written.pointer(sections), json.pointer(sections));
    assert_eq!(
        (&written["changes"], written["segments"][0]["later"].is_null()),
        (&serde_json::json!(listed.changes), true)
    );

    let mut newer = json;
    newer.pointer_mut("/segments/0/layout").unwrap()["version"] = 2.into();
    assert_eq!(Manifest::decode(&sealed(serde_json::to_vec(&newer).unwrap())), Err(ManifestError::Newer(2)));
}

#[test]
fn what_contradicts_itself_is_refused() {
    let with = |segments| Manifest { segments, ..manifest() };
    let outside = |mut entry: SegmentEntry| {
        entry.bytes = 99;
        entry
    };
    let dead = |mut entry: SegmentEntry, document| {
        entry.deleted = Tombstones::Inline(DocumentSet::from_iter([document]));
        entry
    };
    assert!(with(vec![entry(1), entry(2), dead(entry(3), 9)]).encode().is_ok());
    let bad = [
        Manifest { format: 0, ..manifest() },
        Manifest { generation: 0, ..manifest() },
        Manifest { generation: 2, ..manifest() },
        Manifest { parent: Some(Hash::of(b"")), ..manifest() },
        with(vec![entry(1), entry(2), entry(1)]),
        with(vec![outside(entry(1))]),
        with(vec![dead(entry(1), 10)]),
        with(vec![SegmentEntry { generation: 2, ..entry(1) }]),
        with(vec![SegmentEntry { bytes: 1 << 40, ..entry(1) }]),
        with(vec![SegmentEntry { replaces: 1, ..entry(1) }]),
        Manifest {
            generation: 2,
            parent: Some(Hash::of(b"")),
            ..with(vec![SegmentEntry { generation: 2, replaces: 1, ..entry(1) }])
        },
        Manifest { author: "x".repeat(257), ..manifest() },
        Manifest { message: Some("x".repeat(4097)), ..manifest() },
    ];
    for manifest in bad {
        assert!(manifest.encode().is_err(), "written: {manifest:?}");
        let bytes = sealed(serde_json::to_vec(&manifest).unwrap());
        assert!(Manifest::decode(&bytes).is_err(), "read: {manifest:?}");
    }
}

#[test]
fn a_manifest_over_its_limit_is_not_written() {
    let long = |id| {
        let mut entry = entry(id);
        entry.layout.last = "z".repeat(100);
        entry
    };
    let written = |segments: u128| Manifest { segments: (0..segments).map(long).collect(), ..manifest() }.encode();
    assert!(written(100).is_ok());
    let error = written(4000).map(|bytes| bytes.len()).unwrap_err();
    assert_eq!(error, ManifestError::TooLarge { what: "the manifest", limit: "1048576 bytes".to_owned() });
}
