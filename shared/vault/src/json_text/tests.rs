use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::string_text::StringText;

fn elements(text: &str) -> (JsonText<'_>, Span, Vec<Span>) {
    let json = JsonText::read(text).unwrap();
    let root = json.root();
    let elements = json.elements(&root).unwrap();
    (json, root, elements)
}

#[test]
fn elements_go_and_come_and_the_others_stay_as_they_are_written() {
    let changed = |text: &str, gone: &[usize], new: &[Value]| {
        let (mut json, root, all) = elements(text);
        json.change_elements(&root, &all, gone, new, Layout::OneLine);
        json.finish()
    };
    for (text, gone, new, expected) in [
        ("[1, 2.50,3]", &[1][..], &[][..], "[1,3]"),
        ("[1, 2.50,3]", &[0], &[], "[2.50,3]"),
        ("[1, 2.50, 3]", &[2], &[json!({ "a": 1 })], "[1, 2.50, {\"a\":1}]"),
        ("[ 1,2 ]", &[0, 1], &[], "[]"),
        ("[\n\t1,\n\t2\n]", &[0, 1], &[json!(3), json!(4)], "[\n\t3,\n\t4\n]"),
        ("[\n\t1,\n\t2\n]", &[0], &[json!(3)], "[\n\t2,\n\t3\n]"),
        ("[]", &[], &[json!(1), json!(2)], "[1,2]"),
        ("[1]", &[], &[], "[1]"),
    ] {
        assert_eq!(changed(text, gone, new), expected, "{text} {gone:?}");
    }
}

#[test]
fn members_are_added_in_the_way_of_those_before_them() {
    let added = |text: &str| {
        let mut json = JsonText::read(text).unwrap();
        let (root, members) = (json.root(), json.members(&json.root()).unwrap());
        json.add_members(&root, &members, &[("new", &json!([1, { "x": "\u{e9}" }]))], Layout::Indented);
        json.finish()
    };
    for (text, expected) in [
        ("{\"a\":1}", "{\"a\":1,\"new\":[1,{\"x\":\"é\"}]}"),
        ("{ \"a\": 1 }", "{ \"a\": 1, \"new\": [1,{\"x\":\"é\"}] }"),
        ("{}", "{\"new\":[1,{\"x\":\"é\"}]}"),
        ("{\n  \"a\" : 1\n}\n", "{\n  \"a\" : 1,\n  \"new\" : [\n    1,\n    {\n      \"x\": \"é\"\n    }\n  ]\n}\n"),
    ] {
        assert_eq!(added(text), expected);
    }
    let inner = "{\n  \"a\": {}\n}";
    let mut json = JsonText::read(inner).unwrap();
    let a = json.members(&json.root()).unwrap().remove(0).value;
    json.add_members(&a, &[], &[("b", &json!(1))], Layout::Indented);
    assert_eq!(json.finish(), "{\n  \"a\": {\n    \"b\": 1\n  }\n}");
}

#[test]
fn errors_name_the_place() {
    let error = JsonText::read("{\n \"a\": [1,\n 2,, 3] }").unwrap_err();
    assert_eq!((error.line, error.column, error.message.as_str()), (3, 4, "expected value"));
    let json = JsonText::read("{\n \"é\": [1, \"x\"] }").unwrap();
    let list = json.members(&json.root()).unwrap().remove(0).value;
    let error = json.value::<Vec<u32>>(&list).unwrap_err();
    assert_eq!((error.line, error.column), (2, 13), "{error}");
    assert!(json.elements(&json.root()).is_err() && json.members(&list).is_err());
}

#[test]
fn the_characters_of_a_string_are_found_where_they_are_written() {
    let text = r#"  "a\n\u00e9\ud83d\ude00b\\c""#;
    let string = StringText::read(text, &(2..text.len())).unwrap();
    assert_eq!(string.text, "a\né😀b\\c");
    for (c, written) in [("a", "a"), ("\n", "\\n"), ("é", "\\u00e9"), ("😀", "\\ud83d\\ude00"), ("b", "b"), ("c", "c")]
    {
        let at = string.written_at(string.text.find(c).unwrap());
        assert!(text[at..].starts_with(written), "{c}: {}", &text[at..]);
    }
    assert_eq!(string.written_at(string.text.len()), text.len() - 1);
    assert_eq!(escaped_to_ascii("é😀\""), "\\u00e9\\ud83d\\ude00\\\"");
}

/// A value in unusual but valid notation.
fn written(value: &Value, gaps: &mut impl Iterator<Item = &'static str>) -> String {
    let mut gap = || gaps.next().unwrap_or_default();
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| written(item, gaps)).collect();
            let (open, between, close) =
                (gaps.next().unwrap_or_default(), gaps.next().unwrap_or_default(), gaps.next().unwrap_or_default());
            format!("[{open}{}{close}]", items.join(&format!("{close},{between}")))
        }
        Value::Object(members) => {
            let (open, colon) = (gap(), gap());
            let members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{}{colon}:{colon}{}", Value::from(name.as_str()), written(value, gaps)))
                .collect();
            format!("{{{open}{}}}", members.join(&format!(",{open}")))
        }
        other => other.to_string(),
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![Just(Value::Null), any::<i32>().prop_map(Value::from), "[a\"\\\\é😀\n]{0,4}".prop_map(Value::from)];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z\"]{0,3}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn changed_arrays_are_what_a_model_makes_of_them(
        items in prop::collection::vec(values(), 0..6),
        marks in prop::collection::vec(any::<bool>(), 6),
        new in prop::collection::vec(values(), 0..3),
        gaps in prop::collection::vec(prop::sample::select(vec!["", " ", "\n", "\n\t", "\n    "]), 1..9),
        layout in prop::sample::select(vec![Layout::OneLine, Layout::Indented]),
    ) {
        let mut gaps = gaps.into_iter().cycle();
        let text = written(&Value::from(items.clone()), &mut gaps);
        let (mut json, root, all) = elements(&text);
        prop_assert_eq!(all.len(), items.len());
        let gone: Vec<usize> = (0..items.len()).filter(|index| marks[*index]).collect();
        let kept: Vec<&str> = (0..items.len()).filter(|index| !marks[*index]).map(|index| &text[all[index].clone()]).collect();
        json.change_elements(&root, &all, &gone, &new, layout);
        let changed = json.finish();
        let (after, _, spans) = elements(&changed);
        let expected: Vec<Value> = (0..items.len()).filter(|index| !marks[*index]).map(|index| items[index].clone()).chain(new).collect();
        prop_assert_eq!(serde_json::from_str::<Value>(&changed).unwrap(), Value::from(expected), "{}", changed);
        for (before, span) in kept.into_iter().zip(&spans) {
            prop_assert_eq!(before, after.written(span));
        }
    }

    #[test]
    fn changed_objects_are_what_a_model_makes_of_them(
        members in prop::collection::vec(("[a-y]{1,3}", values()), 0..5),
        new in values(),
        gaps in prop::collection::vec(prop::sample::select(vec!["", " ", "\n", "\n\t"]), 1..9),
        layout in prop::sample::select(vec![Layout::OneLine, Layout::Indented]),
    ) {
        let mut model: serde_json::Map<String, Value> = members.into_iter().collect();
        let text = written(&Value::Object(model.clone()), &mut gaps.into_iter().cycle());
        let mut json = JsonText::read(&text).unwrap();
        let root = json.root();
        let all = json.members(&root).unwrap();
        if let Some(first) = all.first() {
            json.replace(&first.value, &new);
            model.insert(first.name.clone(), new.clone());
        }
        json.add_members(&root, &all, &[("z1", &new), ("z2", &Value::Null)], layout);
        model.insert("z1".to_owned(), new);
        model.insert("z2".to_owned(), Value::Null);
        let changed = json.finish();
        prop_assert_eq!(serde_json::from_str::<Value>(&changed).unwrap(), Value::Object(model), "{}", changed);
    }

    #[test]
    fn strings_are_found_where_they_are_written_whatever_they_are(text in "[ab\"\\\\\u{1}é😀\n]{0,12}", is_ascii in any::<bool>()) {
        let quoted = format!("\"{}\"", if is_ascii { escaped_to_ascii(&text) } else { escaped(&text) });
        let string = StringText::read(&quoted, &(0..quoted.len())).unwrap();
        prop_assert_eq!(&string.text, &text);
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        for pair in places.windows(2) {
            let written = &quoted[string.written_at(pair[0])..string.written_at(pair[1])];
            let alone: String = serde_json::from_str(&format!("\"{written}\"")).unwrap();
            prop_assert_eq!(&alone, &text[pair[0]..pair[1]]);
        }
    }
}
