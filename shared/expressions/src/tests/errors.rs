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
