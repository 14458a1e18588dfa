use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::string_text::StringText;

/// A text with every kind of value, as people write them.
const TEXT: &str = "\
# What is read next.
filters:
  and:
    - file.hasTag(\"book\") # of paper
    - 'status != \"done\"'
formulas:
  left: pages - read

  # of a shelf
  shelf: \"if(x, 'a', \\\"b\\\")\"
properties: {status: {displayName: Status}, 'file.ext': {displayName: \"Kind\"}}
views:
  - type: table
    name: All
    order: [file.name, 'status',
      \"pages\"]
  # for the phone
  - name: Cards
    # a plugin's
    type: cards
    text: |
      two

      lines
  -
    type: map
    limit: 5
";

/// The change of the value at a JSON pointer.
fn with(text: &str, pointer: &str, new: Value) -> Value {
    let mut value = read(text).unwrap();
    *value.pointer_mut(pointer).unwrap() = new;
    value
}

fn changed(text: &str, wanted: &Value) -> String {
    let changed = with_value(text, wanted).unwrap();
    assert_eq!(read(&changed).unwrap(), *wanted, "{changed}");
    changed
}

#[test]
fn what_is_not_changed_keeps_its_bytes() {
    for (pointer, new, old, written) in [
        ("/formulas/left", json!("pages"), "left: pages - read\n", "left: pages\n"),
        ("/filters/and/0", json!("x"), "- file.hasTag(\"book\") # of paper\n", "- x # of paper\n"),
        ("/filters/and/1", json!("status == \"a\""), "'status != \"done\"'", "'status == \"a\"'"),
        (
            "/filters",
            json!("x > 1"),
            "filters:\n  and:\n    - file.hasTag(\"book\") # of paper\n    - 'status != \"done\"'\n",
            "filters: \"x > 1\"\n",
        ),
        (
            "/filters/and",
            json!(["a", "b", "c"]),
            "    - file.hasTag(\"book\") # of paper\n    - 'status != \"done\"'\n",
            "    - a\n    - b\n    - c\n",
        ),
        ("/properties/status/displayName", json!("State"), "displayName: Status", "displayName: State"),
        (
            "/properties/file.ext",
            json!({"displayName": "Kind", "x": [1, "a, b"]}),
            "\"Kind\"}",
            "\"Kind\", x: [1, \"a, b\"]}",
        ),
        ("/views/0/order/2", json!("note.x"), "\"pages\"", "note.x"),
        ("/views/0/order", json!(["file.name", "pages"]), "'status',\n      ", ""),
        ("/views/0/order", json!(["file.name", "status", "pages", "b"]), "\"pages\"]", "\"pages\", b]"),
        ("/views/0/order", json!(["a", "file.name", "status", "pages"]), "[file.name", "[a, file.name"),
        ("/views/0/order", json!([]), " [file.name, 'status',\n      \"pages\"]", " []"),
        ("/views/1/text", json!("one"), "text: |\n      two\n\n      lines\n", "text: one\n"),
        ("/views/2", json!({"limit": 5}), "  -\n    type: map\n", "  -\n"),
        ("/views/1", json!({"type": "cards", "text": "two\n\nlines\n"}), "- name: Cards\n", "- \n"),
        (
            "/views/0",
            json!({"name": "All", "order": ["file.name", "status", "pages"]}),
            "- type: table\n    name",
            "- name",
        ),
        ("/views/0/order", json!(null), " [file.name, 'status',\n      \"pages\"]", " null"),
    ] {
        assert_eq!(TEXT.matches(old).count(), 1, "{old:?}");
        let (wanted, expected) = (with(TEXT, pointer, new), TEXT.replace(old, written));
        assert_eq!(changed(TEXT, &wanted), expected, "{pointer}");
        let crlf = TEXT.replace('\n', "\r\n");
        let wanted_crlf = with(&crlf, pointer, wanted.pointer(pointer).unwrap().clone());
        assert_eq!(changed(&crlf, &wanted_crlf), expected.replace('\n', "\r\n"), "{pointer}");
        assert_eq!(changed(TEXT.trim_end(), &wanted), expected.trim_end(), "{pointer}");
    }
}

#[test]
fn entries_and_items_come_and_go_with_their_lines() {
    let mut value = read(TEXT).unwrap();
    value["formulas"]["new"] = json!("a > b");
    value["views"][2]["sort"] = json!([{ "property": "x", "direction": "ASC" }]);
    let added = changed(TEXT, &value);
    let expected = TEXT
        .replace("\\\"b\\\")\"\n", "\\\"b\\\")\"\n  new: \"a > b\"\n")
        .replace("    limit: 5\n", "    limit: 5\n    sort:\n      - property: x\n        direction: ASC\n");
    assert_eq!(added, expected);
    assert_eq!(changed(&added, &read(TEXT).unwrap()), TEXT);

    let mut views = value["views"].as_array().unwrap().clone();
    value = read(TEXT).unwrap();
    views.remove(1);
    views[1] = value["views"][2].clone();
    value["views"] = views.clone().into();
    let cut = "  - name: Cards\n    # a plugin's\n    type: cards\n    text: |\n      two\n\n      lines\n";
    assert_eq!(changed(TEXT, &value), TEXT.replace(cut, ""));
    views.push(json!({ "type": "list", "name": "it's \"new\"" }));
    value["views"] = views.into();
    let expected = TEXT.replace(cut, "") + "  - type: list\n    name: 'it''s \"new\"'\n";
    assert_eq!(changed(&TEXT.replace(cut, ""), &value), expected);
    value["views"] = json!([]);
    assert!(changed(TEXT, &value).ends_with("\nviews: []\n"));
}

#[test]
fn an_empty_text_gets_its_first_values_below_its_comments() {
    assert_eq!(changed("# mine\n", &json!({ "views": [{ "type": "table" }] })), "# mine\nviews:\n  - type: table\n");
    assert_eq!(changed("", &json!({ "a": 1 })), "a: 1\n");
    assert_eq!(
        changed("formulas:\nviews:\n- a\n- b\n", &json!({ "formulas": { "x": "1" }, "views": ["b", "c"] })),
        "formulas:\n  x: \"1\"\nviews:\n- b\n- c\n"
    );
    assert_eq!(with_value("\u{FEFF}a: 1\n", &json!({ "a": 2 })).unwrap(), "\u{FEFF}a: 2\n");
    assert_eq!(with_value("# only\n", &json!({})).unwrap(), "# only\n");
}

#[test]
fn what_an_alias_repeats_is_not_changed_under_it() {
    let text = "a: &x [1]\nb: *x\n";
    assert_eq!(with_value(text, &json!({ "a": [2], "b": [1] })), Err(ChangeError::Entangled));
    assert_eq!(changed(text, &json!({ "a": [1], "b": [2] })), "a: &x [1]\nb:\n  - 2\n");
    assert!(matches!(with_value("a: [", &json!({})), Err(ChangeError::Text(_))));
}

/// Values as documents have them.
fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        "[a-z]{1,4}".prop_map(Value::from),
        "[ -~é\n]{0,8}".prop_map(Value::from),
        (0..100).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    scalar.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-e]", inner, 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// A value as text: in lines or in brackets, with comments and empty lines between.
fn styled(value: &Value, choices: &mut impl Iterator<Item = u8>, column: usize, out: &mut String) {
    let indent = " ".repeat(column);
    let choice = choices.next().unwrap_or_default();
    match value {
        Value::Object(entries) if !entries.is_empty() && choice > 60 => {
            for (name, value) in entries {
                between(choices, &indent, out);
                out.push_str(&format!("{indent}{name}:"));
                below(value, choices, column, out);
            }
        }
        Value::Array(items) if !items.is_empty() && choice > 60 => {
            for item in items {
                between(choices, &indent, out);
                out.push_str(&format!("{indent}-"));
                below(item, choices, column, out);
            }
        }
        other => out.push_str(&format!("{indent}{other}\n")),
    }
}

fn below(value: &Value, choices: &mut impl Iterator<Item = u8>, column: usize, out: &mut String) {
    let is_block = value.as_array().is_some_and(|items| !items.is_empty())
        || value.as_object().is_some_and(|entries| !entries.is_empty());
    match (is_block, choices.next().unwrap_or_default()) {
        (true, 80..) => {
            out.push('\n');
            styled(value, choices, column + 2, out);
        }
        (_, 40..80) => out.push_str(&format!(" {value} # said\n")),
        _ => out.push_str(&format!(" {value}\n")),
    }
}

fn between(choices: &mut impl Iterator<Item = u8>, indent: &str, out: &mut String) {
    match choices.next().unwrap_or_default() {
        0..20 => out.push_str(&format!("{indent}# why\n")),
        20..30 => out.push('\n'),
        _ => {}
    }
}

/// Pieces of texts in any style.
const PARTS: &[&str] = &[
    "a",
    "é",
    "[[",
    "]]",
    " ",
    "  ",
    "\t",
    "\n  ",
    "\n   ",
    " \n\n  ",
    "\n",
    "'",
    "\\\"",
    "\\\\",
    "\\n",
    "\\t",
    "\\ ",
    "\\\n  ",
    "\\x62",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\U000000e9",
    "a#",
    ": ",
    "-",
];

proptest! {
    #[test]
    fn a_text_gets_any_value_and_is_read_back(
        old in value(), new in value(), choices in prop::collection::vec(any::<u8>(), 60),
    ) {
        let (old, new) = (json!({ "k": old, "z": 1 }), json!({ "k": new, "z": 1 }));
        let mut text = String::new();
        styled(&old, &mut choices.into_iter().chain(std::iter::repeat(100)), 0, &mut text);
        prop_assert_eq!(&read(&text).unwrap(), &old);
        let changed = with_value(&text, &new).unwrap();
        prop_assert_eq!(read(&changed).unwrap(), new);
        prop_assert_eq!(with_value(&text, &old).unwrap(), text);
    }

    #[test]
    fn one_value_is_changed_and_no_line_besides(
        values in prop::collection::vec(value(), 2..5), new in "x[a-z]{1,5}",
        at in any::<prop::sample::Index>(), choices in prop::collection::vec(any::<u8>(), 60),
    ) {
        let at = at.index(values.len());
        let mut choices = choices.into_iter().chain(std::iter::repeat(100));
        let parts: Vec<String> = values.iter().enumerate().map(|(n, value)| {
            let mut part = String::new();
            between(&mut choices, "", &mut part);
            part.push_str(&format!("k{n}:"));
            below(value, &mut choices, 0, &mut part);
            part
        }).collect();
        let text = parts.concat();
        let mut wanted = read(&text).unwrap();
        wanted[format!("k{at}")] = new.as_str().into();
        let changed = with_value(&text, &wanted).unwrap();
        let (before, after) = (parts[..at].concat(), parts[at + 1..].concat());
        prop_assert!(changed.starts_with(&before) && changed.ends_with(&after), "{}\n---\n{}", text, changed);
        let key = format!("k{at}:");
        let head = parts[at].split(&key).next().unwrap_or_default();
        let line = &changed[before.len()..changed.len() - after.len()];
        prop_assert!(line.strip_prefix(head).is_some_and(|rest| rest.starts_with(&format!("{key} {new}"))), "{}", changed);
    }

    #[test]
    fn every_text_is_found_where_it_is_written(
        parts in prop::collection::vec(prop::sample::select(PARTS), 0..30), style in 0..5_usize, crlf in any::<bool>(),
    ) {
        let inner = parts.concat();
        let text = match style {
            0 => format!("k: '{}'\n", inner.replace('\'', "''")),
            1 => format!("k: \"{inner}\"\n"),
            2 => format!("k: |\n  {inner}\n"),
            3 => format!("- >-\n  {inner}\n"),
            _ => format!("k: a{inner}\n"),
        };
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        if read(&text).is_err() {
            return Ok(());
        }
        for value in scalars::values(&text, &(0..text.len())) {
            let meant = value.text.into_owned();
            let string = StringText::located(meant.clone(), &text, &value.range, value.notation);
            prop_assert!(string.is_some(), "{:?} {:?} {:?}", text, meant, value.range);
            for (at, c) in meant.char_indices().filter(|(_, c)| c.is_alphanumeric()) {
                let range = string.as_ref().unwrap().written(&(at..at + c.len_utf8()));
                let written = &text[range];
                let is_escape = matches!(written, "\\x62" | "\\u00e9" | "\\ud83d\\ude00" | "\\U000000e9");
                prop_assert!(written == c.to_string() || is_escape, "{:?} {} {:?}", text, c, written);
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[-a-c:#\\[\\]{},|>&*!?\"' \n]{0,40}", new in value()) {
        if let Ok(changed) = with_value(&text, &new) {
            prop_assert!(super::change::is_same(&read(&changed).unwrap(), &new));
        }
        let _ = place(&text, &[Step::Name("a".to_owned()), Step::At(0)]);
    }
}
