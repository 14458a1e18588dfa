//! Edits as agents write them, several at once, and their limits.

use super::*;
use schemars::schema_for;

#[test]
fn edits_are_read_from_json_and_what_is_unknown_is_refused() {
    let all = edits(json!([
        {"op": "append", "text": "a"},
        {"op": "prepend", "text": "a"},
        {"op": "replace_text", "find": "a", "replace": "b"},
        {"op": "replace_text", "find": "a", "replace": "b", "count": 2},
        {"op": "replace_section", "target": {"heading": ["A", "B"]}, "text": "c"},
        {"op": "append_to_section", "target": {"block": "id"}, "text": "c"},
        {"op": "insert_before", "target": {"lines": [1, 2]}, "text": "c"},
        {"op": "insert_after", "target": {"lines": [1, 2]}, "text": "c"},
        {"op": "set_property", "name": "a", "value": [1, {"b": null}]},
        {"op": "remove_property", "name": "a"},
        {"op": "merge_properties", "properties": {"a": 1}},
    ]));
    assert_eq!(all.len(), 11);
    assert_eq!(all[5], Edit::AppendToSection { target: Target::Block("id".into()), text: "c".into() });
    for written in [
        json!({"op": "delete"}),
        json!({"text": "a"}),
        json!({"op": "append"}),
        json!({"op": "append", "text": "a", "more": 1}),
        json!({"op": "replace_text", "find": "a", "replace": "b", "count": 0}),
        json!({"op": "insert_after", "target": {"line": 1}, "text": "a"}),
        json!({"op": "insert_after", "target": {"block": "a", "lines": [1, 2]}, "text": "a"}),
        json!({"op": "insert_after", "target": {"lines": [1]}, "text": "a"}),
        json!({"op": "set_property", "name": "a"}),
    ] {
        assert!(serde_json::from_value::<Edit>(written.clone()).is_err(), "{written}");
    }
}

#[test]
fn the_schema_describes_every_edit_and_allows_no_other_fields() {
    let schema = schema_for!(Edit).to_value();
    let ops = schema["oneOf"].as_array().unwrap();
    assert_eq!(ops.len(), 10);
    for op in ops {
        assert!(op["description"].as_str().is_some_and(|text| text.len() > 20), "{op}");
        assert_eq!(op["additionalProperties"], json!(false), "{op}");
    }
}

#[test]
fn each_edit_is_made_on_what_the_one_before_left() {
    let outcome = apply(
        "# A\n",
        &edits(json!([
            {"op": "append", "text": "## B"},
            {"op": "append_to_section", "target": {"heading": ["A", "B"]}, "text": "text"},
            {"op": "replace_text", "find": "text", "replace": "more text"},
            {"op": "set_property", "name": "done", "value": true},
        ])),
        ROOM,
    );
    assert_eq!(outcome.unwrap(), "---\ndone: true\n---\n# A\n## B\nmore text\n");
}

#[test]
fn if_one_edit_cannot_be_made_none_is_and_the_error_says_which() {
    let both = edits(json!([{"op": "append", "text": "b"}, {"op": "remove_property", "name": "c"}]));
    let error = apply("a\n", &both, ROOM).unwrap_err();
    assert_eq!(error.to_string(), "edit 2: there is no property c; the note has none");
}

#[test]
fn there_is_a_limit_on_the_edits_and_on_what_comes_out() {
    let append = |count: usize| vec![Edit::Append { text: "a".into() }; count];
    assert_eq!(apply("", &append(MAX_EDITS), ROOM).unwrap().lines().count(), MAX_EDITS);
    assert_eq!(apply("", &append(MAX_EDITS + 1), ROOM), Err(EditError::TooMany { count: 101 }));

    assert_eq!(apply("1234\n", &append(1), 7).unwrap(), "1234\na\n");
    let error = apply("1234\n", &append(1), 6).unwrap_err();
    assert_eq!(error.to_string(), "edit 1: the note would have 7 bytes; at most 6 are allowed");

    let huge = Edit::ReplaceText { find: "a".into(), replace: "b".repeat(1 << 20), count: (1 << 20).try_into().ok() };
    let problem = Problem::TooLong { bytes: 1 << 40, max_bytes: ROOM };
    let refused = EditError::Refused { edit: 1, problem: Box::new(problem) };
    assert_eq!(apply(&"a".repeat(1 << 20), &[huge], ROOM), Err(refused));
}

#[test]
fn what_edits_of_one_call_may_take_is_bounded() {
    let long = "a b\n".repeat(1 << 17);
    let replace = |new: &str| json!({ "op": "replace_text", "find": "a", "replace": new, "count": 1 << 17 });
    let made = |edits: Value| apply(&long, &self::edits(edits), 64 << 20);
    let problem = |edits: Value| match made(edits) {
        Err(EditError::Refused { edit, problem }) => (edit, *problem),
        other => panic!("{:?}", other.map(|text| text.len())),
    };
    let many = "a".repeat(40);
    let max_bytes = 4 << 20;
    assert_eq!(problem(json!([replace(&many)])), (1, Problem::AddsTooMuch { bytes: 39 << 17, max_bytes }));
    // The limit counts the bytes that replacements add; removed bytes do not free any.
    let rest = max_bytes - (20 << 17);
    let twice =
        json!([replace(&"a".repeat(21)), { "op": "replace_text", "find": "b", "replace": &many, "count": 1 << 17 }]);
    assert_eq!(problem(twice), (2, Problem::AddsTooMuch { bytes: 39 << 17, max_bytes: rest }));
    assert_eq!(made(json!([replace("aaa")])).unwrap().len(), long.len() + (2 << 17));
    // Text that the caller sends in full is not limited.
    let whole = json!([{ "op": "append", "text": "x".repeat(5 << 20) }]);
    assert!(made(whole).is_ok());

    let note = format!("# H\n\n{}", "x".repeat(1_000_000));
    let add = |count: usize| vec![json!({ "op": "insert_after", "target": { "heading": ["H"] }, "text": "x" }); count];
    match apply(&note, &edits(Value::from(add(100))), 64 << 20) {
        Err(EditError::Refused { edit: 17, problem }) => assert_eq!(*problem, Problem::TooManyTargets),
        other => panic!("{:?}", other.map(|text| text.len())),
    }
    assert!(apply("# H\n", &edits(Value::from(add(100))), ROOM).is_ok());
}

#[test]
fn edits_of_a_long_note_go_through_a_bounded_number_of_bytes() {
    let note = |bytes: usize| format!("---\np: 0\n---\nfirst\n{}", "x".repeat(bytes));
    let long = note(9 << 20);
    let section = |_| json!({ "op": "replace_section", "target": { "lines": [4, 4] }, "text": "y" });
    let all = |count: usize, edit: &dyn Fn(usize) -> Value| edits((0..count).map(edit).collect());
    let refused = |text: &str, edit: &dyn Fn(usize) -> Value, at: usize| {
        assert!(apply(text, &all(at - 1, edit), 64 << 20).is_ok(), "{}", edit(0));
        match apply(text, &all(100, edit), 64 << 20) {
            Err(EditError::Refused { edit: number, problem }) => {
                assert_eq!((number, *problem), (at, Problem::TooManyPasses));
            }
            other => panic!("{}: {:?}", edit(0), other.map(|text| text.len())),
        }
        assert!(apply(&note(10), &all(100, edit), ROOM).is_ok(), "{}", edit(0));
    };
    refused(&long, &section, 8);
    let replaced =
        |n: usize| json!({ "op": "replace_text", "find": format!("p: {n}\n"), "replace": format!("p: {}\n", n + 1) });
    refused(&note(33 << 20), &replaced, 8);
    // The text below the properties is only copied.
    let every: [&dyn Fn(usize) -> Value; 3] = [
        &|_| json!({ "op": "insert_after", "target": { "lines": [4, 4] }, "text": "y" }),
        &|_| json!({ "op": "append", "text": "y" }),
        &|n| json!({ "op": "set_property", "name": "p", "value": n + 1 }),
    ];
    for edit in every {
        assert!(apply(&long, &all(100, edit), 64 << 20).is_ok(), "{}", edit(0));
    }
    // The first edit is made however long the note is.
    let longest = note(MAX_PASSED_BYTES / PARSED + 1);
    assert!(apply(&longest, &all(1, &section), usize::MAX).is_ok());
}
