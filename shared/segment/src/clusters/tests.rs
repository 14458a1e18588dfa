use super::*;
use crate::part::Part;
use crate::vectors::{BuiltVectors, StoredVector, VectorWriter};
use proptest::prelude::*;

const DIMENSIONS: u32 = 12;

/// The vectors of documents, of which some wait, and for each object the clusters of its rows.
type Object = (Vec<Option<Vec<StoredVector>>>, Vec<u32>);

fn vectors() -> impl Strategy<Value = Vec<StoredVector>> {
    let bytes = |size: usize| prop::collection::vec(any::<u8>(), size);
    let vector = (0u32..9, 0u32..9, bytes(2), bytes(16)).prop_map(|(line, lines, code, row)| StoredVector {
        key: 0,
        line,
        lines,
        code,
        row,
    });
    prop::collection::vec(vector, 0..5).prop_map(|mut vectors| {
        let mut line = 0;
        for vector in &mut vectors {
            vector.line += line;
            line = vector.line + vector.lines;
        }
        vectors
    })
}

fn objects() -> impl Strategy<Value = (u32, Vec<Object>)> {
    (1u32..6).prop_flat_map(|clusters| {
        let document = prop::option::weighted(0.9, vectors());
        let object = prop::collection::vec(document, 1..300).prop_flat_map(move |documents| {
            let rows = documents.iter().flatten().map(Vec::len).sum::<usize>();
            (Just(documents), prop::collection::vec(0..clusters, rows))
        });
        (Just(clusters), prop::collection::vec(object, 1..4))
    })
}

fn written(documents: &[Option<Vec<StoredVector>>]) -> Option<BuiltVectors> {
    let mut writer = VectorWriter::new(DIMENSIONS);
    documents.iter().for_each(|vectors| writer.push(vectors.as_deref()));
    writer.finish().unwrap()
}

fn fetch(bytes: &[u8], part: &PartRef) -> Result<Part, FormatError> {
    let range = part.range.start as usize..part.range.end as usize;
    Part::decode(part.kind, &Bytes::copy_from_slice(&bytes[range]))
}

fn clustered(clusters: u32, objects: &[(&BuiltVectors, &[u32])]) -> BuiltClusters {
    let centroids = (0..clusters).flat_map(|at| vec![at as u8; 16]).collect();
    let mut writer = ClusterWriter::new(DIMENSIONS, centroids).unwrap();
    for (built, clusters) in objects {
        let part = |part| fetch(&built.bytes, &part).unwrap();
        let (table, codes) = (part(built.layout.table()), part(built.layout.codes()));
        writer.push(&built.layout, table.vector_table().unwrap(), codes.vectors().unwrap(), clusters).unwrap();
    }
    writer.finish().unwrap()
}

/// Every row that is listed, with its cluster and code.
fn listed(built: &BuiltClusters, head: &ClusterHead) -> Vec<(u32, ListedRow, Vec<u8>)> {
    let of_cluster = |cluster| {
        let list = fetch(&built.bytes, &head.list(&built.layout, cluster).unwrap()).unwrap();
        let rows = list.cluster_list().unwrap().rows();
        rows.map(|(row, code)| (cluster, *row, code.to_vec())).collect::<Vec<_>>()
    };
    (0..built.layout.clusters).flat_map(of_cluster).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn each_row_is_in_the_list_of_its_cluster_and_pages_say_whose_it_is((clusters, objects) in objects()) {
        let objects: Vec<_> = objects.into_iter().filter_map(|(documents, of)| Some((written(&documents)?, documents, of))).collect();
        let inputs: Vec<_> = objects.iter().map(|(built, _, of)| (built, of.as_slice())).collect();
        let built = clustered(clusters, &inputs);
        prop_assert_eq!(&built.bytes, &clustered(clusters, &inputs).bytes);
        let layout = built.layout;
        prop_assert!(layout.is_sound());
        let head = fetch(&built.bytes, &layout.head()).unwrap();
        let head = head.cluster_head().unwrap();
        prop_assert_eq!(fetch(&built.bytes, &layout.centroids()).unwrap().vectors().unwrap().len(), clusters as usize * 16);
        let mut expected = Vec::new();
        for (place, (object, documents, of)) in (0u32..).zip(&objects) {
            let mut at = 0u32;
            for (document, vectors) in (0u32..).zip(documents) {
                let (part, first) = head.page(&layout, place, document).unwrap();
                let page = fetch(&built.bytes, &part).unwrap();
                let page = page.vector_table().unwrap();
                prop_assert_eq!(page.waits(document - first), vectors.is_none());
                let rows = page.rows(document - first);
                prop_assert_eq!(rows.len(), vectors.as_ref().map_or(0, Vec::len));
                for (row, vector) in rows.zip(vectors.iter().flatten()) {
                    prop_assert_eq!((row, page.lines(row)), (at, Some((vector.line, vector.lines))));
                    let listed = ListedRow { place, document, row, line: vector.line, lines: vector.lines };
                    expected.push((of[row as usize], listed, vector.code.clone()));
                    at += 1;
                }
            }
            prop_assert_eq!(head.page(&layout, place, object.layout.rows.max(documents.len() as u32)), None);
        }
        prop_assert_eq!(layout.rows, expected.len() as u64);
        let mut found = listed(&built, head);
        prop_assert!(found.chunk_by(|one, other| one.0 == other.0).all(|of| of.is_sorted_by_key(|(_, row, _)| *row)));
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(head.list(&layout, clusters), None);
    }

    #[test]
    fn damage_is_an_error((clusters, objects) in objects(), at in any::<prop::sample::Index>(), bit in 0..8) {
        let objects: Vec<_> = objects.into_iter().filter_map(|(documents, of)| Some((written(&documents)?, of))).collect();
        let mut built = clustered(clusters, &objects.iter().map(|(built, of)| (built, of.as_slice())).collect::<Vec<_>>());
        let layout = built.layout;
        let parts = |bytes: &[u8]| -> Result<Vec<PartRef>, FormatError> {
            let head = fetch(bytes, &layout.head())?;
            Ok(head.cluster_head()?.parts(&layout).unwrap())
        };
        prop_assert!(parts(&built.bytes).unwrap().iter().all(|part| fetch(&built.bytes, part).is_ok()));
        let at = FRAME as usize + at.index(built.bytes.len() - FRAME as usize);
        built.bytes[at] ^= 1u8 << bit;
        let damaged = match parts(&built.bytes) {
            Ok(parts) => [layout.centroids()].iter().chain(&parts).any(|part| fetch(&built.bytes, part).is_err()),
            Err(_) => true,
        };
        prop_assert!(damaged);
    }

    #[test]
    fn foreign_parts_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let sealed = Bytes::from(frame::seal(bytes.clone()));
        let _ = page(&sealed);
        if let Ok(list) = ClusterList::decode(&sealed) {
            list.rows().for_each(drop);
        }
        let packed = [&(bytes.len() as u32).to_le_bytes()[..], &zstd::bulk::compress(&bytes, 1).unwrap()].concat();
        if let Ok(head) = ClusterHead::decode(&Bytes::from(frame::seal(packed))) {
            let layout = ClusterLayout { bytes: 99, dimensions: 8, clusters: 3, rows: 9, head: 20 };
            for number in [0, 1, 2, 127, 128, u32::MAX] {
                let _ = (head.page(&layout, number, number), head.list(&layout, number), head.parts(&layout));
            }
        }
    }
}
