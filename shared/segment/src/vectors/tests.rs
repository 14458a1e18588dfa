use super::*;
use crate::part::Part;
use proptest::prelude::*;

fn vector(dimensions: u32) -> impl Strategy<Value = StoredVector> {
    let bytes = |size: u64| prop::collection::vec(any::<u8>(), size as usize);
    (any::<u64>(), 0u32..9, 0u32..9, bytes(code_bytes(dimensions)), bytes(row_bytes(dimensions)))
        .prop_map(|(key, line, lines, code, row)| StoredVector { key, line, lines, code, row })
}

/// Documents with vectors in the order of their lines, some without any, some that wait.
fn documents() -> impl Strategy<Value = (u32, Vec<Option<Vec<StoredVector>>>)> {
    (1u32..20).prop_flat_map(|dimensions| {
        let vectors = prop::collection::vec(vector(dimensions), 0..90).prop_map(|mut vectors| {
            let mut line = 0;
            for vector in &mut vectors {
                vector.line += line;
                line = vector.line + vector.lines;
            }
            vectors
        });
        (Just(dimensions), prop::collection::vec(prop::option::of(vectors), 1..6))
    })
}

fn fetch(built: &BuiltVectors, part: &PartRef) -> Result<Part, FormatError> {
    let range = part.range.start as usize..part.range.end as usize;
    Part::decode(part.kind, &Bytes::copy_from_slice(&built.bytes[range]))
}

fn written(dimensions: u32, documents: &[Option<Vec<StoredVector>>]) -> Option<BuiltVectors> {
    let mut writer = VectorWriter::new(dimensions);
    documents.iter().for_each(|vectors| writer.push(vectors.as_deref()));
    writer.finish().unwrap()
}

proptest! {
    #[test]
    fn vectors_are_read_as_they_were_written((dimensions, documents) in documents()) {
        let Some(built) = written(dimensions, &documents) else {
            prop_assert!(documents.iter().all(Option::is_none));
            return Ok(());
        };
        let layout = built.layout;
        prop_assert!(layout.is_sound());
        let table = fetch(&built, &layout.table()).unwrap();
        let table = table.vector_table().unwrap();
        let bytes = |part: &PartRef| fetch(&built, part).unwrap().vectors().unwrap().clone();
        let pages: Vec<Bytes> = layout.pages().iter().map(bytes).collect();
        let pages: Vec<&Bytes> = pages.iter().collect();
        let parts = [&bytes(&layout.codes()), &bytes(&layout.keys())];
        prop_assert_eq!(table.documents() as usize, documents.len());
        for (document, vectors) in (0..).zip(&documents) {
            prop_assert_eq!(&of_document(&layout, table, parts, &pages, document), vectors);
        }
    }

    #[test]
    fn damage_is_an_error((dimensions, documents) in documents(), at in any::<prop::sample::Index>(), bit in 0..8) {
        let Some(mut built) = written(dimensions, &documents) else { return Ok(()) };
        let at = FRAME as usize + at.index(built.bytes.len() - FRAME as usize);
        built.bytes[at] ^= 1u8 << bit;
        let layout = built.layout;
        let mut parts = vec![layout.table(), layout.codes(), layout.keys()];
        parts.extend(layout.pages());
        prop_assert!(parts.iter().any(|part| fetch(&built, part).is_err()));
    }

    #[test]
    fn foreign_tables_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let packed = frame::seal([&(bytes.len() as u32).to_le_bytes()[..], &zstd::bulk::compress(&bytes, 1).unwrap()].concat());
        let _ = VectorTable::decode(&Bytes::from(packed));
    }
}
