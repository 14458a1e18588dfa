//! Headings, blocks and lines as targets.

use super::*;

const NOTE: &str = "\
# Log

## Monday

up early

## Tuesday
late

# Ideas

## Monday
- one ^first
  - nested
- two

para one
goes on ^para

| a | b |
|---|---|

^table
";

fn on(op: &str, target: Value, text: &str) -> Value {
    json!({"op": op, "target": target, "text": text})
}

/// `text` with its only `old` replaced by `new`.
#[track_caller]
fn with(old: &str, new: &str) -> String {
    assert_eq!(NOTE.matches(old).count(), 1, "{old:?}");
    NOTE.replace(old, new)
}

#[test]
fn a_section_is_replaced_below_its_heading_and_the_blank_lines_stay() {
    let section = |path: Value, text: &str| edited(NOTE, on("replace_section", json!({"heading": path}), text));
    assert_eq!(section(json!(["Log", "Monday"]), "slept\n"), with("up early", "slept"));
    assert_eq!(section(json!(["Tuesday"]), "1\n2"), with("late", "1\n2"));
    assert_eq!(section(json!(["Log"]), "all"), with("## Monday\n\nup early\n\n## Tuesday\nlate\n", "all\n"));
    assert_eq!(section(json!(["Tuesday"]), ""), with("late\n", ""));
}

#[test]
fn an_empty_section_is_filled() {
    let fill = |text: &str| edited(text, on("replace_section", json!({"heading": ["A"]}), "new"));
    assert_eq!(fill("# A"), "# A\nnew");
    assert_eq!(fill("# A\n"), "# A\nnew\n");
    assert_eq!(fill("# A\n# B\n"), "# A\nnew\n# B\n");
    assert_eq!(fill("# A\n\n# B\n"), "# A\nnew\n\n# B\n");
    assert_eq!(fill("A\n===\nB\n===\n"), "A\n===\nnew\n\nB\n===\n");
    assert_eq!(fill("# A\nold\n\nB\n===\n"), "# A\nnew\n\nB\n===\n");
    assert_eq!(fill("# A\n## Sub\nB\n===\nbody\n"), "# A\nnew\n\nB\n===\nbody\n");
}

#[test]
fn a_section_ends_at_the_next_heading_that_is_not_deeper_and_code_has_no_headings() {
    let text = "# A\n```\n# no\n```\n## B\nb\n# C\nc";
    let replaced = edited(text, on("replace_section", json!({"heading": ["A"]}), "new"));
    assert_eq!(replaced, "# A\nnew\n# C\nc");
    assert_eq!(edited(text, on("replace_section", json!({"heading": ["C"]}), "new\n")), text.replace("\nc", "\nnew"));
    refused(text, on("replace_section", json!({"heading": ["no"]}), "new"));
}

#[test]
fn lines_are_added_around_headings_and_at_the_end_of_sections() {
    let add = |op: &str, path: Value| edited(NOTE, on(op, json!({"heading": path}), "new"));
    assert_eq!(add("append_to_section", json!(["Log", "Monday"])), with("early\n", "early\nnew\n"));
    assert_eq!(add("append_to_section", json!(["Log"])), with("late\n", "late\nnew\n"));
    assert_eq!(add("append_to_section", json!(["Ideas"])), format!("{NOTE}new\n"));
    assert_eq!(add("insert_before", json!(["Tuesday"])), with("## Tuesday", "new\n## Tuesday"));
    assert_eq!(add("insert_after", json!(["Log"])), with("# Log\n", "# Log\nnew\n"));
    assert_eq!(add("insert_after", json!([" Tuesday "])), with("late", "new\nlate"));
}

#[test]
fn a_heading_that_is_missing_or_not_unique_changes_nothing_and_is_listed() {
    let refused = |path: Value| refused(NOTE, on("append_to_section", json!({"heading": path}), "new"));
    let twice = refused(json!(["Monday"]));
    assert_eq!(candidates(&twice), [r#"3 ["Log","Monday"]"#, r#"12 ["Ideas","Monday"]"#]);
    assert_eq!(
        twice.to_string(),
        "there is more than one heading [\"Monday\"]; write the headings above it too, or its lines: \
         [\"Log\",\"Monday\"] (line 3), [\"Ideas\",\"Monday\"] (line 12)"
    );
    let like = refused(json!(["Ideas", "tues"]));
    assert_eq!(candidates(&like), [r#"7 ["Log","Tuesday"]"#]);
    let other = refused(json!(["Sunday"]));
    assert_eq!(other.candidates().len(), 5);
    assert_eq!(refused(json!(["Log", "Ideas"])).candidates().len(), 1);
    assert_eq!(refused(json!([])), Problem::NoHeadingNamed);
    assert_eq!(refused(json!([""])).candidates().len(), 5);
}

#[test]
fn levels_that_are_left_out_and_names_that_repeat_are_told_apart() {
    let text = "# A\n### X\nx\n## B\n### X\ny\n";
    let replace = |path: Value| on("replace_section", json!({"heading": path}), "new");
    assert_eq!(edited(text, replace(json!(["B", "X"]))), text.replace("y\n", "new\n"));
    assert_eq!(edited(text, replace(json!(["A", "B", "X"]))), text.replace("y\n", "new\n"));
    assert_eq!(refused(text, replace(json!(["A", "X"]))).candidates().len(), 2);
    assert_eq!(refused(text, replace(json!(["B", "A", "X"]))).candidates().len(), 2);
}

#[test]
fn a_block_id_names_its_paragraph_its_item_with_what_is_nested_or_the_block_above_it() {
    let replace = |id: &str| edited(NOTE, on("replace_section", json!({"block": id}), "new"));
    assert_eq!(replace("first"), with("- one ^first\n  - nested\n", "new\n"));
    assert_eq!(replace("^para"), with("para one\ngoes on ^para", "new"));
    assert_eq!(replace("table"), with("| a | b |\n|---|---|\n\n^table", "new"));
    let add = |op: &str| edited(NOTE, on(op, json!({"block": "first"}), "- new"));
    assert_eq!(add("insert_before"), with("- one", "- new\n- one"));
    assert_eq!(add("insert_after"), with("  - nested\n", "  - nested\n- new\n"));
    assert_eq!(add("append_to_section"), with("  - nested\n", "  - nested\n- new\n"));
}

#[test]
fn a_block_may_stand_in_a_quote_a_list_or_a_heading() {
    for (text, block) in [
        ("a\n\n> b\n> c ^id\n\nd", "> b\n> c ^id"),
        ("- a\n\n  b\n  c ^id\n- d", "  b\n  c ^id"),
        ("- a ^id\n\n  b\n\n- c", "- a ^id\n\n  b"),
        ("- a\n  - b ^id\n    c\n- d", "  - b ^id\n    c"),
        ("1. a\n   b ^id\n2. c", "1. a\n   b ^id"),
        ("a\n# b ^id\nc", "# b ^id"),
        ("a\n\nb ^id\n===\nc", "b ^id\n==="),
        ("a\n\n^2 is b ^id\n", "^2 is b ^id"),
        ("a\n\n- b\n\n  ^id\n- c\n", "- b\n\n  ^id"),
        ("a\n\n> b\n>\n> ^id\n", "> ^id"),
        ("---\nx: 1\n---\na\n\nb ^id", "b ^id"),
        ("^id\n\na", "^id"),
        ("- a\n- b\n\n^id\n", "- a\n- b\n\n^id"),
        ("a\r\n\r\nb\r\nc ^id  \r\n\r\nd", "b\r\nc ^id  "),
    ] {
        let expected = text.replace(block, "new");
        assert_eq!(edited(text, on("replace_section", json!({"block": "id"}), "new")), expected, "{text:?}");
    }
}

#[test]
fn a_block_id_that_is_missing_or_not_unique_changes_nothing_and_is_listed() {
    let at = |id: &str| on("insert_after", json!({"block": id}), "new");
    assert_eq!(candidates(&refused(NOTE, at("other"))), ["13 ^first", "18 ^para", "23 ^table"]);
    let twice = refused("a ^x\n\nb ^x\n", at("x"));
    assert_eq!(candidates(&twice), ["1 a ^x", "3 b ^x"]);
}

#[test]
fn lines_are_counted_from_one() {
    let at = |op: &str, lines: [u32; 2]| on(op, json!({"lines": lines}), "new");
    let text = "a\nb\nc\n";
    for (op, lines, expected) in [
        ("replace_section", [1, 1], "new\nb\nc\n"),
        ("replace_section", [2, 3], "a\nnew\n"),
        ("replace_section", [1, 3], "new\n"),
        ("insert_before", [1, 3], "new\na\nb\nc\n"),
        ("insert_before", [3, 3], "a\nb\nnew\nc\n"),
        ("insert_after", [1, 2], "a\nb\nnew\nc\n"),
        ("append_to_section", [3, 3], "a\nb\nc\nnew\n"),
    ] {
        assert_eq!(edited(text, at(op, lines)), expected, "{op} {lines:?}");
        let crlf = |text: &str| text.replace('\n', "\r\n");
        assert_eq!(edited(&crlf(text), at(op, lines)), crlf(expected), "{op} {lines:?}");
    }
    assert_eq!(edited("a\nb", at("replace_section", [2, 2])), "a\nnew");
    assert_eq!(edited("a\nb", at("insert_after", [2, 2])), "a\nb\nnew");
    for lines in [[0, 1], [2, 1], [3, 4], [4, 4]] {
        let problem = refused(text, at("insert_after", lines));
        assert_eq!(problem, Problem::NoSuchLines { from: lines[0], to: lines[1], count: 3 });
    }
    refused("", at("insert_before", [1, 1]));
}

#[test]
fn a_byte_order_mark_stays_at_the_start() {
    let text = "\u{FEFF}# A ^id\nb\n";
    for target in [json!({"heading": ["A ^id"]}), json!({"block": "id"}), json!({"lines": [1, 1]})] {
        assert_eq!(edited(text, on("insert_before", target, "new")), "\u{FEFF}new\n# A ^id\nb\n");
    }
    assert_eq!(edited(text, on("replace_section", json!({"lines": [1, 1]}), "")), "\u{FEFF}b\n");
    assert_eq!(edited("\u{FEFF}A\n===\n", json!({"op": "prepend", "text": "new"})), "\u{FEFF}new\n\nA\n===\n");
    let item = "\u{FEFF}- a ^id\n  - b\n";
    assert_eq!(edited(item, on("insert_after", json!({"block": "id"}), "new")), format!("{item}\nnew\n"));
}

#[test]
fn an_empty_text_removes_lines_with_their_break() {
    let remove = |lines: [u32; 2]| on("replace_section", json!({"lines": lines}), "");
    assert_eq!(edited("a\r\nb\r\nc", remove([2, 2])), "a\r\nc");
    assert_eq!(edited("a\nb\nc", remove([3, 3])), "a\nb\n");
    assert_eq!(edited("a", remove([1, 1])), "");
}

#[test]
fn headings_are_not_looked_for_where_not_all_of_them_would_be_found() {
    let long = format!("# A\n{}\n# B\nb\n", "x\n".repeat(crate::note::MAX_BODY_BYTES / 2));
    let target = Edit::ReplaceSection { target: Target::Heading(vec!["A".into()]), text: String::new() };
    let error = apply(&long, &[target], usize::MAX).unwrap_err();
    assert_eq!(error, EditError::Refused { edit: 1, problem: Box::new(Problem::TooLongForTargets) });
}
