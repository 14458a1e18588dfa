//! Lines at the start and the end, and exact text.

use super::*;

#[test]
fn append_begins_a_new_line_and_keeps_a_final_line_break() {
    for (text, added, expected) in [
        ("a\n", "b", "a\nb\n"),
        ("a\n", "b\n", "a\nb\n"),
        ("a", "b", "a\nb"),
        ("a", "b\n", "a\nb\n"),
        ("", "b", "b"),
        ("\u{FEFF}", "b", "\u{FEFF}b"),
        ("a\n\n", "b", "a\n\nb\n"),
        ("a\r\n", "b\nc", "a\r\nb\r\nc\r\n"),
        ("a\r\nb", "c\r\nd", "a\r\nb\r\nc\r\nd"),
        ("a\nb", "c\r\nd", "a\nb\nc\nd"),
        ("a", "b\r\nc", "a\r\nb\r\nc"),
        ("a\n", "", "a\n"),
        ("---\na: 1\n---", "b", "---\na: 1\n---\nb"),
    ] {
        assert_eq!(edited(text, json!({"op": "append", "text": added})), expected, "{text:?} + {added:?}");
    }
}

#[test]
fn prepend_comes_below_the_frontmatter() {
    for (text, added, expected) in [
        ("a\n", "b", "b\na\n"),
        ("a", "b", "b\na"),
        ("", "b", "b"),
        ("---\nx: 1\n---\na\n", "b", "---\nx: 1\n---\nb\na\n"),
        ("---\r\nx: 1\r\n---\r\na", "b\n", "---\r\nx: 1\r\n---\r\nb\r\na"),
        ("---\nx: 1\n---", "b", "---\nx: 1\n---\nb"),
        ("\u{FEFF}a", "b", "\u{FEFF}b\na"),
    ] {
        assert_eq!(edited(text, json!({"op": "prepend", "text": added})), expected, "{text:?} + {added:?}");
    }
}

#[test]
fn a_line_above_an_underlined_heading_does_not_become_part_of_it() {
    let prepend = |text: &str, added: &str| edited(text, json!({"op": "prepend", "text": added}));
    assert_eq!(prepend("Title\n===\n", "a"), "a\n\nTitle\n===\n");
    assert_eq!(prepend("A long\ntitle\n---\n", "a"), "a\n\nA long\ntitle\n---\n");
    assert_eq!(prepend("---\n", "a"), "a\n\n---\n");
    assert_eq!(prepend("===\n", "a"), "a\n\n===\n");
    assert_eq!(prepend("Title\n===\n", "a\n\n"), "a\n\nTitle\n===\n");
    assert_eq!(prepend("# Title\n", "a"), "a\n# Title\n");
    assert_eq!(prepend("- a\n- b\n---\n", "a"), "a\n- a\n- b\n---\n");
}

#[test]
fn text_is_replaced_where_it_is_unique_or_as_often_as_was_said() {
    let replace = |count: Value| json!({"op": "replace_text", "find": "cat", "replace": "dog", "count": count});
    assert_eq!(edited("a cat\n", replace(json!(null))), "a dog\n");
    assert_eq!(edited("cat, cat", replace(json!(2))), "dog, dog");
    let text = "a cat\nno\ncat, cat";
    let problem = refused(text, replace(json!(null)));
    assert_eq!(candidates(&problem), ["1 a cat", "3 cat, cat", "3 cat, cat"]);
    assert_eq!(
        problem.to_string(),
        "the text to find is in the note 3 times, and not 1; write more of the text around it, or set count: \
         a cat (line 1), cat, cat (line 3), cat, cat (line 3)"
    );
    refused(text, replace(json!(2)));
    refused(text, replace(json!(4)));
}

#[test]
fn text_that_is_not_there_is_looked_for_less_strictly_to_say_where_it_may_be() {
    let problem = refused("The Cat\nsat on\n", json!({"op": "replace_text", "find": "the cat \nsat", "replace": ""}));
    assert_eq!(candidates(&problem), ["1 The Cat"]);
    assert!(problem.to_string().ends_with("; write it exactly, as in The Cat (line 1)"), "{problem}");
    let other = refused("a\r\nb\r\n", json!({"op": "replace_text", "find": "a\nb", "replace": ""}));
    assert_eq!(other.to_string(), r"the text to find is in the note with other line breaks; end its lines in \r\n");
    let many = refused(&"A\n".repeat(100), json!({"op": "replace_text", "find": "a", "replace": ""}));
    assert_eq!(many.candidates().len(), 20);
    let empty = refused("a", json!({"op": "replace_text", "find": "", "replace": ""}));
    assert_eq!(empty, Problem::NothingToFind);
}

#[test]
fn what_replaces_text_has_the_notes_line_breaks() {
    let edit = json!({"op": "replace_text", "find": "b", "replace": "1\n2"});
    assert_eq!(edited("a\r\nb\r\n", edit.clone()), "a\r\n1\r\n2\r\n");
    assert_eq!(edited("a\nb\n", edit), "a\n1\n2\n");
}
