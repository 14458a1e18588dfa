use jiff::tz::TimeZone;
use serde_json::json;

use super::world::World;
use crate::properties::{day_in, value};
use crate::{Dialect, dql, plan, show};

fn types(json: &serde_json::Value) -> [&'static str; 2] {
    [Dialect::Dataview, Dialect::Bases].map(|dialect| value(json, dialect, &TimeZone::UTC).type_name())
}

#[test]
fn texts_of_properties_are_what_each_language_takes_them_for() {
    for (json, expected) in [
        (json!("2024-05-01"), ["date", "date"]),
        (json!("2024-05-01T10:30:00"), ["date", "date"]),
        (json!("2024-05-01 10:30"), ["string", "date"]),
        (json!("2024-05-01 or so"), ["string", "string"]),
        (json!("2024-13-01"), ["string", "string"]),
        (json!("5 days"), ["duration", "string"]),
        (json!("[[Note|shown]]"), ["link", "link"]),
        (json!("![[pic.png]]"), ["link", "string"]),
        (json!("[[a]] and [[b]]"), ["string", "string"]),
        (json!(""), ["string", "string"]),
        (json!("["), ["string", "string"]),
        (json!(5), ["number", "number"]),
        (json!(null), ["null", "null"]),
        (json!(["2024-05-01"]), ["array", "array"]),
    ] {
        assert_eq!(types(&json), expected, "{json}");
    }
}

#[test]
fn names_say_days() {
    for (name, expected) in [
        ("2024-05-31", Some("2024-05-31")),
        ("Notes of 2024-05-31, later", Some("2024-05-31")),
        ("20240531", Some("2024-05-31")),
        ("20240531 2023-01-02", Some("2023-01-02")),
        ("ü2024-05-31", Some("2024-05-31")),
        ("2024-02-31", None),
        ("2024-05", None),
        ("", None),
    ] {
        let day =
            day_in(name, &TimeZone::UTC).map(|day| show::json(&crate::Value::date(day), &mut { usize::MAX }).unwrap());
        assert_eq!(day, expected.map(|day| json!(day)), "{name}");
    }
}

#[test]
fn a_query_is_planned_as_far_as_no_row_can_fail() {
    let world = World::default().note("a/b.md", json!({}), &[], &[]);
    let evaluator = world.evaluator(Dialect::Dataview, None);
    for (text, clauses) in [
        ("LIST", 0),
        ("LIST FROM #a AND \"a\" WHERE x = 1 AND y > 2", 4),
        ("LIST WHERE x = 1 AND (y OR z)", 1),
        ("LIST WHERE x = 1 AND y + 1 > 2 WHERE z = 1", 0),
        ("LIST WHERE x", 1),
        ("LIST WHERE x = 1 AND contains(y, 1)", 2),
        ("LIST WHERE x = 1 AND !contains(y, 1)", 1),
        ("LIST WHERE x = 1 AND contains(y, z)", 0),
        ("LIST WHERE x = 1 SORT x WHERE y = 1", 1),
        ("LIST FLATTEN x WHERE x = 1", 0),
        ("TASK FROM #a WHERE x = 1", 2),
    ] {
        let query = dql::parse(text).unwrap();
        assert_eq!(plan::of_query(&query, &evaluator).clauses.len(), clauses, "{text}");
    }
}

#[test]
fn a_query_says_whether_it_reads_list_items() {
    for (text, expected) in [
        ("TASK", true),
        ("TABLE file.tasks.text", true),
        ("TABLE file[\"lists\"]", true),
        ("TABLE file[\"li\" + \"sts\"]", true),
        ("TABLE extract(file, name)", true),
        ("LIST WHERE any(file.tasks, (t) => t.completed)", true),
        ("TABLE file.name, a[0], extract(file, \"name\") FROM #tasks", false),
    ] {
        assert_eq!(plan::reads_lists(&dql::parse(text).unwrap()), expected, "{text}");
    }
}
