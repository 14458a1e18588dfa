//! Compares the content of a built segment with a naive reading of its documents.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use proptest::prelude::*;

use atlas_vault::{VaultPath, fold};

use crate::builder::{Body, Builder, Built, Document};
use crate::error::FormatError;
use crate::part::{Part, PartRef};
use crate::record::{Kind, Record};
use crate::section::{Section, SectionName};
use crate::terms::{Terms, tag_term, weight_of};
use crate::{Probe, candidates};

fn build(notes: &BTreeMap<String, Vec<u8>>) -> Built {
    let mut builder = Builder::new().unwrap();
    for (path, text) in notes {
        builder.push(&document(&VaultPath::parse(path).unwrap(), text)).unwrap();
    }
    builder.finish().unwrap().unwrap()
}

fn document<'a>(path: &'a VaultPath, text: &'a [u8]) -> Document<'a> {
    Document {
        path,
        path_on_disk: None,
        kind: Kind::Note,
        sha256: [7; 32],
        modified_ms: 1_700_000_000_123,
        generation: 0,
        replaces: 3,
        body: Body::Text(text),
    }
}

fn fetch(built: &Built, part: &PartRef) -> Part {
    let bytes = Bytes::copy_from_slice(&built.bytes[part.range.start as usize..part.range.end as usize]);
    Part::decode(part.kind, &bytes).unwrap()
}

fn text_of(built: &Built, document: u32) -> Bytes {
    let chunks = fetch(built, &built.layout.chunks().unwrap());
    let blocks = fetch(built, &built.layout.text_blocks().unwrap());
    let span = chunks.chunks().unwrap().text(document).unwrap();
    let blocks = blocks.text_blocks().unwrap();
    let parts: Vec<Part> = blocks.parts(&built.layout, span).unwrap().iter().map(|part| fetch(built, part)).collect();
    blocks.cut(span, &parts).unwrap()
}

fn record_of(built: &Built, path: &str) -> Option<(u32, Record)> {
    let (page, first) = built.layout.record_page(path).unwrap()?;
    let found = fetch(built, &page).record_page().unwrap().find(path).unwrap();
    found.map(|(index, record)| {
        let page = fetch(built, &page);
        let head = page.record_page().unwrap().head(index).unwrap();
        assert_eq!((head.path, head.bytes, head.modified_ms), (&*record.path, record.bytes, record.modified_ms));
        assert!(head.aliases == record.aliases && head.tags == record.tags);
        (first + index as u32, record)
    })
}

/// Whether the predicted range for `path` includes its text.
fn is_near(built: &Built, path: &str) -> bool {
    let near = built.layout.text_near(path).unwrap();
    let (_, record) = record_of(built, path).unwrap();
    let blocks = fetch(built, &built.layout.text_blocks().unwrap());
    let parts = blocks.text_blocks().unwrap().parts(&built.layout, record.text).unwrap();
    parts.iter().all(|part| near.start <= part.range.start && part.range.end <= near.end)
}

fn candidates_of(built: &Built, term: &str, limit: usize) -> Vec<u32> {
    let probe = Probe::new(fold::fold(term).as_bytes(), limit);
    let parts: Vec<Part> = built.layout.gram_pages(&probe).unwrap().iter().map(|part| fetch(built, part)).collect();
    candidates(&probe, &built.layout, parts.iter().map(|part| part.gram_page().unwrap())).unwrap()
}

fn term_postings(built: &Built, table: &Terms, ordinal: u32) -> Vec<(u32, u32)> {
    let (page, list) = table.page(&built.layout, ordinal).unwrap();
    let page = fetch(built, &page);
    page.term_page().unwrap().postings(list, built.layout.documents).unwrap().weighted().collect()
}

fn notes() -> impl Strategy<Value = BTreeMap<String, Vec<u8>>> {
    let text = prop_oneof![
        prop::collection::vec(prop_oneof!["[a-cA-C ]{0,9}", "[äÄßẞςΣσKk日本語🎉]{0,4}", Just("\r".to_owned())], 0..20)
            .prop_map(|lines| lines.join("\n").into_bytes()),
        prop::collection::vec(any::<u8>(), 0..60),
        (0usize..300_000, prop_oneof![Just(b"long text "), Just(b"lines abc\n")]).prop_map(|(length, text)| text
            .iter()
            .copied()
            .cycle()
            .take(length)
            .collect()),
    ];
    prop::collection::btree_map("[a-c]{1,3}(/[a-cé]{1,3}){0,2}\\.md", text, 1..40)
}

#[test]
fn a_text_is_near_what_is_said_before_its_record_is_known() {
    let mut seed = 1u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 40) as usize
    };
    let mut note = |number: usize| {
        let length = if number.is_multiple_of(97) { 100_000 } else { random() % 1000 };
        (format!("{number:04}.md"), (0..length).map(|_| b'a' + (random() % 26) as u8).collect())
    };
    let notes: BTreeMap<String, Vec<u8>> = (0..2000).map(&mut note).collect();
    let built = build(&notes);
    assert!(built.layout.record_pages().unwrap().len() > 4);
    let text = built.layout.range(SectionName::Text).unwrap();
    for path in notes.keys() {
        assert!(is_near(&built, path), "{path}");
        let near = built.layout.text_near(path).unwrap();
        assert!((near.end - near.start) * 3 < text.end - text.start, "{path}: {near:?} of {text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_document_is_found_with_its_text(notes in notes()) {
        let built = build(&notes);
        let paths = fetch(&built, &built.layout.paths().unwrap());
        let paths = paths.paths().unwrap();
        let names = fetch(&built, &built.layout.names().unwrap());
        let names = names.names().unwrap();
        prop_assert_eq!(names.named("never there.md"), [0u32; 0]);
        for (id, (path, text)) in (0u32..).zip(&notes) {
            prop_assert_eq!(paths.get(path), Some(id));
            let name = fold::fold(VaultPath::parse(path).unwrap().file_name());
            let named = |other: &u32| names.get(*other) == Some(name.as_bytes());
            prop_assert_eq!(names.named(&name), (0..notes.len() as u32).filter(named).collect::<Vec<_>>());
            prop_assert_eq!(&paths.path(id).unwrap(), path);
            prop_assert_eq!(&text_of(&built, id)[..], &text[..]);
            let (found, record) = record_of(&built, path).unwrap();
            prop_assert_eq!(found, id);
            prop_assert_eq!(&record.path, path);
            prop_assert_eq!(record.text.length as usize, text.len());
            prop_assert!(is_near(&built, path));
        }
        prop_assert!(record_of(&built, "zzz.md").is_none());
        prop_assert_eq!(paths.get("zzz.md"), None);
    }

    #[test]
    fn candidates_hold_every_chunk_with_the_term_on_a_line(notes in notes(), term in prop_oneof!["[a-cA-C ]{1,9}", "(long |text |lines |abc){1,2}", "[äßΣKk日本🎉]{1,3}"], limit in 1usize..9) {
        let built = build(&notes);
        let term_folded = fold::fold(&term);
        let found = candidates_of(&built, &term, limit);
        prop_assert!(found.is_sorted());
        let table = fetch(&built, &built.layout.chunks().unwrap());
        let table = table.chunks().unwrap();
        for document in 0..notes.len() as u32 {
            let text = text_of(&built, document);
            let start = table.text(document).unwrap().start;
            for chunk in table.of(document).unwrap() {
                let span = table.span(document, chunk..chunk + 1).unwrap();
                let piece = text.slice((span.start - start) as usize..(span.start - start + span.length) as usize);
                let mut folded = Vec::new();
                fold::fold_bytes_into(&piece, &mut folded);
                if memchr::memmem::find(&folded, term_folded.as_bytes()).is_some() {
                    prop_assert!(found.contains(&chunk), "{:?} not among the candidates for {:?}", piece, term);
                }
            }
        }
    }

    #[test]
    fn a_term_has_the_documents_that_hold_it(notes in notes()) {
        let built = build(&notes);
        let table = fetch(&built, &built.layout.terms().unwrap());
        let table = table.terms().unwrap();
        let mut expected: BTreeMap<String, BTreeMap<u32, u32>> = BTreeMap::new();
        for (id, (path, text)) in (0u32..).zip(&notes) {
            prop_assume!(!text.starts_with(b"\xff\xfe") && !text.starts_with(b"\xfe\xff"));
            let text = String::from_utf8_lossy(text);
            prop_assert_eq!(table.lengths()[id as usize] as usize, atlas_vault::words(&text).count());
            let path = VaultPath::parse(path).unwrap();
            let note = atlas_vault::parse(&text);
            let tags: BTreeSet<&str> = note.tags.iter().map(|tag| tag.name.as_str()).collect();
            let fields = note.headings.iter().map(|heading| (heading.text.as_str(), 2)).chain(tags.iter().map(|tag| (*tag, 3)));
            let mut add = |term: String, weight| *expected.entry(term).or_default().entry(id).or_default() += weight;
            for (field, weight) in fields.chain([(text.as_ref(), 1), (path.stem(), 5)]) {
                atlas_vault::words(field).for_each(|word| add(word.folded.into_owned(), weight));
            }
            tags.into_iter().for_each(|tag| add(tag_term(tag), 1));
        }
        for (term, documents) in &expected {
            let postings = term_postings(&built, table, table.get(term).unwrap());
            prop_assert_eq!(postings.len(), documents.len());
            for ((document, level), (id, weight)) in postings.into_iter().zip(documents) {
                let (least, most) = (weight_of(level), if level < 8 { weight_of(level + 1) } else { u32::MAX });
                prop_assert!(document == *id && (least..most).contains(weight), "{} in {}: {}", term, id, weight);
            }
        }
        let all = table.with_prefix("", usize::MAX);
        prop_assert_eq!(all.iter().map(|(term, _)| term).collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        prop_assert_eq!(table.get("never there"), None);
    }

    #[test]
    fn an_edit_is_one_character_more_less_other_or_earlier(notes in notes(), term in "[a-cé日]{1,5}") {
        let built = build(&notes);
        let table = fetch(&built, &built.layout.terms().unwrap());
        let table = table.terms().unwrap();
        for most in [1u8, 2] {
            let near = table.near(&term, most);
            for (other, ordinal) in table.with_prefix("", usize::MAX) {
                let edits = strsim::osa_distance(&term, &other);
                let found = near.iter().find(|(word, _, _)| *word == other);
                let begins_so = edits < 2 || other.chars().next() == term.chars().next();
                let expected = (edits <= usize::from(most) && begins_so).then_some((ordinal, edits as u8));
                prop_assert_eq!(found.map(|(_, ordinal, edits)| (*ordinal, *edits)), expected, "{}", other);
            }
        }
    }

    #[test]
    fn a_prefix_is_a_range_of_documents(notes in notes(), prefix in "[a-c]{0,2}/?") {
        let built = build(&notes);
        let paths = fetch(&built, &built.layout.paths().unwrap());
        let range = paths.paths().unwrap().with_prefix(&prefix);
        let expected: Vec<u32> = (0u32..).zip(notes.keys()).filter(|(_, path)| path.starts_with(&prefix)).map(|(id, _)| id).collect();
        prop_assert_eq!(range.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_damaged_object_is_an_error_that_names_the_place(notes in notes(), at in any::<prop::sample::Index>(), bit in 0..8, cut in any::<bool>()) {
        let built = build(&notes);
        let mut bytes = built.bytes.clone();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= 1u8 << bit }
        prop_assert!(crate::object::verify(&Bytes::from(bytes.clone())).is_err());
        let damaged = Built { bytes, layout: built.layout.clone() };
        let terms = fetch(&built, &built.layout.terms().unwrap());
        let mut parts = built.layout.parts().unwrap();
        parts.extend(terms.terms().unwrap().pages(&built.layout).unwrap());
        if let Some(passages) = built.layout.passages().unwrap() {
            parts.extend(fetch(&built, &passages).passages().unwrap().pages(&built.layout).unwrap());
        }
        for part in parts {
            let Some(bytes) = damaged.bytes.get(part.range.start as usize..part.range.end as usize) else { continue };
            let holds_it = part.range.contains(&(at as u64)) && !cut;
            let decoded = Part::decode(part.kind, &Bytes::copy_from_slice(bytes));
            prop_assert_eq!(decoded.is_err(), holds_it, "{:?}", part);
        }
    }

    #[test]
    fn foreign_bytes_are_errors(kind in 0usize..14, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let kinds = [SectionName::Text, SectionName::Grams, SectionName::Records, SectionName::TextBlocks, SectionName::Chunks, SectionName::Paths, SectionName::Names, SectionName::Headings, SectionName::Terms, SectionName::TermPostings, SectionName::Passages, SectionName::PassagePostings, SectionName::Linked, SectionName::Anchors];
        let part = part_kind(kinds[kind]);
        let sealed = Bytes::from(crate::frame::seal(bytes.clone()));
        let packed = Bytes::from(crate::frame::Packer::new().unwrap().pack(&bytes).unwrap());
        for bytes in [Bytes::from(bytes), sealed, packed] {
            let _ = Part::decode(part, &bytes);
        }
    }
}

fn part_kind(section: SectionName) -> crate::part::PartKind {
    use crate::part::PartKind;
    match section {
        SectionName::Text => PartKind::TextBlock,
        SectionName::Grams => PartKind::GramPage,
        SectionName::Records => PartKind::RecordPage,
        SectionName::TextBlocks => PartKind::TextBlocks,
        SectionName::Chunks => PartKind::Chunks,
        SectionName::Paths => PartKind::Paths,
        SectionName::Names => PartKind::Names,
        SectionName::Headings => PartKind::Headings,
        SectionName::Terms => PartKind::Terms,
        SectionName::TermPostings => PartKind::TermPage,
        SectionName::Properties
        | SectionName::Tags
        | SectionName::Tasks
        | SectionName::LinkLines
        | SectionName::Symbols
        | SectionName::Fields
        | SectionName::Lists
        | SectionName::Code
        | SectionName::Linked
        | SectionName::Anchors => PartKind::Facts(section),
        SectionName::Passages => PartKind::Passages,
        SectionName::PassagePostings => PartKind::PassagePage,
        SectionName::Vectors => PartKind::Vectors,
    }
}

#[test]
fn a_segment_says_its_layout_and_equal_documents_give_equal_bytes() {
    let notes: BTreeMap<String, Vec<u8>> =
        (0..500).map(|n| (format!("notes/{n:04}.md"), format!("# Note {n}\n\ntext of {n}\n").into_bytes())).collect();
    let built = build(&notes);
    assert_eq!(crate::object::verify(&Bytes::from(built.bytes.clone())).unwrap(), built.layout);
    assert_eq!(build(&notes).bytes, built.bytes);
    assert!(built.layout.record_pages().unwrap().len() > 1, "five hundred records take more than a page");
}

#[test]
fn a_large_segment_which_two_threads_finish_finds_what_it_holds() {
    let mut text: String = (0..60_000).map(|line| format!("line {line} of a long note\n")).collect();
    text.push_str("a zebrafish\n");
    let notes = BTreeMap::from([("a.md".to_owned(), b"short\n".to_vec()), ("b.md".to_owned(), text.into_bytes())]);
    let built = build(&notes);
    assert!(built.layout.text_bytes > 1 << 20 && built.layout.chunks > 2);
    assert_eq!(candidates_of(&built, "zebrafish", 10), [built.layout.chunks - 1]);
    assert_eq!(build(&notes).bytes, built.bytes);
}

#[test]
fn documents_out_of_order_are_refused() {
    let mut builder = Builder::new().unwrap();
    let (a, b) = (VaultPath::parse("a.md").unwrap(), VaultPath::parse("b.md").unwrap());
    builder.push(&document(&b, b"")).unwrap();
    for path in [&a, &b] {
        assert!(matches!(builder.push(&document(path, b"")), Err(FormatError::OutOfOrder { .. })));
    }
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let mut built = build(&BTreeMap::from([("a.md".to_owned(), b"text".to_vec())]));
    built.bytes[8] = 9;
    assert_eq!(crate::object::verify(&Bytes::from(built.bytes)), Err(FormatError::Version { found: 9, supported: 1 }));
}

#[test]
fn a_section_of_a_later_version_is_skipped_and_checked() {
    let built = build(&BTreeMap::from([("a.md".to_owned(), b"# A\n\ntext\n".to_vec())]));
    let (later, footer) = (b"what this version does not know", built.layout.bytes as usize);
    let mut object = built.bytes[..footer].to_vec();
    object.extend_from_slice(later);
    let mut layout = built.layout.clone();
    let section = Section { offset: layout.bytes, length: later.len() as u64 };
    layout.sections.insert("later".to_owned(), section);
    layout.bytes = object.len() as u64;
    let object = crate::object::finish(object, &layout).unwrap();
    assert_eq!(crate::object::verify(&Bytes::from(object.clone())).unwrap(), layout);
    let grown = Built { bytes: object.clone(), layout: layout.clone() };
    for (part, before) in layout.parts().unwrap().iter().zip(built.layout.parts().unwrap()) {
        assert_eq!(part, &before);
        fetch(&grown, part);
    }
    let mut damaged = object;
    damaged[footer] ^= 1;
    assert!(crate::object::verify(&Bytes::from(damaged)).is_err());
    layout.sections.insert("later".to_owned(), Section { offset: layout.bytes, length: 1 });
    let outside = crate::object::finish(built.bytes[..footer].to_vec(), &layout).unwrap();
    assert!(crate::object::verify(&Bytes::from(outside)).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn directories_that_a_layout_leaves_are_read_from_the_object(notes in notes(), at in any::<prop::sample::Index>(), bit in 0..8) {
        let built = build(&notes);
        let mut closed = built.layout.clone();
        closed.leave_directories();
        let closed: crate::Layout = serde_json::from_slice(&serde_json::to_vec(&closed).unwrap()).unwrap();
        prop_assert_eq!(&closed, &built.layout);
        prop_assert!(matches!((closed.record_pages(), closed.parts()), (Err(FormatError::NotRead), Err(FormatError::NotRead))));

        let part = closed.missing_directories(built.bytes.len() as u64).unwrap();
        let mut damaged = built.bytes.clone();
        damaged[part.range.start as usize..][at.index((part.range.end - part.range.start) as usize)] ^= 1u8 << bit;
        if let Ok(read) = Part::decode(part.kind, &Bytes::from(damaged).slice(part.range.start as usize..)) {
            prop_assert_eq!(&**read.directories().unwrap(), built.layout.directories().unwrap(), "no directory but the one of the checksum");
        }

        closed.give_directories(fetch(&built, &part).directories().unwrap().clone());
        prop_assert_eq!(closed.parts().unwrap(), built.layout.parts().unwrap());
        prop_assert_eq!(closed.missing_directories(built.bytes.len() as u64), None);
    }
}
