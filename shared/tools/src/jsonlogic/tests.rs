use proptest::prelude::*;
use serde_json::json;

use super::*;

/// The result of logic, as JSON; values that JSON lacks are texts.
fn told(logic: Value, data: &Value) -> Value {
    let logic = Logic::new(logic).unwrap();
    match logic.evaluate(&Datum::of(data)) {
        Ok(datum) => json_of(&datum),
        Err(OutOfBudget) => json!("out of budget"),
    }
}

fn json_of(datum: &Datum<'_>) -> Value {
    match datum {
        Datum::Undefined | Datum::Null => Value::Null,
        Datum::Bool(value) => json!(value),
        Datum::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => json!(*number as i64),
        Datum::Number(number) if number.is_finite() => json!(number),
        Datum::Json(value) => (*value).clone(),
        Datum::List(_) => datum.items().unwrap().iter().map(json_of).collect(),
        other => Value::from(other.string()),
    }
}

#[test]
fn operators_do_as_in_javascript() {
    let data = json!({ "a": { "b": 7 }, "list": [1, 2, 3, 4], "empty": "", "none": null, "text": "hæ😀!", "pies": [{ "f": "apple", "n": 3 }, { "f": "cherry", "n": 0 }] });
    for (logic, expected) in [
        (json!({ "var": "a.b" }), json!(7)),
        (json!({ "var": ["a.c", 5] }), json!(5)),
        (json!({ "var": "list.1" }), json!(2)),
        (json!({ "var": "none.x" }), json!(null)),
        (json!({ "missing": ["a", "x", "empty", "none"] }), json!(["x", "empty", "none"])),
        (json!({ "missing": [["a", "x"]] }), json!(["x"])),
        (json!({ "missing_some": [1, ["a", "x", "y"]] }), json!([])),
        (json!({ "missing_some": [2, ["a", "x", "y"]] }), json!(["x", "y"])),
        (json!({ "if": [false, 1, [], 2, "0", 3, 4] }), json!(3)),
        (json!({ "if": [0, 1] }), json!(null)),
        (json!({ "?:": [1, "y", "n"] }), json!("y")),
        (json!({ "==": [1, "1.0"] }), json!(true)),
        (json!({ "==": [null, 0] }), json!(false)),
        (json!({ "==": ["", 0] }), json!(true)),
        (json!({ "==": [[], ""] }), json!(true)),
        (json!({ "==": [[1], [1]] }), json!(false)),
        (json!({ "==": [{ "var": "list" }, { "var": "list" }] }), json!(true)),
        (json!({ "==": [true, "1"] }), json!(true)),
        (json!({ "===": [1, "1"] }), json!(false)),
        (json!({ "!=": [1, 2] }), json!(true)),
        (json!({ "!==": [1, 1.0] }), json!(false)),
        (json!({ "!": [[]] }), json!(true)),
        (json!({ "!!": ["0"] }), json!(true)),
        (json!({ "or": [0, "", "x", 1] }), json!("x")),
        (json!({ "and": [1, "", 2] }), json!("")),
        (json!({ "<": [1, "2", 3] }), json!(true)),
        (json!({ "<=": [1, 1, 0] }), json!(false)),
        (json!({ "<": ["10", "9"] }), json!(true)),
        (json!({ ">": ["b", 1] }), json!(false)),
        (json!({ ">=": [null, 0] }), json!(true)),
        (json!({ "max": [1, "3", 2] }), json!(3)),
        (json!({ "min": [] }), json!("Infinity")),
        (json!({ "+": ["3px", " 4", 1.5] }), json!(8.5)),
        (json!({ "+": "3.25" }), json!(3.25)),
        (json!({ "-": 2 }), json!(-2)),
        (json!({ "-": ["5", 3] }), json!(2)),
        (json!({ "*": [2, "3", 4] }), json!(24)),
        (json!({ "/": [1, 0] }), json!("Infinity")),
        (json!({ "%": [-7, 3] }), json!(-1)),
        (json!({ "map": [{ "var": "list" }, { "*": [{ "var": "" }, 2] }] }), json!([2, 4, 6, 8])),
        (json!({ "filter": [{ "var": "list" }, { ">": [{ "var": "" }, 2] }] }), json!([3, 4])),
        (
            json!({ "reduce": [{ "var": "list" }, { "+": [{ "var": "current" }, { "var": "accumulator" }] }, 0] }),
            json!(10),
        ),
        (json!({ "all": [{ "var": "pies" }, { ">": [{ "var": "n" }, 0] }] }), json!(false)),
        (json!({ "all": [[], true] }), json!(false)),
        (json!({ "none": [{ "var": "nothing" }, true] }), json!(true)),
        (json!({ "some": [{ "var": "pies" }, { "==": [{ "var": "f" }, "apple"] }] }), json!(true)),
        (json!({ "merge": [1, [2, [3]], []] }), json!([1, 2, [3]])),
        (json!({ "in": ["pring", "Springfield"] }), json!(true)),
        (json!({ "in": [1, [0, "1"]] }), json!(false)),
        (json!({ "in": [1, { "var": "nothing" }] }), json!(false)),
        (json!({ "cat": ["a", 1, null, [2, [3, null]], true, 0.5, 1e21, 1e-7] }), json!("a12,3,true0.51e+211e-7")),
        (json!({ "substr": ["jsonlogic", -5, 2] }), json!("lo")),
        (json!({ "substr": ["jsonlogic", 4, -2] }), json!("log")),
        (json!({ "substr": [{ "var": "text" }, 1, 3] }), json!("æ😀")),
        (json!({ "log": ["x"] }), json!("x")),
        (json!({ "==": [{ "a": 1, "b": 2 }, "[object Object]"] }), json!(true)),
        (json!({ "-": ["0x10", 0] }), json!(16)),
        (json!({ "-": ["1_0", 0] }), json!("NaN")),
    ] {
        assert_eq!(told(logic.clone(), &data), expected, "{logic}");
    }
}

#[test]
fn what_is_no_logic_is_refused_before_it_is_evaluated() {
    let deep = (0..70).fold(json!(1), |inner, _| json!({ "!": inner }));
    for (logic, part) in [
        (json!(1), "one operator"),
        (json!({}), "one operator"),
        (json!([]), "one operator"),
        (json!({ "==": 1, "!=": 2 }), "one operator"),
        (json!({ "if": [false, { "eval": "x" }] }), "\"eval\""),
        (deep, "64"),
    ] {
        let refused = Logic::new(logic.clone()).unwrap_err();
        assert!(refused.contains(part), "{logic}: {refused}");
    }
}

#[test]
fn what_takes_too_long_ends() {
    let items: Vec<u32> = (0..5000).collect();
    let data = json!({ "items": items, "text": "x".repeat(200_000) });
    let over_items = |logic: Value| json!({ "map": [{ "var": "items" }, logic] });
    let reduced = |logic: Value| json!({ "reduce": [{ "var": "items" }, logic, "x"] });
    let accumulator = || json!({ "var": "accumulator" });
    for logic in [
        over_items(over_items(json!(1))),
        over_items(json!({ "in": ["y", { "var": "text" }] })),
        over_items(json!({ "+": [{ "var": "" }, 1] })),
        json!({ "cat": (0..60).map(|_| json!({ "var": "text.length" })).collect::<Vec<_>>() }),
        json!({ "missing": vec!["text.length"; 60] }),
        json!({ "!": (0..3).map(|_| json!([{ "var": "items" }])).collect::<Vec<_>>() }),
        // Doubles with each step.
        reduced(json!({ "cat": [accumulator(), accumulator()] })),
        reduced(json!([accumulator(), accumulator()])),
        reduced(json!({ "merge": [accumulator(), accumulator()] })),
        // Nests with each step.
        reduced(json!([accumulator()])),
        reduced(json!({ "var": "" })),
    ] {
        assert_eq!(told(logic.clone(), &data), json!("out of budget"), "{logic}");
    }
    assert_eq!(told(json!({ "in": [4999, { "var": "items" }] }), &data), json!(true));
    assert_eq!(told(json!({ "in": ["y", { "var": "text" }] }), &data), json!(false));
}

#[test]
fn logic_tells_what_it_names() {
    let logic = Logic::new(json!({ "in": ["a", { "var": ["content.x", 1] }] })).unwrap();
    assert!(logic.names("content") && logic.names("a") && !logic.names("x") && !logic.names("conten"));
}

fn any_data() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        (-3..4_i64).prop_map(Value::from),
        // An empty text counts as missing here, as in JavaScript.
        "[a-c]{1,3}".prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
    ];
    let list = prop::collection::vec((-3..4_i64).prop_map(Value::from), 0..4).prop_map(Value::from);
    (scalar.clone(), scalar, list)
        .prop_map(|(x, y, list)| json!({ "x": x, "o": { "y": y }, "list": list, "n": 2, "s": "abc" }))
}

/// Logic for which two independent evaluators must agree. Excluded are their differences: numbers of texts that are not
/// numbers, order and equality across types (where it fails, and this one coerces), results of null, and the texts of
/// numbers.
fn any_logic() -> impl Strategy<Value = Value> {
    let number = || {
        let leaf = prop_oneof![
            (-3..4_i64).prop_map(Value::from),
            Just(json!({ "var": "n" })),
            Just(json!({ "var": ["z", 1] }))
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            let pair = (inner.clone(), inner.clone());
            prop_oneof![
                pair.clone().prop_map(|(a, b)| json!({ "+": [a, b] })),
                pair.clone().prop_map(|(a, b)| json!({ "-": [a, b] })),
                pair.clone().prop_map(|(a, b)| json!({ "*": [a, b] })),
                pair.clone().prop_map(|(a, b)| json!({ "max": [a, b] })),
                pair.prop_map(|(a, b)| json!({ "min": [a, b] })),
                inner.prop_map(|a| json!({ "reduce": [{ "var": "list" }, { "+": [{ "var": "current" }, { "var": "accumulator" }] }, a] })),
            ]
        })
    };
    let text = || {
        let leaf = prop_oneof!["[a-c]{0,3}".prop_map(Value::from), Just(json!({ "var": "s" }))];
        leaf.prop_recursive(2, 6, 2, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({ "cat": [a, b] })),
                (inner, -2..3_i64, 0..3_i64).prop_map(|(a, start, length)| json!({ "substr": [a, start, length] })),
            ]
        })
    };
    let list = prop_oneof![
        Just(json!({ "var": "list" })),
        (-2..3_i64).prop_map(|n| json!({ "filter": [{ "var": "list" }, { ">": [{ "var": "" }, n] }] })),
        (-2..3_i64).prop_map(|n| json!({ "map": [{ "var": "list" }, { "+": [{ "var": "" }, n] }] })),
        (-2..3_i64).prop_map(|n| json!({ "merge": [{ "var": "list" }, [n, 1]] })),
    ];
    let names = prop_oneof![
        Just(json!({ "missing": ["x", "o.y", "q"] })),
        (1..3).prop_map(|n| json!({ "missing_some": [n, ["s", "q", "r"]] })),
    ];
    let condition = prop_oneof![
        (number(), number(), prop::sample::select(vec!["==", "===", "!=", "!==", "<", "<=", ">", ">="]))
            .prop_map(|(a, b, operator)| json!({ operator: [a, b] })),
        (number(), number(), number()).prop_map(|(a, b, c)| json!({ "<": [a, b, c] })),
        (number(), number(), number()).prop_map(|(a, b, c)| json!({ "<=": [a, b, c] })),
        (text(), text(), prop::sample::select(vec!["==", "===", "!=", "<", ">=", "in"]))
            .prop_map(|(a, b, operator)| json!({ operator: [a, b] })),
        (number(), list.clone()).prop_map(|(a, list)| json!({ "in": [a, list] })),
        (list.clone(), -2..3_i64, prop::sample::select(vec!["some", "none", "all"]))
            .prop_map(|(list, n, operator)| json!({ operator: [list, { ">": [{ "var": "" }, n] }] })),
        prop::sample::select(vec!["x", "o.y", "s", "q", "list"]).prop_map(|name| json!({ "!!": [{ "var": name }] })),
    ];
    let value = prop_oneof![condition, number(), text(), list, names];
    value.prop_recursive(3, 20, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|all| json!({ "and": all })),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|all| json!({ "or": all })),
            inner.clone().prop_map(|one| json!({ "!": [one] })),
            prop::collection::vec(inner, 3..6).prop_map(|all| json!({ "if": all })),
        ]
    })
}

proptest! {
    #[test]
    fn another_evaluator_makes_the_same(logic in any_logic(), data in any_data()) {
        prop_assume!(logic.is_object());
        let expected = datalogic_rs::Engine::new().eval_str(&logic.to_string(), &data.to_string());
        let expected: Value = serde_json::from_str(&expected.unwrap()).unwrap();
        prop_assert_eq!(told(logic.clone(), &data), normal(expected), "{} {}", logic, data);
    }

    #[test]
    fn any_checked_logic_comes_to_an_end(logic in any_value(), data in any_value()) {
        if let Ok(logic) = Logic::new(logic) {
            let datum = logic.evaluate(&Datum::of(&data));
            prop_assert!(datum.is_err() || datum.is_ok_and(|datum| datum.string().len() < 1 << 24));
        }
    }
}

/// Normalises whole numbers.
fn normal(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(whole) if whole.fract() == 0.0 => json!(whole as i64),
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(normal).collect(),
        other => other,
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-3..70_000_i64).prop_map(Value::from),
        prop::sample::select(vec!["", "a", "a.b", "1", "-1e3", "0x1f", "😀", "accumulator", "length"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 4, |inner| {
        let operator = prop::sample::select(&operators::KNOWN[..]);
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            4 => (operator, prop::collection::vec(inner.clone(), 0..4)).prop_map(|(name, inner)| json!({ name: inner })),
            1 => prop::collection::btree_map("[ab]", inner, 0..3).prop_map(|members| json!(members)),
        ]
    })
}
