//! One part of a segment: it decodes and answers queries, or is an error. The input is its kind, its framing, a text to
//! search for, and its content.

use atlas_segment::clusters::ClusterLayout;
use atlas_segment::facts::{Columns, Rows, TargetColumns};
use atlas_segment::gram::Gram;
use atlas_segment::passage_page::PassagePage;
use atlas_segment::terms::weight_of;
use atlas_segment::{Part, PartKind};
use bytes::Bytes;

use crate::forge::{Framing, SECTIONS, frame};
use crate::input::Input;

/// The assumed number of documents, and of chunks, of the segment.
const UNIVERSE: u32 = 300;

/// The kinds of parts that are in no segment, but in an object of its own.
const OTHERS: [PartKind; 5] =
    [PartKind::VectorTable, PartKind::Vectors, PartKind::ClusterHead, PartKind::ClusterPage, PartKind::ClusterList];

/// Decodes a part and makes every query.
pub fn check(data: &[u8]) {
    let mut input = Input(data);
    let kinds: Vec<PartKind> = SECTIONS.iter().map(|(_, kind)| *kind).chain(OTHERS).collect();
    let kind = kinds[usize::from(input.byte()) % kinds.len()];
    let framing = Framing::of(input.byte());
    let length = input.byte() % 16;
    let text = input.take(length.into());
    let bytes = Bytes::from(frame(kind, framing, input.0));
    if let Ok(part) = Part::decode(kind, &bytes) {
        ask(&part, text, UNIVERSE);
        if let Some(last) = bytes.len().checked_sub(1) {
            assert!(Part::decode(kind, &bytes.slice(..last)).is_err(), "a part that is cut short decodes");
        }
    }
}

/// Makes every query to `part` of a segment of `documents` documents that needs no other part.
pub(crate) fn ask(part: &Part, text: &[u8], documents: u32) {
    assert!(part.weight() <= 64 << 20);
    match part {
        Part::TextBlock(_) | Part::TextBlocks(_) => {}
        Part::GramPage(page) => {
            let places = (0..=text.len()).map(|at| Gram::of(&text[at..]));
            for list in places.flat_map(|place| page.postings(place, documents)) {
                let found = list.ids();
                assert!(found.is_sorted_by(|a, b| a < b) && found.last().is_none_or(|last| *last < documents));
            }
        }
        Part::RecordPage(page) => {
            for index in 0..page.len().min(100) {
                if let Ok(record) = page.get(index) {
                    let _ = page.find(&record.path);
                }
            }
            assert!(page.get(page.len()).is_err());
            let _ = page.find(&String::from_utf8_lossy(text));
        }
        Part::Chunks(chunks) => {
            for document in [0, 1, documents, u32::MAX] {
                let _ = (chunks.text(document), chunks.documents(document), chunks.first_line(document, 1));
                let _ = (chunks.span(1, document..u32::MAX), chunks.holding(document, 7), chunks.document_at(document));
                let _ = (chunks.of(document), chunks.is_whole(document), chunks.whole(document..u32::MAX).count());
            }
        }
        Part::Terms(terms) => {
            let text = String::from_utf8_lossy(text);
            let _ = (terms.get(&text), terms.near(text.get(..20).unwrap_or(&text), 2), terms.words());
            let found = terms.with_prefix(text.get(..1).unwrap_or_default(), 100);
            assert!(found.is_sorted());
        }
        Part::TermPage(page) => {
            for list in [0, 1, 7, u32::MAX] {
                for (document, level) in page.postings(list, documents).iter().flat_map(|list| list.weighted()) {
                    assert!(document < documents && weight_of(level) > 0);
                }
            }
        }
        Part::Paths(paths) => {
            let text = String::from_utf8_lossy(text);
            let _ = paths.get(&text);
            let range = paths.with_prefix(&text);
            assert!(range.start <= range.end);
            for document in [0, 1, documents] {
                if let Ok(path) = paths.path(document) {
                    assert_eq!(paths.get(&path), Some(document));
                }
            }
        }
        Part::Names(names) => {
            assert!(names.holding(text).is_sorted_by(|a, b| a < b));
            for document in names.holding(text) {
                let name = names.get(document).unwrap();
                assert!(memchr::memmem::find(name, text).is_some());
            }
        }
        Part::Headings(headings) => {
            for heading in headings.holding(text).take(100) {
                let _ = headings.of(heading.document).take(100).count();
            }
        }
        Part::Properties(columns) => ask_columns(columns, text),
        Part::Tags(columns) => ask_columns(columns, text),
        Part::Tasks(rows) => ask_rows(rows),
        Part::LinkLines(rows) => ask_rows(rows),
        Part::Symbols(rows) => ask_rows(rows),
        Part::Fields(columns) => ask_columns(columns, text),
        Part::Lists(lists) => {
            for document in lists.with_tasks().iter().take(100) {
                assert!(!lists.of(*document).unwrap().is_empty());
            }
        }
        Part::Passages(table) => {
            let words: usize = (0..documents).map(|document| table.of(document).len()).sum();
            assert!(words * 4 <= part.weight());
        }
        Part::PassagePage(page) => ask_passages(page, text),
        Part::Linked(targets) => ask_targets(targets, text),
        Part::Anchors(targets) => ask_targets(targets, text),
        Part::VectorTable(table) => {
            for document in (0..table.documents()).take(100) {
                let rows = table.rows(document);
                assert!(rows.is_empty() || !table.waits(document));
                assert!(rows.take(100).all(|row| table.lines(row).is_some()));
            }
            assert!(table.waits(table.documents()) && table.rows(u32::MAX).is_empty());
        }
        Part::ClusterHead(head) => {
            let layout = ClusterLayout { bytes: 1 << 20, dimensions: 8, clusters: documents, rows: 100, head: 64 };
            for number in [0, 1, documents, u32::MAX] {
                let _ = (head.page(&layout, 0, number), head.page(&layout, number, 0), head.list(&layout, number));
            }
            let _ = head.parts(&layout);
        }
        Part::ClusterList(list) => assert!(list.rows().take(100).all(|(_, code)| !code.is_empty())),
        Part::Vectors(_) | Part::Directories(_) => {}
        Part::Code(table) => {
            let text = String::from_utf8_lossy(text);
            assert!(table.named(&text).chain(table.users(&text)).all(|one| table.get(one.number) == Some(one)));
            for file in table.files().take(100) {
                let code = table.code(file.document).unwrap();
                assert_eq!(code.definitions.len(), file.definitions().len());
            }
        }
    }
}

fn ask_columns<T: PartialEq + std::fmt::Debug>(columns: &Columns<T>, text: &[u8]) {
    let _ = columns.get(&String::from_utf8_lossy(text));
    for column in columns.iter().take(100) {
        assert!(columns.get(column.key()).is_some());
        assert!(column.iter().take(100).all(|(document, value)| column.of(document) == Some(value)));
    }
}

fn ask_targets(targets: &TargetColumns, text: &[u8]) {
    let _ = targets.of_key(&String::from_utf8_lossy(text)).count();
    for key in targets.keys().take(100) {
        assert!(targets.of_key(key).count() > 0);
        let _ = targets.of_key(key).flat_map(|(_, targets)| targets.iter()).count();
    }
}

/// Asks for the passages of documents of which each has as many as `text` says, again and again.
fn ask_passages(page: &PassagePage, text: &[u8]) {
    let counts: Vec<u8> = text.iter().map(|byte| if *byte == 1 { 2 } else { byte % 128 }).collect();
    let mut table = vec![counts.len() as u8];
    counts.iter().for_each(|count| table.extend(std::iter::once(*count).chain(vec![1; usize::from(*count)])));
    table.push(0);
    let table = Bytes::from(frame(PartKind::Passages, Framing::Right, &table));
    let Ok(Part::Passages(table)) = Part::decode(PartKind::Passages, &table) else { return };
    let all: Vec<(u32, ())> = (0..counts.len() as u32).map(|document| (document, ())).collect();
    for list in [0, 1, 7, u32::MAX] {
        let asked = |step: usize| {
            let mut found = Vec::new();
            let wanted = all.iter().map(|(document, ())| *document).step_by(step);
            page.each_of(list, &all, wanted, &table, |document, passages| found.push((document, passages.to_vec())));
            found
        };
        let whole = asked(1);
        for (document, passages) in &whole {
            assert!(passages.iter().all(|passage| *passage < u32::from(counts[*document as usize])));
        }
        let some: Vec<_> = whole.iter().filter(|(document, _)| document % 3 == 0).cloned().collect();
        assert_eq!(asked(3), some);
    }
}

fn ask_rows<T>(rows: &Rows<T>) {
    let documents: Vec<u32> = rows.iter().map(|(document, _)| document).take(100).collect();
    assert!(documents.is_sorted() && documents.iter().all(|document| !rows.of(*document).is_empty()));
}

/// The input for a part of `kind` with `content`.
pub(crate) fn input(kind: PartKind, text: &str, content: &[u8]) -> Vec<u8> {
    let section = SECTIONS.iter().position(|(_, other)| *other == kind).unwrap();
    let mut input = vec![section as u8, 0, text.len() as u8];
    input.extend(text.as_bytes());
    input.extend(content);
    input
}
