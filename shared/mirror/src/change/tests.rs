use atlas_segment::layout::Layout;

use super::*;
use atlas_segment::directories::Directories;

fn layout(documents: u32) -> Layout {
    Layout {
        version: 1,
        bytes: 10,
        documents,
        notes: documents,
        chunks: 0,
        text_bytes: 0,
        first: String::new(),
        last: String::new(),
        sections: Default::default(),
        directories: Directories::default().into(),
    }
}

fn info() -> CommitInfo {
    CommitInfo {
        author: "agent".to_owned(),
        caller: None,
        operation: "test".to_owned(),
        message: None,
        session: None,
        key: None,
        time: Timestamp::UNIX_EPOCH,
        deadline: Duration::ZERO,
    }
}

/// A state of segments 1, 2 and 3 with ten documents each, of which document 7 of segment 2 is deleted.
fn state() -> State {
    let vault = "main".parse().unwrap();
    let segment = |_| NewSegment::new(SegmentObject::Bytes(Bytes::new()), layout(10));
    let derived = Derived { segments: (0..3).map(segment).collect(), ..Derived::default() };
    let dead = Tombstones::Inline(DocumentSet::from_iter([7]));
    let ids = [(1, Tombstones::none()), (2, dead), (3, Tombstones::none())];
    let segments = ids.into_iter().map(|(id, deleted)| (Id::from_u128(id), deleted, None)).collect();
    let uploaded = UploadedObjects { segments, deleted: Vec::new(), vectors: Vec::new(), clusters: None };
    let manifest = next_manifest(&vault, None, &info(), &derived, uploaded, Id::from_u128(9), 1000).unwrap();
    let bytes = manifest.encode().unwrap();
    State::new(manifest, &bytes)
}

fn drop_of(id: u128, deleted: u32) -> DroppedSegment {
    DroppedSegment { segment: Id::from_u128(id), deleted }
}

#[test]
fn the_first_manifest_begins_a_lineage_and_the_next_carries_it() {
    let first = state();
    assert_eq!((first.manifest.generation, first.manifest.parent), (1, None));
    let uploaded = UploadedObjects { segments: Vec::new(), deleted: Vec::new(), vectors: Vec::new(), clusters: None };
    let derived = Derived::default();
    let vault = "main".parse().unwrap();
    let second = next_manifest(&vault, Some(&first), &info(), &derived, uploaded, Id::from_u128(9), 1000).unwrap();
    assert_eq!((second.generation, second.parent), (2, Some(first.hash)));
    assert_eq!(second.lineage, first.manifest.lineage);
    assert_eq!(second.segments, first.manifest.segments);
    assert_ne!(state().manifest.lineage, first.manifest.lineage);
}

#[test]
fn what_was_merged_stands_where_its_inputs_stood() {
    let state = state();
    let segment = NewSegment::new(SegmentObject::Bytes(Bytes::from_static(b"merged")), layout(19));
    let dropped = vec![drop_of(1, 0), drop_of(2, 1)];
    let derived = Derived { segments: vec![segment], dropped, ..Derived::default() };
    assert_eq!(check(Some(&state.manifest), &derived), Ok(Vec::new()));
    let segments = vec![(Id::from_u128(4), Tombstones::none(), None)];
    let uploaded = UploadedObjects { segments, deleted: Vec::new(), vectors: Vec::new(), clusters: None };
    let vault = "main".parse().unwrap();
    let next = next_manifest(&vault, Some(&state), &info(), &derived, uploaded, Id::from_u128(9), 1000).unwrap();
    let segments: Vec<_> = next.segments.iter().map(|entry| (entry.id, entry.generation, entry.bytes)).collect();
    assert_eq!(segments, [(Id::from_u128(4), 2, 6), (Id::from_u128(3), 1, 0)]);
}

#[test]
fn tombstones_are_collected_by_segment() {
    let state = state();
    let deleted = vec![(Id::from_u128(3), vec![4, 2]), (Id::from_u128(2), vec![1]), (Id::from_u128(3), vec![2, 9])];
    let derived = Derived { deleted, ..Derived::default() };
    let expected = vec![(2, DocumentSet::from_iter([2, 4, 9])), (1, DocumentSet::from_iter([1]))];
    assert_eq!(check(Some(&state.manifest), &derived), Ok(expected));
}

#[test]
fn what_does_not_fit_the_state_is_refused() {
    let empty = || NewSegment::new(SegmentObject::Bytes(Bytes::new()), layout(3));
    let new = |deleted| NewSegment { deleted, ..empty() };
    let bad = [
        ("a segment that is not live", Derived { dropped: vec![drop_of(8, 0)], ..Derived::default() }),
        ("a tombstone that the merge missed", Derived { dropped: vec![drop_of(2, 0)], ..Derived::default() }),
        (
            "deletes in a segment that is not live",
            Derived { deleted: vec![(Id::from_u128(8), vec![0])], ..Derived::default() },
        ),
        ("a document that is not there", Derived { deleted: vec![(Id::from_u128(1), vec![10])], ..Derived::default() }),
        ("a new segment's document that is not there", Derived { segments: vec![new(vec![3])], ..Derived::default() }),
        ("a segment twice", Derived { segments: vec![new(vec![]), new(vec![])], ..Derived::default() }),
        (
            "deletes in a segment that is dropped",
            Derived { deleted: vec![(Id::from_u128(1), vec![0])], dropped: vec![drop_of(1, 0)], ..Derived::default() },
        ),
    ];
    let state = state();
    for (what, derived) in bad {
        let refused = check(Some(&state.manifest), &derived);
        assert!(matches!(refused, Err(MirrorError::Conflict { .. })), "{what}: {refused:?}");
    }
}
