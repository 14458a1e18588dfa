//! The frontmatter.

use proptest::prelude::*;
use serde_json::Map;

use super::*;
use crate::edit::properties;
use crate::parse;

/// A frontmatter with every kind of value.
const YAML: &str = "\
# about
title:  'It''s'   # quoted
date: 2024-01-02

tags: # all of them
  - a # first
  - \"b\"
# between
deep: {x: [1, 2],
  y: z}   # flow
text: |
  one
    two

  # no comment
none:
\"odd: key\" :  5
last: >-
  folded
  text
# the end

";

fn note(yaml: &str) -> String {
    format!("---\n{yaml}---\n# Body\n")
}

fn set(name: &str, value: Value) -> Value {
    json!({"op": "set_property", "name": name, "value": value})
}

fn remove(name: &str) -> Value {
    json!({"op": "remove_property", "name": name})
}

#[test]
fn only_the_value_changes_and_its_comment_stays() {
    for (name, value, old, new) in [
        ("title", json!("Its"), "title:  'It''s'   # quoted\n", "title: Its   # quoted\n"),
        ("date", json!("2024-03-04"), "2024-01-02", "2024-03-04"),
        ("tags", json!(["c"]), "tags: # all of them\n  - a # first\n  - \"b\"\n", "tags: # all of them\n  - c\n"),
        ("tags", json!("c"), "tags: # all of them\n  - a # first\n  - \"b\"\n", "tags: c # all of them\n"),
        ("title", json!(["a", "b"]), "title:  'It''s'   # quoted\n", "title:   # quoted\n  - a\n  - b\n"),
        ("deep", json!(null), "deep: {x: [1, 2],\n  y: z}   # flow\n", "deep: null\n"),
        ("text", json!("x\ny"), "text: |\n  one\n    two\n\n  # no comment\n", "text: \"x\\ny\"\n"),
        ("none", json!(1.5), "none:\n", "none: 1.5\n"),
        ("none", json!({"a": {"b": []}}), "none:\n", "none:\n  a:\n    b: []\n"),
        ("odd: key", json!(true), "\"odd: key\" :  5\n", "\"odd: key\" : true\n"),
        ("last", json!("plain"), "last: >-\n  folded\n  text\n", "last: plain\n"),
        ("new", json!("added"), "# the end\n\n", "# the end\n\nnew: added\n"),
    ] {
        assert_eq!(YAML.matches(old).count(), 1, "{old:?}");
        let expected = YAML.replace(old, new);
        assert_eq!(edited(&note(YAML), set(name, value.clone())), note(&expected), "{name} = {value}");
        let people = "---\npeople:\n  - Ann # leads\n  - Bob # tests\n---\n";
        let others = edited(people, json!({"op": "merge_properties", "properties": {"people": ["Bob", "Cy"]}}));
        assert!(!others.contains("leads"), "a comment is of its item: {others}");
        let crlf = |text: &str| text.replace('\n', "\r\n");
        assert_eq!(edited(&crlf(&note(YAML)), set(name, value.clone())), crlf(&note(&expected)), "{name} = {value}");
    }
}

#[test]
fn the_parts_of_a_value_that_do_not_change_stay_as_they_are_written() {
    let text = "---\nlist: [a, b] # cl\nnested:\n  a: 1 # n\n  b: 2\n  # c\nitems:\n  - x # i\n  - 'y'\n---\n";
    let patch = json!({"list": ["a", "c"], "nested": {"a": 1, "b": 3}, "items": ["x", "y", "z"], "new": [1]});
    let merge = json!({"op": "merge_properties", "properties": patch});
    let expected =
        text.replace("[a, b]", "[a, c]").replace("b: 2", "b: 3").replace("'y'\n", "'y'\n  - z\nnew:\n  - 1\n");
    assert_eq!(edited(text, merge.clone()), expected);
    let crlf = |text: &str| text.replace('\n', "\r\n");
    assert_eq!(edited(&crlf(text), merge), crlf(&expected));
}

#[test]
fn a_property_is_removed_with_its_value_and_nothing_else() {
    for (name, lines) in [
        ("title", "title:  'It''s'   # quoted\n"),
        ("tags", "tags: # all of them\n  - a # first\n  - \"b\"\n"),
        ("deep", "deep: {x: [1, 2],\n  y: z}   # flow\n"),
        ("text", "text: |\n  one\n    two\n\n  # no comment\n"),
        ("none", "none:\n"),
        ("odd: key", "\"odd: key\" :  5\n"),
        ("last", "last: >-\n  folded\n  text\n"),
    ] {
        assert_eq!(edited(&note(YAML), remove(name)), note(&YAML.replace(lines, "")), "{name}");
    }
    assert_eq!(edited("---\na: 1\n---\nb", remove("a")), "---\n---\nb");
}

#[test]
fn a_property_that_has_the_value_already_stays_as_it_is_written() {
    for (name, value) in [("title", json!("It's")), ("tags", json!(["a", "b"])), ("none", json!(null))] {
        assert_eq!(edited(&note(YAML), set(name, value)), note(YAML), "{name}");
    }
}

#[test]
fn frontmatter_is_made_where_there_is_none() {
    let set = set("a", json!({"b": [1, "two"]}));
    let lines = "---\na:\n  b:\n    - 1\n    - two\n---\n";
    for body in ["", "text", "# A\n", "\n", "---\nnever closed\n"] {
        assert_eq!(edited(body, set.clone()), format!("{lines}{body}"));
    }
    assert_eq!(edited("a\r\n", set.clone()), format!("{}a\r\n", lines.replace('\n', "\r\n")));
    assert_eq!(edited("\u{FEFF}a", set.clone()), format!("\u{FEFF}{lines}a"));
    assert_eq!(edited("---\n---\na", set.clone()), format!("{lines}a"));
    assert_eq!(edited("---\n# c\n---\na", set), format!("---\n# c\n{}a", &lines[4..]));
}

#[test]
fn several_properties_are_merged_each_by_itself() {
    let merge = json!({"op": "merge_properties", "properties": {"a": [2], "c": null, "d": 4, "e": {"f": 1}}});
    let text = "---\na: 1 # x\nb: 1\nd: 3\n# y\n---\n";
    assert_eq!(edited(text, merge.clone()), "---\na: # x\n  - 2\nb: 1\nd: 4\n# y\nc: null\ne:\n  f: 1\n---\n");
    assert_eq!(edited(&edited(text, merge.clone()), merge.clone()), edited(text, merge));
    let none = json!({"op": "merge_properties", "properties": {}});
    assert_eq!(edited("a", none.clone()), "a");
    assert_eq!(edited(text, none), text);
}

#[test]
fn values_are_written_so_that_they_cannot_be_taken_for_others() {
    for (value, written) in [
        (json!("plain text"), "plain text"),
        (json!("Übung: nein"), "\"Übung: nein\""),
        (json!("12:30"), "\"12:30\""),
        (json!("2024-01-02T03:04:05"), "2024-01-02T03:04:05"),
        (json!("2024-1-2"), "\"2024-1-2\""),
        (json!("007"), "\"007\""),
        (json!("Yes"), "\"Yes\""),
        (json!("null"), "\"null\""),
        (json!(""), "\"\""),
        (json!(" a"), "\" a\""),
        (json!("[[Link]]"), "\"[[Link]]\""),
        (json!("#tag"), "\"#tag\""),
        (json!("a #b"), "\"a #b\""),
        (json!("---"), "\"---\""),
        (json!("line\r\nbreak\t\"q\" \\"), r#""line\r\nbreak\t\"q\" \\""#),
        (json!("\u{7f}\u{85}\u{2028}\u{feff}"), r#""\u007f\u0085\u2028\ufeff""#),
        (json!([]), "[]"),
        (json!({}), "{}"),
        (json!(1e300), "1e+300"),
        (json!([[1, [2]], {"a": 1, "b": [3]}, []]), "\n  - - 1\n    - - 2\n  - a: 1\n    b:\n      - 3\n  - []"),
    ] {
        let text = edited("", set("k", value.clone()));
        let expected = if written.starts_with('\n') { format!("k:{written}") } else { format!("k: {written}") };
        assert_eq!(text, format!("---\n{expected}\n---\n"));
        assert_eq!(parse(&text).properties().unwrap()["k"], value);
    }
}

#[test]
fn names_that_are_no_plain_words_are_quoted() {
    for name in ["a b", "true", "1", "a: b", "# a", "---", "<<", "ключ", "日本", "\u{0}", "[a]", "'", "\"", "?", "- a"]
    {
        let text = edited("---\nfirst: 1\n---\n", set(name, json!(2)));
        let properties = parse(&text).properties().cloned().unwrap();
        assert_eq!(Value::Object(properties), json!({"first": 1, name: 2}), "{text:?}");
        assert_eq!(edited(&text, remove(name)), "---\nfirst: 1\n---\n");
    }
    for name in [String::new(), "x".repeat(161)] {
        assert_eq!(refused("a", set(&name, json!(1))), Problem::PropertyName { max: 160 });
    }
}

#[test]
fn properties_that_are_indented_get_others_as_deep() {
    let text = "---\n  a: 1\n  b:\n    - 2\n---\n";
    let text = edited(text, set("c", json!([3])));
    assert_eq!(text, "---\n  a: 1\n  b:\n    - 2\n  c:\n    - 3\n---\n");
    assert_eq!(edited(&text, set("a", json!([4]))), text.replace(" 1\n", "\n    - 4\n"));
}

#[test]
fn frontmatter_that_cannot_be_edited_safely_is_refused() {
    for (yaml, reason) in [
        ("a: 1\na: 2\n", "the frontmatter is not read (line 3): duplicate mapping key: a"),
        ("a: [\n", "the frontmatter is not read (line 2): "),
        ("just text\n", "the frontmatter is not read (line 2): write each property as \"name: value\"; put it right"),
        ("{a: 1}\n", "the frontmatter is written with braces around its properties, which cannot"),
        ("? a\n: 1\n", "the frontmatter is written with question marks, anchors or tags before a property's name"),
        ("&x a: 1\n", "the frontmatter is written with question marks, anchors or tags before a property's name"),
        ("a: 1\n!!str b: 2\n", "the frontmatter is written with question marks, anchors or tags before a"),
        ("a: &x 1\n*x : 2\n", "the frontmatter is written with question marks, anchors or tags before a"),
        ("null\n", "the frontmatter is written with braces around its properties"),
        ("a: &x 1\nb: *x\n", "the frontmatter could not be read back: "),
        ("a: &x\nb: 1\n", "to change a would change other properties too; change the frontmatter with replace_text"),
    ] {
        let problem = refused(&note(yaml), set("a", json!("new")));
        assert!(problem.to_string().starts_with(reason), "{yaml:?}: {problem}");
    }
}

#[test]
fn anchors_do_not_stand_in_the_way_of_other_properties() {
    let text = note("a: &x 1\nb: *x\nc: 2\n");
    assert_eq!(edited(&text, set("c", json!(3))), text.replace("c: 2", "c: 3"));
    assert_eq!(edited(&text, set("b", json!(3))), text.replace("*x", "3"));
    assert_eq!(edited(&text, remove("b")), text.replace("b: *x\n", ""));
    refused(&text, remove("a"));
}

#[test]
fn a_property_that_is_missing_cannot_be_removed_and_the_others_are_listed() {
    assert_eq!(candidates(&refused("---\nb: 1\n\nc: 2\n---\n", remove("a"))), ["2 b", "4 c"]);
    assert_eq!(candidates(&refused("text", remove("a"))), [] as [&str; 0]);
}

#[test]
fn values_that_could_not_be_read_back_are_refused() {
    let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    edited("", set("a", nested(30)));
    let deep = nested(40);
    for value in [deep, json!("x".repeat(70_000))] {
        for name in ["a", "b"] {
            assert!(matches!(refused("---\na: 1\n---\n", set(name, value.clone())), Problem::Unreadable(_)));
        }
        assert!(with_frontmatter(json!({"a": value}).as_object().unwrap(), "").is_err());
    }
}

#[test]
fn a_new_note_gets_its_properties_above_its_body() {
    let properties = json!({"title": "A note", "tags": ["a", "b/c"], "due": "2024-01-02"});
    let text = with_frontmatter(properties.as_object().unwrap(), "# A\n").unwrap();
    assert_eq!(parse(&text).properties(), properties.as_object());
    assert_eq!(text.lines().count(), 8);
    assert!(text.starts_with("---\n") && text.ends_with("---\n# A\n") && text.contains("tags:\n  - a\n  - b/c\n"));
    let crlf = with_frontmatter(json!({"a": 1}).as_object().unwrap(), "b\r\nc").unwrap();
    assert_eq!(crlf, "---\r\na: 1\r\n---\r\nb\r\nc");
    let marked = with_frontmatter(json!({"a": 1}).as_object().unwrap(), "\u{FEFF}b").unwrap();
    assert_eq!(marked, "\u{FEFF}---\na: 1\n---\nb");
    assert_eq!(with_frontmatter(&Map::new(), "b").unwrap(), "b");
    let own = set_properties("---\n# Mine.\na: 2\nb: 3\n---\nc", json!({"a": 1, "d": 4}).as_object().unwrap()).unwrap();
    assert_eq!(own, "---\n# Mine.\na: 1\nb: 3\nd: 4\n---\nc");
}

#[test]
fn a_frontmatter_is_replaced_whole_and_nothing_below_it() {
    let new: Map<String, Value> = Map::from_iter([("b".to_owned(), json!(2))]);
    for (before, after) in [
        ("---\na: 1 # c\n---\n# A\n", "---\nb: 2\n---\n# A\n"),
        ("# A", "---\nb: 2\n---\n# A"),
        ("\u{FEFF}---\r\na: [\r\n---\r\ntext", "\u{FEFF}---\r\nb: 2\r\n---\r\ntext"),
        ("---\na: 1\n---\n", "---\nb: 2\n---\n"),
    ] {
        assert_eq!(crate::edit::replace_frontmatter(before, &new).unwrap(), after);
    }
    let none = Map::new();
    assert_eq!(crate::edit::replace_frontmatter("---\na: 1\n---\n# A\n", &none).unwrap(), "# A\n");
    let below = "---\na: 1\n---\n---\nb: 2\n---\n";
    assert!(matches!(crate::edit::replace_frontmatter(below, &none), Err(Problem::Unreadable(_))));
}

fn keys(text: &str) -> Vec<String> {
    parse(text).properties().unwrap().keys().cloned().collect()
}

/// Distinct names in a random order, each with the same kind of value: a map of two of them, in that order.
fn any_names() -> impl Strategy<Value = Vec<String>> {
    prop::collection::hash_set("[a-z]{1,6}", 1..8)
        .prop_map(|names| names.into_iter().collect::<Vec<_>>())
        .prop_shuffle()
}

fn nested(names: &[String]) -> Map<String, Value> {
    let inner: Map<String, Value> = names.iter().map(|name| (name.clone(), json!([name]))).collect();
    names.iter().map(|name| (name.clone(), Value::Object(inner.clone()))).collect()
}

proptest! {
    #[test]
    fn properties_stand_in_the_order_given(names in any_names()) {
        let text = with_frontmatter(&nested(&names), "# Body\n").unwrap();
        prop_assert_eq!(&keys(&text), &names);
        for (_, inner) in parse(&text).properties().unwrap() {
            prop_assert_eq!(inner.as_object().unwrap().keys().cloned().collect::<Vec<_>>(), names.clone());
        }
    }

    #[test]
    fn properties_that_are_there_keep_their_places_and_new_ones_follow_as_given(before in any_names(), given in any_names()) {
        let plain = |names: &[String]| names.iter().map(|name| (name.clone(), json!(1))).collect::<Map<String, Value>>();
        let text = with_frontmatter(&plain(&before), "# Body\n").unwrap();
        let edited = properties::set(&text, &nested(&given)).unwrap();
        let new = given.iter().filter(|name| !before.contains(name));
        prop_assert_eq!(keys(&edited), before.iter().chain(new).cloned().collect::<Vec<_>>());
    }
}
