//! Properties that hold for every note and every edit.

use std::ops::Range;

use super::lines::{Lines, any_lines};
use super::*;
use crate::edit::properties::body_start;
use crate::parse;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// A JSON value that YAML can represent.
fn any_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[ -~]{0,12}",
        "(?s).{0,8}",
        select(vec![
            "true",
            "~",
            "1e5",
            "0x1F",
            "a: b",
            "- a",
            "a #b",
            ".inf",
            "2024-01-02",
            "null",
            "1_000",
            "…",
            "é,è"
        ])
        .prop_map(str::to_owned),
    ];
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from)
    ];
    let leaf = prop_oneof![4 => text.prop_map(Value::from), 1 => any::<bool>().prop_map(Value::from), 1 => Just(Value::Null), 2 => number];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((any_name(), inner), 0..4).prop_map(|entries| Value::Object(entries.into_iter().collect()))
        ]
    })
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,8}", "[ -~]{1,8}", "(?s).{1,6}"]
}

/// Edits of all kinds, most of which are possible.
fn any_edit() -> impl Strategy<Value = Edit> {
    let text = || {
        prop_oneof![
            "[a-c#\\- \n]{0,12}",
            "(?s).{0,8}",
            select(vec!["a\r\nb", "\n", "---", "# A\n"]).prop_map(str::to_owned)
        ]
    };
    let target = || {
        prop_oneof![
            vec(prop_oneof!["[A-C]", "(?s).{0,4}"], 0..3).prop_map(Target::Heading),
            prop_oneof![Just("id".to_owned()), "(?s).{0,4}"].prop_map(Target::Block),
            [0..20_u32, 0..20_u32].prop_map(Target::Lines),
        ]
    };
    let name = || prop_oneof![select(vec!["a", "b", "tags"]).prop_map(str::to_owned), any_name()];
    prop_oneof![
        text().prop_map(|text| Edit::Append { text }),
        text().prop_map(|text| Edit::Prepend { text }),
        (text(), text(), any::<Option<u8>>()).prop_map(|(find, replace, count)| {
            Edit::ReplaceText { find, replace, count: count.and_then(|count| NonZeroU32::new(count.into())) }
        }),
        (target(), text()).prop_map(|(target, text)| Edit::ReplaceSection { target, text }),
        (target(), text()).prop_map(|(target, text)| Edit::AppendToSection { target, text }),
        (target(), text()).prop_map(|(target, text)| Edit::InsertBefore { target, text }),
        (target(), text()).prop_map(|(target, text)| Edit::InsertAfter { target, text }),
        (name(), any_value()).prop_map(|(name, value)| Edit::SetProperty { name, value }),
        name().prop_map(|name| Edit::RemoveProperty { name }),
        vec((name(), any_value()), 0..4)
            .prop_map(|properties| Edit::MergeProperties { properties: properties.into_iter().collect() }),
    ]
}

/// Texts built from pieces of notes and YAML.
pub(super) fn any_text() -> impl Strategy<Value = String> {
    const TOKENS: &[&str] = &[
        "\n",
        "\n",
        "\n",
        "\r\n",
        "\r",
        " ",
        "  ",
        "\t",
        "a: ",
        "b:",
        "a",
        "é",
        "---\n",
        "...",
        "# A",
        "## B",
        "===",
        "- ",
        "- a\n",
        "? ",
        ": ",
        "&x ",
        "*x",
        "!t ",
        "|\n",
        "|+\n",
        ">-",
        "'",
        "\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        "# c",
        "tags: [a]\n",
        "%",
        "^id",
        " ^id\n",
        "```\n",
        "> ",
        "\u{FEFF}",
        "\0",
        "1",
        "<<: ",
    ];
    let some = |most| vec(select(TOKENS), 0..most).prop_map(|tokens| tokens.concat());
    prop_oneof![some(40), (some(15), some(15)).prop_map(|(yaml, body)| format!("---\n{yaml}\n---\n{body}"))]
}

/// The properties that an edit names.
fn names(edit: &Edit) -> Vec<&String> {
    match edit {
        Edit::SetProperty { name, .. } | Edit::RemoveProperty { name } => vec![name],
        Edit::MergeProperties { properties } => properties.keys().collect(),
        _ => Vec::new(),
    }
}

/// The number of bytes that two texts share at their starts plus at their ends, at most the length of the shorter.
fn in_common(a: &str, b: &str) -> usize {
    let same = |(a, b): &(u8, u8)| a == b;
    let start = a.bytes().zip(b.bytes()).take_while(same).count();
    let end = a.bytes().rev().zip(b.bytes().rev()).take_while(same).count();
    (start + end).min(a.len()).min(b.len())
}

fn properties_of(text: &str) -> Map<String, Value> {
    parse(text).properties().cloned().unwrap_or_default()
}

fn one_line(text: &str) -> Vec<String> {
    vec![text.to_owned()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, max_global_rejects: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn without_edits_a_note_stays_as_it_is(text in any_text()) {
        prop_assert_eq!(apply(&text, &[], text.len()).unwrap(), text);
    }

    #[test]
    fn lines_at_the_start_and_the_end_leave_all_others_alone(note in any_lines()) {
        let text = note.text();
        let appended = edited(&text, json!({"op": "append", "text": "new"}));
        let with = |lines: Vec<Vec<String>>| note.with_body(lines.concat());
        let spaced = || vec![String::new(), "new".to_owned()];
        let body = || note.body.clone();
        prop_assert!([with(vec![body(), one_line("new")]), with(vec![body(), spaced()])].contains(&appended), "{:?}", appended);
        let prepended = edited(&text, json!({"op": "prepend", "text": "new"}));
        let below = || vec!["new".to_owned(), String::new()];
        prop_assert!([with(vec![one_line("new"), body()]), with(vec![below(), body()])].contains(&prepended), "{:?}", prepended);
    }

    #[test]
    fn an_edit_of_a_section_leaves_all_other_lines_alone(note in any_lines(), which: prop::sample::Index) {
        prop_assume!(!note.headings.is_empty());
        let which = which.index(note.headings.len());
        let text = note.text();
        let heading = note.headings[which].0;
        let (all, filled) = note.section(which);
        let edit = |op: &str| edited(&text, json!({"op": op, "target": {"heading": [format!("Heading {heading}")]}, "text": "1\n2\n"}));
        let with = |range: Range<usize>, lines: &[&str]| {
            let mut body = note.body.clone();
            body.splice(range, lines.iter().map(|line| (*line).to_owned()));
            note.with_body(body)
        };
        let spliced = |range: Range<usize>| with(range, &["1", "2"]);
        // Blank lines keep the added lines apart from a list, a quote or the like.
        let added = |edited: String, at: usize, end: &str| {
            let lines: [&[&str]; 4] = [&["1", "2"], &["", "1", "2"], &["1", "2", ""], &["", "1", "2", ""]];
            lines.iter().any(|lines| with(at..at, lines) + end == edited)
        };
        let end = if filled.is_empty() { all.start } else { filled.end };
        // At the end of a note without a final line break, the text is added as it was given.
        let at_end = |line: usize| if line == note.body.len() && !note.ended { note.line_break } else { "" };
        prop_assert!(added(edit("append_to_section"), end, at_end(end)));
        prop_assert!(added(edit("insert_before"), heading, ""));
        prop_assert!(added(edit("insert_after"), all.start, at_end(all.start)));
        let replaced = edit("replace_section");
        let is_replaced =
            if filled.is_empty() { added(replaced, all.start, at_end(all.start)) } else { replaced == spliced(filled) };
        prop_assert!(is_replaced);
    }

    #[test]
    fn an_edit_of_lines_leaves_all_others_alone(note in any_lines(), first: prop::sample::Index, count in 1_usize..5) {
        let lines = [note.frontmatter(), note.body.clone()].concat();
        let text = note.join(&lines);
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        prop_assume!(!lines.is_empty());
        let first = first.index(lines.len());
        let last = (first + count).min(lines.len());
        let replaced = edited(&text, json!({"op": "replace_section", "target": {"lines": [first + 1, last]}, "text": "new"}));
        let mut expected = lines;
        expected.splice(first..last, one_line("new"));
        let ended = text.ends_with('\n');
        prop_assert_eq!(replaced, Lines { ended, ..note }.join(&expected));
    }

    #[test]
    fn replaced_text_leaves_all_other_bytes_alone(note in any_lines(), at: prop::sample::Index) {
        let text = format!("{}\u{1}", note.text());
        let at = text.floor_char_boundary(at.index(text.len()));
        let marked = format!("{}\u{2}{}", &text[..at], &text[at..]);
        let replaced = edited(&marked, json!({"op": "replace_text", "find": "\u{2}", "replace": "new"}));
        prop_assert_eq!(replaced, format!("{}new{}", &text[..at], &text[at..]));
    }

    #[test]
    fn a_property_that_is_set_reads_so_and_the_others_keep_their_bytes(
        note in any_lines(),
        which: prop::sample::Index,
        value in any_value(),
    ) {
        let properties = note.properties.clone().unwrap_or_default();
        prop_assume!(!properties.is_empty());
        let which = which.index(properties.len());
        let text = note.text();
        let before = properties_of(&text);
        let lone = note.with_properties(one_of(&properties, which));
        let name = properties_of(&lone).keys().next().unwrap().clone();
        let after = edited(&text, json!({"op": "set_property", "name": name, "value": value}));

        let mut expected = before;
        expected.insert(name, value);
        prop_assert_eq!(properties_of(&after), expected);
        let above = note.join(&[one_line("---"), properties[..which].concat()].concat());
        let below = note.with_properties(properties[which + 1..].to_vec());
        let below = below.strip_prefix("---").unwrap();
        prop_assert!(after.starts_with(above.trim_end()), "{:?}", after);
        prop_assert!(after.ends_with(below), "{:?}", after);
    }

    #[test]
    fn a_new_property_that_is_removed_again_leaves_no_trace(note in any_lines(), name in any_name(), value in any_value()) {
        prop_assume!(note.properties.is_some());
        let text = note.text();
        let set = edited(&text, json!({"op": "set_property", "name": name, "value": value}));
        prop_assert_eq!(in_common(&text, &set), text.len());
        prop_assert_eq!(properties_of(&set).remove(&name), Some(value));
        prop_assert_eq!(edited(&set, json!({"op": "remove_property", "name": name})), text);
    }

    #[test]
    fn a_new_notes_properties_are_read_back(
        properties in vec((any_name(), any_value()), 0..6).prop_map(Map::from_iter),
        body in any_text(),
    ) {
        let text = with_frontmatter(&properties, &body).unwrap();
        let below = body.strip_prefix('\u{FEFF}').unwrap_or(&body);
        prop_assert!(text.ends_with(below));
        if !properties.is_empty() {
            prop_assert_eq!(properties_of(&text), properties);
        }
    }

    #[test]
    fn any_edits_of_any_text_change_what_they_name_or_nothing(text in any_text(), edits in vec(any_edit(), 1..5)) {
        let mut before = text.clone();
        for edit in &edits {
            let Ok(after) = apply(&before, std::slice::from_ref(edit), ROOM) else {
                prop_assert!(apply(&text, &edits, ROOM).is_err());
                return Ok(());
            };
            match edit {
                Edit::Append { .. } | Edit::Prepend { .. } | Edit::InsertBefore { .. } | Edit::InsertAfter { .. } | Edit::AppendToSection { .. } => {
                    prop_assert_eq!(in_common(&before, &after), before.len());
                }
                Edit::SetProperty { .. } | Edit::RemoveProperty { .. } | Edit::MergeProperties { .. } => {
                    let others = |text: &str| {
                        let mut all = properties_of(text);
                        all.retain(|name, _| !names(edit).contains(&name));
                        all
                    };
                    prop_assert_eq!(others(&before), others(&after));
                    let body = |text: &str| text[body_start(text)..].to_owned();
                    prop_assert_eq!(body(&before), body(&after));
                }
                _ => {}
            }
            before = after;
        }
        prop_assert_eq!(apply(&text, &edits, ROOM).unwrap(), before);
    }
}

fn one_of(properties: &[Vec<String>], which: usize) -> Vec<Vec<String>> {
    vec![properties[which].clone()]
}
