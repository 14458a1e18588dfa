use proptest::prelude::*;

use crate::inline::{in_brackets, task_dates, whole_line};

fn fields(line: &str) -> Vec<(&str, &str)> {
    in_brackets(line).into_iter().map(|field| (field.key, field.value)).collect()
}

#[test]
fn fields_in_brackets_are_found() {
    for line in ["", "[]", "()", "[key:value]", "(key:value)", "[key:: value", "key:: value]", "[a]b:: c]"] {
        assert_eq!(fields(line), [], "{line}");
    }
    assert_eq!(fields("[key::value]"), [("key", "value")]);
    assert_eq!(fields("(key::value)"), [("key", "value")]);
    assert_eq!(fields("[key:: value] and so thus, [key2:: value2]"), [("key", "value"), ("key2", "value2")]);
    assert_eq!(fields("[[[[hello:: 16]]"), [("hello", "16")]);
    assert_eq!(fields("This is some text. [key:: [value]]"), [("key", "[value]")]);
    assert_eq!(fields(r"Hello? [key! :: \[value]"), [("key!", r"\[value")]);
    assert_eq!(fields("(a:: [b:: c])"), [("a", "[b:: c]"), ("b", "c")]);
    assert_eq!(fields("[a:: [b:: x]"), [("b", "x")]);
    let field = in_brackets("é [a:: b] c").remove(0);
    assert_eq!(("é [a:: b] c").get(field.start..field.end), Some("[a:: b]"));
}

#[test]
fn whole_lines_are_fields() {
    let field = |line| whole_line(line).map(|field| (field.key, field.value));
    assert_eq!(field("Rating:: 5"), Some(("Rating", "5")));
    assert_eq!(field("**Due date**:: [[2024-05-01]]"), Some(("Due date", "[[2024-05-01]]")));
    assert_eq!(field("> *time-played/x*:: a:: b"), Some(("time-played/x", "a:: b")));
    assert_eq!(field("_a_:: b"), Some(("_a_", "b")));
    assert_eq!(field("empty::"), Some(("empty", "")));
    assert_eq!(field("no field: here"), None);
    assert_eq!(field("what (is) this:: x"), None);
}

#[test]
fn signs_of_tasks_say_dates() {
    let dates: Vec<_> = task_dates("do 📅 2024-05-01 ✅2024-05-02 ➕ soon 🗓️ 2024-06-01")
        .into_iter()
        .map(|field| (field.key, field.value))
        .collect();
    assert_eq!(dates, [("due", "2024-05-01"), ("completion", "2024-05-02")]);
}

proptest! {
    /// Found fields lie in the line, in order, and in brackets; lines of nothing but brackets take no longer than others.
    #[test]
    fn fields_lie_where_they_say(line in "[\\[\\]():a é\\\\]{0,60}") {
        for field in in_brackets(&line) {
            let text = line.get(field.start..field.end).unwrap();
            prop_assert!(text.starts_with(['[', '(']) && text.ends_with([']', ')']) && text.contains("::"), "{}", text);
            prop_assert!(text.contains(field.key) && text.contains(field.value));
        }
        let _ = whole_line(&line);
    }
}

#[test]
fn hostile_lines_take_time_that_grows_with_their_length() {
    for piece in ["[", "[a:: ", "(a::[", "::", "[::]", "\\"] {
        let line = piece.repeat(60_000 / piece.len());
        assert!(in_brackets(&line).len() <= line.len());
    }
}
