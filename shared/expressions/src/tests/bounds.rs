//! Values in which the same entries stand many times: what is made of them has a limit.

use serde_json::json;

use super::world::{World, value_of};
use crate::value::{Object, Value};
use crate::{Dialect, Kind, Pages as _, dql, render, show};

/// A chain of list items as Dataview describes them: each has the one below it twice.
fn chain(levels: usize) -> Value {
    (0..levels).fold(Value::list(Vec::new()), |below, line| {
        let item = Object::from_iter([
            ("text".into(), "x".into()),
            ("line".into(), line.into()),
            ("task".into(), true.into()),
            ("children".into(), below.clone()),
            ("subtasks".into(), below),
        ]);
        Value::list(vec![Value::object(item)])
    })
}

fn items(levels: usize) -> Vec<Value> {
    chain(levels).as_list().unwrap_or_default().to_vec()
}

fn world() -> World {
    World::default()
        .note("a.md", json!({}), &[], &[])
        .note("b.md", json!({}), &[], &[])
        .items("a.md", items(30))
        .items("b.md", items(30))
}

#[test]
fn json_and_text_end_where_there_is_no_more_room() {
    let mut room = 100_000;
    assert_eq!(show::json(&chain(30), &mut room).unwrap_err().kind, Kind::Limit);
    assert_eq!(room, 0);
    for dialect in [Dialect::Dataview, Dialect::Bases] {
        assert_eq!(show::text(&chain(30), dialect).unwrap_err().kind, Kind::Limit, "{dialect:?}");
        assert!(show::text(&chain(8), dialect).is_ok());
    }
}

#[test]
fn json_takes_no_more_room_than_it_has_bytes() {
    let some =
        json!([null, true, 1.5, "a \"b\"", [], {}, [1, [2]], { "a": {}, "b": [1] }, "[[N#H|shown]]", "2024-01-02"]);
    let values = value_of(&some).as_list().unwrap_or_default().to_vec();
    for value in values.into_iter().chain([value_of(&some), chain(5)]) {
        let mut room = 1_000_000;
        let json = show::json(&value, &mut room).unwrap();
        let (taken, bytes) = (1_000_000 - room, json.to_string().len());
        assert!(taken > 0 && taken <= bytes, "{taken} of {bytes}: {json}");
        // So it fits exactly where there is room for it.
        assert_eq!(show::json(&value, &mut { taken }), Ok(json));
        assert!(show::json(&value, &mut (taken - 1)).is_err());
    }
}

#[test]
fn no_function_and_no_step_walks_all_ways_to_an_entry() {
    let world = world();
    let other = "[[b]].file.lists";
    for expression in [
        format!("file.lists = {other}"),
        format!("file.lists < {other}"),
        format!("sort(file.lists + {other})"),
        format!("sort(file.lists + {other}, (item) => item)"),
        format!("unique(file.lists + {other})"),
        format!("contains(file.lists, {other}[0])"),
        format!("econtains(file.lists, {other}[0])"),
        format!("min(file.lists, {other})"),
        format!("minby(file.lists + {other}, (item) => item)"),
        "string(file.lists)".to_owned(),
        "join(file.lists)".to_owned(),
        "display(file.lists[0])".to_owned(),
        "\"\" + file.lists".to_owned(),
        "filter(file.lists, (item) => true)".to_owned(),
    ] {
        let evaluator = world.evaluator(Dialect::Dataview, None);
        let expr = Dialect::Dataview.parse(&expression).expect(&expression);
        let outcome = evaluator.evaluate(&expr, &Value::page("a.md"));
        assert_eq!(outcome.map(|_| ()).map_err(|error| error.kind), Err(Kind::Limit), "{expression}");
        assert!(evaluator.steps() < 300_000, "{expression}");
    }
    for query in [
        "LIST file.name SORT file.lists",
        "LIST file.name GROUP BY file.lists",
        "TASK SORT children",
        "TASK GROUP BY subtasks",
    ] {
        let evaluator = world.evaluator(Dialect::Dataview, None);
        let ran = dql::run(&dql::parse(query).expect(query), &evaluator, &world.paths());
        assert_eq!(ran.map(|_| ()).map_err(|error| error.kind), Err(Kind::Limit), "{query}");
        assert!(evaluator.steps() < 300_000, "{query}");
    }
    let evaluator = world.evaluator(Dialect::Bases, None);
    assert!(evaluator.equal(&chain(30), &chain(30)).is_err());
    assert!(evaluator.sorted(&chain(30), &chain(30)).is_err());
}

#[test]
fn a_row_without_room_is_left_out_of_a_page() {
    let world = world();
    let evaluator = world.evaluator(Dialect::Dataview, None);
    for query in ["LIST file.lists", "TABLE file.lists, file.lists"] {
        let ran = dql::run(&dql::parse(query).expect(query), &evaluator, &world.paths()).unwrap();
        let page = render::dataview(&ran, 10_000).unwrap();
        assert!(page.len() < 1000 && page.ends_with("*… and 2 more rows*\n"), "{page}");
    }
}
