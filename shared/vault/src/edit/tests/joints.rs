//! Inserted lines and the blocks beside them: neither becomes part of the other.

use pulldown_cmark::{Event, Tag};

use super::*;
use crate::markdown::Events;
use crate::parse;
use crate::table::tables;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const TABLE: &str = "| a | b |\n| --- | --- |\n| 1 | 2 |";

fn appended(text: &str, added: &str) -> String {
    edited(text, json!({"op": "append", "text": added}))
}

#[test]
fn appended_text_does_not_become_part_of_the_last_block() {
    for (text, added) in [
        ("- [ ] Buy milk 📅 2026-12-01", "Meeting went well."),
        ("- a\n  - b", "text"),
        (TABLE, "Ende."),
        (TABLE, "| x | y |\n| --- | --- |"),
        ("# A\n\nLast paragraph.", "---\n\n## New"),
        ("Last paragraph.", "Title\n==="),
        ("Last paragraph.", TABLE),
        ("Last paragraph.", "2. two"),
        ("> Words\n> — Maeve", "sess"),
        ("> [!note] One\n> text", "> [!tip] Two"),
        ("> [!note] One\n> text", "text"),
        ("<div>\nx\n</div>", "**text**"),
        ("[^1]: A note.", "text"),
    ] {
        assert_eq!(appended(text, added), format!("{text}\n\n{added}"), "{text:?}");
        let (ended, crlf) = (format!("{text}\n"), format!("{text}\n").replace('\n', "\r\n"));
        assert_eq!(appended(&ended, added), format!("{ended}\n{added}\n"), "{text:?}");
        assert_eq!(appended(&crlf, added), format!("{ended}\n{added}\n").replace('\n', "\r\n"), "{text:?}");
        assert_eq!(appended(&format!("{ended}\n"), added), format!("{ended}\n{added}\n"), "{text:?}");
    }
}

#[test]
fn appended_text_that_continues_the_last_block_does() {
    for (text, added) in [
        ("one", "two"),
        ("one  ", "    two"),
        ("- a", "- b"),
        ("1. a", "2. b"),
        ("- [ ] a", "- [x] b"),
        ("- a", "  more"),
        ("- a\n\t- b", "\t- c"),
        (TABLE, "| 3 | 4 |"),
        ("> a", "> b"),
        ("one", "- a"),
        ("one", "# A"),
        ("- a", "# A"),
        ("# A", "text"),
        ("# A", TABLE),
        ("```\ncode\n```", "text"),
        ("```\nopen", "text"),
    ] {
        assert_eq!(appended(text, added), format!("{text}\n{added}"), "{text:?} {added:?}");
    }
}

#[test]
fn text_below_stays_a_block_of_its_own() {
    let prepend = |text: &str, added: &str| edited(text, json!({"op": "prepend", "text": added}));
    for (text, added) in [
        ("text", "- a"),
        ("text", "> a"),
        ("text", TABLE),
        ("> [!note] One", "> a"),
        (TABLE, "text"),
        ("Title\n---", "- a"),
        ("[^1]: a\n\ntext", "text [^1]"),
    ] {
        let gap = if text.starts_with("[^") { "" } else { "\n" };
        assert_eq!(prepend(text, added), format!("{added}\n{gap}{text}"), "{text:?}");
    }
    assert_eq!(prepend("- a", "- b"), "- b\n- a");
    // A line of hyphens at the start would begin properties.
    assert_eq!(prepend("a\n\n---\n\nb", "---\nlog"), "\n---\nlog\na\n\n---\n\nb");
    let between = json!({"op": "insert_after", "target": {"lines": [1, 1]}, "text": "- a"});
    assert_eq!(edited("one\ntwo\n", between), "one\n- a\n\ntwo\n");
}

#[test]
fn no_blank_line_goes_into_properties_or_code() {
    let after = |line: u32, text: &str, added: &str| {
        edited(text, json!({"op": "insert_after", "target": {"lines": [line, line]}, "text": added}))
    };
    assert_eq!(after(2, "---\na: 1\n---\nb\n", "tags:\n- x"), "---\na: 1\ntags:\n- x\n---\nb\n");
    assert_eq!(after(2, "```\n- a\n```\n", "text"), "```\n- a\ntext\n```\n");
}

#[test]
fn the_end_of_a_long_note_is_seen() {
    let long = "- item\n\ntext\n\n".repeat(20_000);
    assert_eq!(appended(&format!("{long}- a\n"), "new"), format!("{long}- a\n\nnew\n"));
    assert_eq!(appended(&format!("{long}a\n"), "new"), format!("{long}a\nnew\n"));
    let line = format!("- {}", "x".repeat(200_000));
    assert_eq!(appended(&line, "new"), format!("{line}\n\nnew"));
}

const BLOCKS: &[&str] = &[
    "one paragraph",
    "a paragraph\nof two lines",
    "- item",
    "- [ ] task 📅 2026-12-01",
    "- outer\n  - [x] inner",
    "1. first\n2. second",
    "> quote",
    "> [!note] Callout\n> inside",
    TABLE,
    "# Heading",
    "Underlined\n===",
    "Also so\n---",
    "```\n# code\n```",
    "<div>\nhtml\n</div>",
    "***",
    "[^1]: footnote",
    "[name]: https://example.org",
];

const ADDED: &[&str] = &["---\n\n## New", "===", "2. two", "> [!tip] Other", "| x |\n| --- |", "---"];

/// The headings, tasks, rows and quoted lines of a text, sorted.
fn facts(text: &str) -> Vec<String> {
    let note = parse(text);
    let mut facts: Vec<String> =
        note.headings.iter().map(|heading| format!("h{} {}", heading.level, heading.text)).collect();
    facts.extend(note.tasks.iter().map(|task| format!("task {}", task.text)));
    for table in tables(text) {
        facts.push(format!("head {:?}", table.header));
        facts.extend(table.rows.iter().map(|row| format!("row {:?}", row.cells)));
    }
    for (event, range) in Events::of(text) {
        match event {
            Event::Start(Tag::BlockQuote(_)) => {
                facts.extend(text[range].lines().map(|line| format!("quoted {}", line.trim())))
            }
            Event::Start(Tag::Item) => facts.push(format!("item {}", text[range].trim())),
            Event::Start(Tag::HtmlBlock) => facts.push(format!("html {}", text[range].trim())),
            _ => {}
        }
    }
    facts.sort();
    facts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn no_block_changes_when_lines_are_inserted_beside_it(
        blocks in vec(select(BLOCKS), 1..4),
        added in select([BLOCKS, ADDED].concat()),
        which: prop::sample::Index,
        op in select(vec!["append", "prepend", "insert_before", "insert_after"]),
        ended: bool,
    ) {
        let text = blocks.join("\n\n") + if ended { "\n" } else { "" };
        let which = which.index(blocks.len());
        let first = blocks[..which].concat().matches('\n').count() + 2 * which + 1;
        let last = first + blocks[which].matches('\n').count();
        let line = if op == "insert_before" { first } else { last };
        let edit = match op {
            "append" | "prepend" => json!({"op": op, "text": added}),
            _ => json!({"op": op, "target": {"lines": [line, line]}, "text": added}),
        };
        let after = edited(&text, edit);
        let mut expected = [facts(&text), facts(added)].concat();
        expected.sort();
        prop_assert_eq!(facts(&after), expected, "{:?}", after);
    }
}
