use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::*;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Shape {
    Point,
    Line(u32),
    Box { width: u8 },
    Pair(u8, u8),
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
enum Edit {
    Append { text: String },
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct All {
    number: i64,
    ratio: f64,
    flag: bool,
    name: Option<String>,
    shapes: Vec<Shape>,
    edits: Vec<Edit>,
    nested: BTreeMap<String, Vec<BTreeMap<String, u8>>>,
    pair: Option<(u8, u8)>,
    any: Value,
}

const VALUES: [&str; 31] = [
    r#"{}"#,
    r#"{"number": -3, "ratio": 2.5, "flag": true, "name": "é", "any": {"a": [null, 1e9]}}"#,
    r#"{"name": null}"#,
    r#"{"number": 18446744073709551615}"#,
    r#"{"number": 1.5}"#,
    r#"{"number": null}"#,
    r#"{"ratio": 3}"#,
    r#"{"ratio": "3"}"#,
    r#"{"flag": 1}"#,
    r#"{"name": []}"#,
    r#"{"shapes": ["point", {"line": 3}, {"box": {"width": 3}}, {"pair": [1, 2]}, {"point": null}]}"#,
    r#"{"shapes": ["square"]}"#,
    r#"{"shapes": ["point", {"line": -3}]}"#,
    r#"{"shapes": [{"box": {"width": 300}}]}"#,
    r#"{"shapes": [{"box": {}}]}"#,
    r#"{"shapes": [{"pair": [1, 300]}]}"#,
    r#"{"shapes": [{"pair": [1]}]}"#,
    r#"{"shapes": [{"pair": [1, 2, 3]}]}"#,
    r#"{"shapes": [{"point": null, "line": 3}]}"#,
    r#"{"shapes": [3]}"#,
    r#"{"shapes": "point"}"#,
    r#"{"edits": [{"op": "append", "text": "a"}]}"#,
    r#"{"edits": [{"op": "append", "text": 3}]}"#,
    r#"{"edits": [{"op": "cut"}]}"#,
    r#"{"edits": [{"text": ""}]}"#,
    r#"{"nested": {"a": [{"b": 1}, {"c": 300}]}}"#,
    r#"{"nested": {"a": [[]]}}"#,
    r#"{"pair": [1, 2, 3]}"#,
    r#"{"pair": [1]}"#,
    r#"{"more": 1}"#,
    r#"[1, 2]"#,
];

#[test]
fn a_value_is_read_as_serde_json_reads_it() {
    for text in VALUES {
        let value: Value = serde_json::from_str(text).unwrap();
        let expected = serde_json::from_value::<All>(value.clone());
        match (All::deserialize(Reader(value)), expected) {
            (Ok(read), Ok(expected)) => assert_eq!(read, expected, "{text}"),
            (Err(fault), Err(expected)) => assert_eq!(fault.cause(), expected.to_string(), "{text}"),
            (read, expected) => panic!("{text}: {read:?}, and not {expected:?}"),
        }
    }
}

#[test]
fn of_several_faults_the_same_one_is_told_in_whatever_order_the_fields_stand() {
    for text in [
        r#"{"ratio": "x", "flag": 1}"#,
        r#"{"flag": 1, "ratio": "x"}"#,
        r#"{"number": 1, "ratio": "x", "name": [], "flag": 1}"#,
    ] {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(All::deserialize(Reader(value)).unwrap_err().way(), "flag", "{text}");
    }
    let nested =
        r#"{"shapes": [{"box": {"width": 300, "more": 1, "bad": []}}], "any": {"z": 1, "a": {"y": 2, "b": 3}}}"#;
    let all = All::deserialize(Reader(serde_json::from_str(nested).unwrap()));
    assert_eq!(all.unwrap_err().way(), "shapes[0].box.width");
    let kept = r#"{"z":1,"a":{"y":2,"b":3}}"#;
    let all = All::deserialize(Reader(json!({ "any": serde_json::from_str::<Value>(kept).unwrap() }))).unwrap();
    assert_eq!(all.any.to_string(), kept, "a map keeps its order");
}

#[test]
fn a_fault_says_where_it_is() {
    for (value, way) in [
        (json!({ "number": "a" }), "number"),
        (json!({ "more": 1 }), "more"),
        (json!({ "shapes": ["point", "square"] }), "shapes[1]"),
        (json!({ "shapes": [{ "line": -3 }] }), "shapes[0].line"),
        (json!({ "shapes": [{ "box": { "width": 300 } }] }), "shapes[0].box.width"),
        (json!({ "edits": [{ "op": "append", "text": 3 }] }), "edits[0]"),
        (json!({ "nested": { "a": [{ "b": 1 }, { "c": 300 }] } }), "nested.a[1].c"),
        (json!({ "pair": [1] }), "pair"),
        (json!(3), ""),
    ] {
        assert_eq!(All::deserialize(Reader(value.clone())).unwrap_err().way(), way, "{value}");
    }
}
