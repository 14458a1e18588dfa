use super::*;
use crate::error::FormatError;
use crate::frame::Packer;
use crate::part::{Part, PartKind};
use crate::section::SectionName;
use bytes::Bytes;
use proptest::prelude::*;

const KINDS: [SymbolKind; 4] = [SymbolKind::Function, SymbolKind::Method, SymbolKind::Type, SymbolKind::Prototype];

fn names() -> impl Strategy<Value = Vec<String>> {
    prop::collection::btree_set("[a-d]{1,2}", 0..4).prop_map(|names| names.into_iter().collect())
}

fn definition() -> impl Strategy<Value = Definition> {
    let numbers = (any::<u32>(), any::<(u32, u32)>(), any::<u64>());
    ("[a-d]{1,2}", prop::sample::select(&KINDS[..]), "[a-d]{0,2}", numbers, "[(a) ]{0,6}", names()).prop_map(
        |(name, kind, container, (line, lines, shape), signature, uses)| Definition {
            name,
            kind,
            container,
            line,
            lines,
            signature,
            shape,
            uses,
        },
    )
}

fn code() -> impl Strategy<Value = Code> {
    (prop::collection::vec(definition(), 0..5), names(), prop::collection::vec("[a-d/.]{0,5}", 0..3))
        .prop_map(|(definitions, uses, imports)| Code { definitions, uses, imports })
}

fn section(files: &[Option<Code>]) -> Option<Bytes> {
    let mut writer = CodeWriter::default();
    for (document, code) in (0..).zip(files) {
        if let Some(code) = code {
            writer.push(document, code);
        }
    }
    writer.finish(&mut Packer::new().unwrap()).unwrap().map(Bytes::from)
}

fn decode(bytes: &Bytes) -> Result<Part, FormatError> {
    Part::decode(PartKind::Facts(SectionName::Code), bytes)
}

proptest! {
    #[test]
    fn what_files_say_is_read_again(files in prop::collection::vec(prop::option::of(code()), 0..6)) {
        for code in files.iter().flatten() {
            let bytes = code.to_bytes().unwrap();
            prop_assert_eq!(&Code::from_bytes(&bytes).unwrap(), code);
            prop_assert!(Code::from_bytes(&bytes[..bytes.len() - 1]).is_err());
        }
        let Some(bytes) = section(&files) else {
            prop_assert!(files.iter().all(Option::is_none));
            return Ok(());
        };
        let part = decode(&bytes).unwrap();
        let table = part.code().unwrap();
        let mut all = Vec::new();
        for (document, code) in (0..).zip(&files) {
            prop_assert_eq!(&table.code(document), code);
            all.extend(code.iter().flat_map(|code| &code.definitions).map(|definition| (document, definition)));
        }
        for name in ["a", "bc", "none"] {
            let expected: Vec<u32> = all.iter().filter(|(_, one)| one.name == name).map(|(document, _)| *document).collect();
            prop_assert_eq!(table.named(name).map(|one| one.document).collect::<Vec<_>>(), expected);
            let expected: Vec<&str> = all.iter().filter(|(_, one)| one.uses.iter().any(|used| used == name)).map(|(_, one)| one.name.as_str()).collect();
            prop_assert_eq!(table.users(name).map(|one| one.name).collect::<Vec<_>>(), expected);
        }
        for name in ["a", "bc", "none"] {
            let uses = |code: &&Code| code.uses.iter().any(|used| used == name);
            let expected: Vec<u32> = (0..).zip(&files).filter(|(_, code)| code.as_ref().is_some_and(|code| uses(&code))).map(|(document, _)| document).collect();
            prop_assert_eq!(table.using_files(name).collect::<Vec<_>>(), expected);
        }
        let count: usize = table.defined_names().map(|(_, count)| count).sum();
        prop_assert_eq!(count, all.len());
        let shapes: Vec<u64> = all.iter().map(|(_, one)| one.shape).take(1).collect();
        prop_assert!(table.shaped(&shapes).all(|one| one.shape != 0 && shapes.contains(&one.shape)));
    }

    #[test]
    fn damage_is_an_error_that_names_the_section(files in prop::collection::vec(code(), 1..4), at in any::<prop::sample::Index>(), bit in 0..8) {
        let mut bytes = section(&files.into_iter().map(Some).collect::<Vec<_>>()).unwrap().to_vec();
        let at = at.index(bytes.len());
        bytes[at] ^= 1u8 << bit;
        let error = decode(&Bytes::from(bytes)).unwrap_err();
        prop_assert!(matches!(error, FormatError::Damaged { section: SectionName::Code, .. }), "{}", error);
    }

    #[test]
    fn foreign_bytes_make_no_panic(payload in prop::collection::vec(any::<u8>(), 0..80)) {
        let part = Bytes::from(Packer::new().unwrap().pack(&payload).unwrap());
        if let Ok(part) = decode(&part) {
            let table = part.code().unwrap();
            prop_assert!(table.files().all(|file| table.code(file.document).is_some()));
        }
    }
}

#[test]
fn ranks_that_no_name_has_are_damage() {
    let form = |name: u32, container: u32| writer::Form {
        names: vec!["a".to_owned()],
        documents: vec![0],
        files: vec![writer::FileForm {
            definitions: vec![writer::DefinitionForm {
                name,
                kind: SymbolKind::Function,
                container,
                line: 0,
                lines: (0, 0),
                signature: String::new(),
                shape: 0,
                uses: vec![],
            }],
            uses: vec![],
            imports: vec![],
        }],
    };
    let decoded = |form| decode(&Bytes::from(crate::facts::packed(&form, &mut Packer::new().unwrap()).unwrap()));
    assert!(decoded(form(0, 1)).is_ok());
    assert!(decoded(form(1, 0)).is_err() && decoded(form(0, 2)).is_err());
}
