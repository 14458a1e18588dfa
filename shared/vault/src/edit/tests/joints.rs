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
fn a_line_that_goes_on_with_a_quote_stays_in_it() {
    let after = |line: usize, text: &str, added: &str| {
        edited(text, json!({"op": "insert_after", "target": {"lines": [line, line]}, "text": added}))
    };
    for (text, added, gap) in [
        ("> [!todo] Today\n> - [ ] a\n> - [ ] b", ">\t- [ ] sub", None),
        ("> [!todo] Today\n> - [ ] a\n> - [ ] b", ">   - [ ] sub", None),
        ("> [!info] Meeting\n> First paragraph.", ">\n> Second paragraph.", None),
        ("> [!info] Meeting\n> First paragraph.", "> [!tip] Other", Some("")),
        ("> text", "> > [!tip] nested", None),
        ("> > text", "> > [!tip] nested", Some(">")),
        ("> > text", "> [!tip] Other", Some("")),
        ("> > text", "> back", Some(">")),
        ("> - a", "> text", Some(">")),
        ("> - a", "text", Some("")),
        ("> - a", ">   - x", None),
        ("> text", "> | a |\n> | - |", Some(">")),
        ("> | a |\n> | - |", "> | 1 |", None),
        ("> | a |\n> | - |", "> text", Some(">")),
        ("> text", "> $$\n> x\n> $$", None),
        ("> $$\n> x\n> $$", "> text", None),
        ("> text", "> 2. x", Some(">")),
        ("> [name]: https://example.org", "> text", None),
        ("- one\n  > - two", "  > text", Some("  >")),
    ] {
        let gap = gap.map(|gap| format!("{gap}\n")).unwrap_or_default();
        assert_eq!(appended(text, added), format!("{text}\n{gap}{added}"), "{text:?}");
        assert_eq!(appended(&format!("{text}\n"), added), format!("{text}\n{gap}{added}\n"), "{text:?}");
        let more = format!("# A\n{text}\n\n# B\n");
        let in_section = json!({"op": "append_to_section", "target": {"heading": ["A"]}, "text": added});
        let expected = format!("# A\n{text}\n{gap}{added}\n\n# B\n");
        assert_eq!(edited(&more, in_section), expected, "{text:?}");
        assert_eq!(after(1 + text.lines().count(), &more, added), expected, "{text:?}");
    }
    let code = "> [!note]\n> ```\n> code\n> ```\n";
    assert_eq!(after(3, code, "> more"), "> [!note]\n> ```\n> code\n> more\n> ```\n");
    // Marks in code are none of a quote.
    assert_eq!(after(2, "```\n> - a\n> b\n```\n", "> text"), "```\n> - a\n> text\n> b\n```\n");
    // A callout below stays one.
    assert_eq!(after(1, "> a\n\n> [!tip] b\n", "> c"), "> a\n> c\n\n> [!tip] b\n");
    assert_eq!(after(1, "# A\n> [!tip] b\n", "> c"), "# A\n> c\n\n> [!tip] b\n");
    assert_eq!(after(1, "# A\n> b\n", "> - c"), "# A\n> - c\n>\n> b\n");
}

#[test]
fn no_blank_line_goes_into_html() {
    let after = |line: usize, text: &str, added: &str| {
        edited(text, json!({"op": "insert_after", "target": {"lines": [line, line]}, "text": added}))
    };
    let table = "<table>\n  <tr>\n    <td>1</td>\n  </tr>\n</table>\n";
    for added in ["    <td>2</td>", "<td>2</td>", "text"] {
        assert_eq!(after(3, table, added), table.replace("</td>\n", &format!("</td>\n{added}\n")));
    }
    let quoted: String = table.lines().map(|line| format!("> {line}\n")).collect();
    assert_eq!(after(3, &quoted, "> text"), quoted.replace("</td>\n", "</td>\n> text\n"));
    assert_eq!(after(5, table, "text"), format!("{table}\ntext\n"));
}

#[test]
fn a_blank_line_has_the_break_of_the_note() {
    assert_eq!(appended("a\r- b\r", "text"), "a\r- b\r\rtext\r");
    assert_eq!(appended("a\r- b", "text"), "a\r- b\r\rtext");
    assert_eq!(appended("a\n- b\r", "text"), "a\n- b\r\rtext\n");
    let first = json!({"op": "prepend", "text": "- a"});
    assert_eq!(edited("text\rmore", first), "- a\r\rtext\rmore");
}

#[test]
fn only_the_ends_of_a_long_text_are_looked_at() {
    let long = "- item\n\ntext\n\n".repeat(500_000);
    let begin = std::time::Instant::now();
    for (first, last, gaps) in [("text", "- b", ["\n", ""]), ("- b", "text", ["", "\n"])] {
        let added = format!("{first}\n\n{long}{last}");
        let after = |line: u32, text: &str| {
            let edit = json!([{"op": "insert_after", "target": {"lines": [line, line]}, "text": added}]);
            apply(text, &edits(edit), usize::MAX).unwrap()
        };
        let expected = format!("- a\n{}{added}\n", gaps[0]);
        assert!(after(1, "- a\n") == expected);
        let below = after(1, "# A\nbelow\n");
        assert!(below == format!("# A\n{added}\n{}below\n", if last == "- b" { "\n" } else { "" }));
    }
    assert!(begin.elapsed().as_secs() < 20);
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
    "> - item\n>   - [ ] inner",
    "> [!todo] Tasks\n> - [ ] one\n> - [x] two",
    "> | c | d |\n> | --- | --- |\n> | 3 | 4 |",
    "> ```\n> # code\n> ```",
    "> [!tip] Out\n> > [!note] In\n> > text",
    "[name]: https://example.org",
];

const ADDED: &[&str] =
    &["---\n\n## New", "===", "2. two", "> [!tip] Other", "| x |\n| --- |", "---", "> 2. two", "> text"];

const INDENTED: &[&str] = &["  - sub", "\t- sub", "  more", "    more"];

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
                let lines = text[range].lines().map(|line| line.trim_matches(['>', ' ', '\t']));
                facts.extend(lines.filter(|line| !line.is_empty()).map(|line| format!("quoted {line}")))
            }
            Event::Start(Tag::Item) => facts.push(format!("item {}", text[range].trim_end_matches(['>', ' ', '\n']))),
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

    #[test]
    fn lines_in_a_quote_are_judged_as_those_outside_one(
        blocks in vec(select(BLOCKS), 1..4),
        added in select([BLOCKS, ADDED, INDENTED].concat()),
        line: prop::sample::Index,
        apart: bool,
    ) {
        // Within a quote it may be another one.
        prop_assume!(!added.starts_with("> [!"));
        let text = blocks.join(if apart { "\n\n" } else { "\n" }) + "\n";
        let line = line.index(text.lines().count()) + 1;
        let after = |text: &str, added: &str| {
            edited(text, json!({"op": "insert_after", "target": {"lines": [line, line]}, "text": added}))
        };
        let quoted = |text: &str| -> String {
            text.lines().map(|line| format!("{}\n", format!("> {line}").trim_end())).collect()
        };
        prop_assert_eq!(after(&quoted(&text), &quoted(added)), quoted(&after(&text, added)));
    }
}
