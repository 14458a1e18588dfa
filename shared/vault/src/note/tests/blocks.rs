//! Headings, tasks and block ids.

use super::*;

#[test]
fn headings_have_one_to_six_marks_and_a_space_or_an_underline() {
    for (text, expected) in [
        ("# A", vec!["# A"]),
        ("###### F", vec!["###### F"]),
        ("####### G", vec![]),
        ("#A", vec![]),
        ("#\tA", vec!["# A"]),
        ("   ## A", vec!["## A"]),
        ("## A ##", vec!["## A"]),
        ("## A #b#  ", vec!["## A #b#"]),
        ("# C#", vec!["# C#"]),
        ("# #", vec!["# "]),
        ("#", vec!["# "]),
        ("# \\# *a* `b` [[c]]", vec!["# \\# *a* `b` [[c]]"]),
        ("\\# A", vec![]),
        ("A\n===", vec!["# A"]),
        ("A\nb\n---", vec!["## A b"]),
        ("A\r\n---\r\nb", vec!["## A"]),
        ("text\n# A\nmore", vec!["# A"]),
        ("a\r# B\rc", vec!["# B"]),
        ("a\n\n---\n", vec![]),
        ("|a|\n|---|", vec![]),
        ("\u{FEFF}# A", vec!["# A"]),
    ] {
        assert_eq!(headings(text), expected, "{text:?}");
    }
}

#[test]
fn headings_in_quotes_lists_and_footnotes_are_not_the_note_s() {
    assert_eq!(headings("> # A\n\n- # B\n\n[^1]: # C\n\n# D"), ["# D"]);
}

#[test]
fn a_heading_knows_where_it_is() {
    let text = "a\r\n\r\n  # B #\r\n\r\nC\r\n-\r\nd";
    let found = parse(text).headings;
    let places: Vec<_> = found.iter().map(|heading| (heading.line, &text[heading.offset..heading.end])).collect();
    assert_eq!(places, [(2, "# B #"), (4, "C\r\n-")]);
}

#[test]
fn only_a_line_feed_ends_a_numbered_line() {
    let note = parse("a\r# B\r\nc\r# D\n# E");
    assert_eq!(note.headings.iter().map(|heading| heading.line).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn a_list_item_with_a_box_is_a_task() {
    let text = "\
- [ ] open
* [x] done ^id
+ [/] half  \r
1. [-] dropped
2) [あ] any character
  - [ ] deeper
\t- [ ] by tab
> - [ ] quoted
>   - [ ] quoted deeper
- [ ]
-   [ ] wide";
    let found: Vec<_> = parse(text).tasks.into_iter().map(|t| (t.line, t.indent, t.status, t.text)).collect();
    let expected = [
        (0, 0, ' ', "open"),
        (1, 0, 'x', "done ^id"),
        (2, 0, '/', "half"),
        (3, 0, '-', "dropped"),
        (4, 0, 'あ', "any character"),
        (5, 2, ' ', "deeper"),
        (6, 4, ' ', "by tab"),
        (7, 0, ' ', "quoted"),
        (8, 2, ' ', "quoted deeper"),
        (9, 0, ' ', ""),
        (10, 0, ' ', "wide"),
    ];
    assert_eq!(found, expected.map(|(line, indent, status, text)| (line, indent, status, text.to_owned())));
}

#[test]
fn a_box_elsewhere_is_no_task() {
    for text in ["[ ] a", "-[ ] a", "- a [ ] b", "- [x](y)", "- [xx] a", "- [] a", "- [ ]a", "- \\[ ] a", "# [ ] a"] {
        assert_eq!(parse(text).tasks, [], "{text:?}");
    }
}

#[test]
fn a_task_knows_where_its_status_is() {
    let text = "---\na: 1\n---\n\n- - [ ] a\n\n> 10. [é] b\n";
    let found = parse(text).tasks;
    let status = |task: &Task| text[task.status_offset..].chars().next();
    assert_eq!(found.iter().map(status).collect::<Vec<_>>(), [Some(' '), Some('é')]);
    assert_eq!(found.iter().map(|task| task.line).collect::<Vec<_>>(), [4, 6]);
}

#[test]
fn a_block_id_ends_a_line() {
    let text = "text ^one\r\n- item ^Two-2 \n\n^alone\n\n> quote\n^three\rcr ^four";
    let note = parse(text);
    let names: Vec<_> = note.block_ids.iter().map(|id| (id.name.as_str(), id.line)).collect();
    assert_eq!(names, [("one", 0), ("Two-2", 1), ("alone", 3), ("three", 6), ("four", 6)]);
    assert!(note.block_ids.iter().all(|id| text[id.range.clone()] == format!("^{}", id.name)));

    for text in ["a^b", "a ^b c", "a ^b_c", "a ^", "a ^ü", "`a ^b`", "[[a#^b]]", "a ^b%%c", "```\n ^a\n```"] {
        assert_eq!(parse(text).block_ids, [], "{text:?}");
    }
}

/// The own texts of list items, each with its line, its lines, and the line of the item that it is below.
fn items(text: &str) -> Vec<(&str, u32, u32, Option<u32>)> {
    let note = parse(text);
    let parent = |item: &Item| item.parent.map(|parent| note.items[parent as usize].line);
    note.items.iter().map(|item| (&text[item.range.clone()], item.line, item.lines, parent(item))).collect()
}

#[test]
fn a_list_item_ends_where_those_below_it_begin() {
    assert_eq!(
        items("# A\n- a\n  b\n    - c\n\n- d\n\n  e\n\ntext\n"),
        [("- a\n  b", 1, 2, None), ("- c", 3, 1, Some(1)), ("- d\n\n  e", 5, 3, None)]
    );
    assert_eq!(items("> 1. a\n>    * [x] b"), [("1. a", 0, 1, None), ("* [x] b", 1, 1, Some(0))]);
    assert_eq!(items("- - a\r\n  - b"), [("-", 0, 1, None), ("- a", 0, 1, Some(0)), ("- b", 1, 1, Some(0))]);
    assert_eq!(items("%%\n- a\n%%\n```\n- b\n```\n"), []);
    let note = parse("- a\n  - b\n\ntext\n\n* c");
    assert_eq!(note.items.iter().map(|item| item.list).collect::<Vec<_>>(), [0, 0, 5]);
}

#[test]
fn lines_that_may_have_fields_are_those_outside_of_items_and_code() {
    let text =
        "a:: 1\r\n- b:: 2\n`c::d`\n\n# e (f:: 3)\n\n> g:: `x::y`\n\n```\nh:: 4\n```\n%% i:: 5 %%\n<div>j:: 6</div>\n";
    let lines: Vec<&str> = parse(text).field_lines.into_iter().map(|line| &text[line]).collect();
    assert_eq!(lines, ["a:: 1", "# e (f:: 3)", "> g:: `x::y`"]);
}

#[test]
fn a_fence_ends_on_its_line_whatever_ends_the_line() {
    let text = "intro [[a]]\n```\n[[b]] #b\n- [ ] b\n```\n[[c]] #c\n\n- [ ] d\n  > ~~~\n  > [[e]]\n  > ~~~\n  #f\n\n# g %%h%%\n";
    let read = |text: &str| {
        let note = parse(text);
        let ranges = note.links.iter().map(|link| link.range.clone());
        let ranges: Vec<_> = ranges.chain(note.headings.iter().map(|heading| heading.offset..heading.end)).collect();
        let descriptions: Vec<_> = note.tasks.iter().map(|task| task.text.clone()).collect();
        let items: Vec<_> = note.items.iter().map(|item| item.range.clone()).collect();
        (links(text), tags(text), headings(text), descriptions, ranges, items)
    };
    let expected = read(text);
    assert_eq!((expected.0.join(" "), expected.1.join(" ")), ("a c".to_owned(), "c f".to_owned()));
    assert_eq!(expected.3, ["d"]);
    assert_eq!(read(&text.replace('\n', "\r")), expected);
    // Of a text that has both.
    assert_eq!(read(&text.replacen('\n', "\r", 4)), expected);
}
