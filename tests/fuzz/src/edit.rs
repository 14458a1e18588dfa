//! Edits of a note: each changes its target, and no other byte. The input is the text after its length, then the edits:
//! a byte for the operation, and its arguments, texts after their lengths.

use std::num::NonZeroU32;

use atlas_vault::edit::{Edit, Target, apply};
use serde_json::{Map, Value};

use crate::input::Input;

/// Longest note, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// Most edits of one note.
const MAX_EDITS: usize = 8;

/// Edits a text.
pub fn check(data: &[u8]) {
    let mut input = Input(data);
    let text = text(&mut input);
    let mut edits = Vec::new();
    let mut edited = Some(text.clone());
    while !input.is_empty() && edits.len() < MAX_EDITS {
        let edit = edit(&mut input);
        edited = edited.and_then(|before| one(&before, &edit));
        edits.push(edit);
    }
    assert_eq!(apply(&text, &edits, MAX_BYTES).ok(), edited);
}

/// The result of an edit, if it is possible.
fn one(before: &str, edit: &Edit) -> Option<String> {
    let after = match apply(before, std::slice::from_ref(edit), MAX_BYTES) {
        Ok(after) => after,
        Err(error) => {
            assert!(!error.to_string().contains(['\n', '\r']), "{error}");
            return None;
        }
    };
    let set = match edit {
        Edit::SetProperty { name, value } => Map::from_iter([(name.clone(), value.clone())]),
        Edit::MergeProperties { properties } => properties.clone(),
        Edit::RemoveProperty { name } => {
            assert!(!properties(&after).contains_key(name));
            let mut expected = properties(before);
            expected.remove(name);
            assert_eq!(properties(&after), expected);
            return Some(after);
        }
        Edit::ReplaceText { .. } | Edit::ReplaceSection { .. } => return Some(after),
        Edit::Append { .. }
        | Edit::Prepend { .. }
        | Edit::AppendToSection { .. }
        | Edit::InsertBefore { .. }
        | Edit::InsertAfter { .. } => {
            assert_eq!(in_common(before, &after), before.len(), "{before:?} became {after:?}");
            return Some(after);
        }
    };
    let mut expected = properties(before);
    expected.extend(set);
    assert_eq!(properties(&after), expected);
    assert_eq!(body(before), body(&after));
    Some(after)
}

fn properties(text: &str) -> Map<String, Value> {
    atlas_vault::parse(text).properties().cloned().unwrap_or_default()
}

/// The text below the frontmatter.
fn body(text: &str) -> &str {
    let frontmatter = atlas_vault::parse(text).frontmatter;
    match frontmatter {
        Some(frontmatter) => &text[frontmatter.body_start..],
        None => text.strip_prefix('\u{feff}').unwrap_or(text),
    }
}

/// The number of bytes that two texts share at their starts and ends, at most all of the first.
fn in_common(a: &str, b: &str) -> usize {
    let same = |(a, b): &(u8, u8)| a == b;
    let start = a.bytes().zip(b.bytes()).take_while(same).count();
    let end = a.bytes().rev().zip(b.bytes().rev()).take_while(same).count();
    (start + end).min(a.len()).min(b.len())
}

fn edit(input: &mut Input<'_>) -> Edit {
    match input.byte() % 10 {
        0 => Edit::Append { text: text(input) },
        1 => Edit::Prepend { text: text(input) },
        2 => {
            let count = NonZeroU32::new(input.byte().into());
            Edit::ReplaceText { count, find: text(input), replace: text(input) }
        }
        3 => Edit::ReplaceSection { target: target(input), text: text(input) },
        4 => Edit::AppendToSection { target: target(input), text: text(input) },
        5 => Edit::InsertBefore { target: target(input), text: text(input) },
        6 => Edit::InsertAfter { target: target(input), text: text(input) },
        7 => Edit::SetProperty { name: text(input), value: value(input) },
        8 => Edit::RemoveProperty { name: text(input) },
        _ => {
            let count = input.byte() % 4;
            Edit::MergeProperties { properties: (0..count).map(|_| (text(input), value(input))).collect() }
        }
    }
}

fn target(input: &mut Input<'_>) -> Target {
    match input.byte() % 3 {
        0 => Target::Heading((0..input.byte() % 4).map(|_| text(input)).collect()),
        1 => Target::Block(text(input)),
        _ => Target::Lines([input.byte().into(), input.byte().into()]),
    }
}

/// JSON, or the text itself if it is not JSON.
fn value(input: &mut Input<'_>) -> Value {
    let text = text(input);
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

fn text(input: &mut Input<'_>) -> String {
    String::from_utf8_lossy(input.bytes()).into_owned()
}
