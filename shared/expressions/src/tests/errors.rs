use std::cell::Cell;

use super::world::World;
use crate::value::Value;
use crate::{Dialect, Kind, dql};

/// Where an error is, and what was expected there.
fn refused(text: &str) -> (usize, usize, Vec<&'static str>) {
    let error = dql::parse(text).expect_err(text);
    assert_eq!(error.kind, Kind::Syntax, "{text}: {error}");
    let place = error.place(text).expect("a place");
    (place.line, place.column, error.expected)
}

#[test]
fn a_query_that_is_none_says_where_and_what_was_expected() {
    assert_eq!(refused("VEHICLE x"), (1, 1, vec!["TABLE, LIST, TASK or CALENDAR"]));
    let (line, column, expected) = refused("TABLE a\nFROM tag");
    assert_eq!((line, column), (2, 6));
    assert_eq!(expected, ["a #tag, a \"folder\" or a [[link]]"]);
    let (line, column, expected) = refused("LIST FROM #a\nWHERE (b = 1\nSORT c");
    assert_eq!((line, column), (3, 1));
    assert!(expected.contains(&"\")\""), "{expected:?}");
    let (line, column, expected) = refused("LIST\nWHERE a =");
    assert_eq!((line, column), (2, 10));
    assert!(expected.contains(&"an expression"), "{expected:?}");
    let (_, column, expected) = refused("LIST WHERE \"a");
    assert_eq!((column, expected), (14, vec!["the closing quote"]));
}

#[test]
fn messages_are_sentences_and_the_place_is_apart() {
    let error = dql::parse("TABLE a,\nb,, c").expect_err("two commas");
    assert_eq!(error.message, "expected an expression, found \",\"");
}

#[test]
fn what_is_too_deep_or_too_long_is_refused_and_not_a_crash() {
    let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
    let chain = vec!["1"; 5000].join("+");
    let nots = format!("{}a", "!".repeat(5000));
    let long = format!("\"{}\"", "a".repeat(70_000));
    let points = format!("a{}", ".b".repeat(5000));
    for text in [deep, chain, nots, long, points] {
        for dialect in [Dialect::Dataview, Dialect::Bases] {
            let error = dialect.parse(&text).expect_err("too large");
            assert_eq!(error.kind, Kind::Limit, "{error}");
        }
    }
}

#[test]
fn functions_that_there_are_not_are_found_without_running() {
    let query = dql::parse("TABLE lower(a), nope(b)\nWHERE any(map(c, (x) => gone(x)))").expect("a query");
    assert_eq!(query.unknown_functions(), [("nope".to_owned(), 16), ("gone".to_owned(), 54 - 6)]);
}

#[test]
fn reading_a_long_text_takes_steps() {
    let world = World::default();
    for (dialect, text) in [
        (Dialect::Dataview, "length(padright(\"\", 640000, \"a\"))"),
        (Dialect::Dataview, "contains(list(padright(\"\", 640000, \"a\")), \"b\")"),
        (Dialect::Dataview, "icontains(padright(\"\", 640000, \"a\"), \"b\")"),
        (Dialect::Dataview, "substring(list(padright(\"\", 640000, \"a\")), 1)"),
        (Dialect::Dataview, "padright(\"\", 640000, \"a\") < \"b\""),
        (Dialect::Bases, "'a'.repeat(640000).contains('b')"),
        (Dialect::Bases, "'a'.repeat(640000) == 'b'"),
        (Dialect::Bases, "number('a'.repeat(640000))"),
    ] {
        let evaluator = world.evaluator(dialect, None);
        let _ = evaluator.evaluate(&dialect.parse(text).expect(text), &Value::Null);
        assert!(evaluator.steps() >= 10_000, "{text}: {} steps", evaluator.steps());
    }
}

#[test]
fn an_evaluation_ends_when_it_is_late() {
    let looks = Cell::new(0);
    let world = World::default();
    let evaluator = world.evaluator(Dialect::Dataview, None).until(|| {
        looks.set(looks.get() + 1);
        looks.get() > 3
    });
    let zeros = format!("list({})", vec!["0"; 100].join(","));
    let text = format!("length(map({zeros}, (i) => length(map({zeros}, (j) => j))))");
    let error = evaluator.evaluate(&Dialect::Dataview.parse(&text).expect("an expression"), &Value::Null);
    let error = error.expect_err("it is late");
    assert!(error.kind == Kind::Limit && error.message.contains("time"), "{error}");
    assert_eq!(looks.get(), 4);
}
