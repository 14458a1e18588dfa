//! One part of a segment: it decodes and answers queries, or is an error. The input is its kind, its framing, a text to
//! search for, and its content.

use atlas_segment::facts::{Columns, Rows};
use atlas_segment::terms::weight_of;
use atlas_segment::gram::Gram;
use atlas_segment::{Part, PartKind};
use bytes::Bytes;

use crate::forge::{Framing, SECTIONS, frame};
use crate::input::Input;

/// The assumed number of documents, and of chunks, of the segment.
const UNIVERSE: u32 = 300;

/// Decodes a part and makes every query.
pub fn check(data: &[u8]) {
    let mut input = Input(data);
    let kind = SECTIONS[usize::from(input.byte()) % SECTIONS.len()].1;
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
            let _ = (terms.get(&text), terms.one_edit_from(text.get(..20).unwrap_or(&text), 100), terms.words());
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
