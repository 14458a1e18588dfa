use serde_json::{Value as Json, json};

use super::world::World;
use crate::dql::{self, Output};
use crate::pages::Pages as _;
use crate::{Dialect, Error, show};

fn world() -> World {
    World::default()
        .note(
            "books/Dune.md",
            json!({ "rating": 9, "genres": ["sf", "classic"], "author": "[[Herbert]]" }),
            &["#book/sf"],
            &["Herbert"],
        )
        .note(
            "books/Emma.md",
            json!({ "rating": 7, "genres": ["classic"], "author": "[[Austen]]" }),
            &["#book"],
            &["Austen"],
        )
        .note("books/Solaris.md", json!({ "rating": 8, "genres": ["sf"], "read": "2024-05-01" }), &["#Book"], &[])
        .note("people/Austen.md", json!({ "born": 1775 }), &[], &["Emma"])
        .note("people/Herbert.md", json!({ "born": 1920 }), &[], &[])
        .note("pic.png", json!({}), &[], &[])
        .task("books/Dune.md", 3, "read it", true)
        .task("books/Emma.md", 5, "lend it", false)
        .task("books/Emma.md", 9, "buy it", true)
}

/// The rows of a query, as JSON.
fn rows(text: &str) -> Result<Json, Error> {
    let world = world();
    let evaluator = world.evaluator(Dialect::Dataview, Some("people/Austen.md"));
    let ran = dql::run(&dql::parse(text)?, &evaluator, &world.paths())?;
    let json = |value: &crate::Value| show::json(value, &mut { usize::MAX }).unwrap();
    Ok(match ran.output {
        Output::List(rows) | Output::Tasks(rows) => rows.iter().map(json).collect(),
        Output::Table { columns, rows } => {
            let rows: Vec<Vec<Json>> = rows.iter().map(|row| row.iter().map(json).collect()).collect();
            json!({ "columns": columns, "rows": rows })
        }
        Output::Calendar(rows) => rows.iter().map(|(date, link)| json!([json(date), json(link)])).collect(),
    })
}

fn names(text: &str) -> Vec<String> {
    let rows = rows(&format!("LIST WITHOUT ID file.name {text}")).unwrap();
    rows.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

#[test]
fn sources_choose_pages() {
    assert_eq!(names("FROM #book"), ["Dune", "Emma", "Solaris"]);
    assert_eq!(names("FROM #book/sf"), ["Dune"]);
    assert_eq!(names("FROM \"people\""), ["Austen", "Herbert"]);
    assert_eq!(names("FROM \"books/Emma\""), ["Emma"]);
    assert_eq!(names("FROM [[Herbert]]"), ["Dune"]);
    assert_eq!(names("FROM [[]]"), ["Emma"]);
    assert_eq!(names("FROM outgoing([[Austen]])"), ["Emma"]);
    assert_eq!(names("FROM #book and !\"books/Emma\""), ["Dune", "Solaris"]);
    assert_eq!(names("FROM -#book or [[Austen]]"), ["Emma", "Austen", "Herbert"]);
    assert_eq!(names(""), ["Dune", "Emma", "Solaris", "Austen", "Herbert"]);
    assert!(rows("LIST FROM outgoing([[Nobody]])").unwrap_err().message.contains("no note \"Nobody\""));
}

#[test]
fn tables_have_columns_and_the_note_first() {
    let table =
        rows("TABLE rating * 10 AS \"Per cent\", author.born\nFROM #book\nWHERE rating > 7\nSORT rating DESC").unwrap();
    let link = |path: &str| json!({ "path": path });
    let expected = json!({
        "columns": ["File", "Per cent", "author.born"],
        "rows": [[link("books/Dune.md"), 90, 1920], [link("books/Solaris.md"), 80, null]],
    });
    assert_eq!(table, expected);
    assert_eq!(
        rows("TABLE WITHOUT ID file.name\nFROM #book\nLIMIT 1").unwrap(),
        json!({ "columns": ["file.name"], "rows": [["Dune"]] })
    );
}

#[test]
fn rows_are_flattened_and_grouped() {
    let flat =
        rows("TABLE WITHOUT ID file.name, genres FROM #book FLATTEN genres SORT genres, file.name DESC").unwrap();
    assert_eq!(flat["rows"], json!([["Emma", "classic"], ["Dune", "classic"], ["Solaris", "sf"], ["Dune", "sf"]]));
    let grouped =
        rows("TABLE rows.file.name AS names, length(rows)\nFROM #book\nFLATTEN genres AS genre\nGROUP BY genre")
            .unwrap();
    assert_eq!(grouped["columns"], json!(["genre", "names", "length(rows)"]));
    assert_eq!(grouped["rows"], json!([["classic", ["Dune", "Emma"], 2], ["sf", ["Dune", "Solaris"], 2]]));
    let sums = rows("LIST sum(rows.rating) GROUP BY file.folder").unwrap();
    assert_eq!(sums, json!([{ "key": "books", "value": 24 }, { "key": "people", "value": null }]));
}

#[test]
fn tasks_are_rows_with_the_fields_of_their_notes() {
    let texts = |query: &str| -> Vec<Json> {
        rows(query).unwrap().as_array().unwrap().iter().map(|task| task["text"].clone()).collect()
    };
    assert_eq!(texts("TASK"), ["read it", "lend it", "buy it"]);
    assert_eq!(texts("TASK FROM #book WHERE !completed"), ["lend it"]);
    assert_eq!(texts("TASK WHERE rating = 7 SORT text"), ["buy it", "lend it"]);
    let groups = rows("TASK GROUP BY file.name").unwrap();
    assert_eq!((&groups[1]["key"], &groups[1]["rows"][0]["text"]), (&json!("Emma"), &json!("lend it")));
}

#[test]
fn a_limit_after_conditions_ends_the_search() {
    let mut world = World::default();
    for number in 100..300 {
        let path = format!("{number}.md");
        world = world.note(&path, json!({ "odd": number % 2 == 1 }), &[], &[]).task(&path, 1, &path, number % 3 == 0);
    }
    let ran = |text: &str| {
        let evaluator = world.evaluator(Dialect::Dataview, None);
        let ran = dql::run(&dql::parse(text).unwrap(), &evaluator, &world.paths()).unwrap();
        (ran.files, evaluator.steps())
    };
    for conditions in ["TASK WHERE !completed", "LIST WHERE odd", "TASK WHERE odd WHERE !completed"] {
        let (all, most) = ran(conditions);
        let (some, few) = ran(&format!("{conditions} LIMIT 5"));
        assert_eq!(some, all[..5], "{conditions}");
        assert!(few * 5 < most, "{conditions}: {few} steps of {most}");
    }
    // A condition that fails for some rows says for how many.
    let failing = |limit: &str| {
        let evaluator = world.evaluator(Dialect::Dataview, None);
        let query = format!("LIST WHERE choice(odd, true, date(\"2026-01-01\") - \"x\") {limit}");
        dql::run(&dql::parse(&query).unwrap(), &evaluator, &world.paths()).map(|ran| ran.warnings)
    };
    assert_eq!(format!("{:?}", failing("LIMIT 5")), format!("{:?}", failing("")));
}

#[test]
fn a_calendar_has_dates_and_notes() {
    let days = rows("CALENDAR read WHERE read").unwrap();
    assert_eq!(days, json!([["2024-05-01", { "path": "books/Solaris.md" }]]));
}

#[test]
fn rows_that_fail_are_left_out_and_told_unless_all_do() {
    let world = world();
    let evaluator = world.evaluator(Dialect::Dataview, None);
    let query = dql::parse("LIST WHERE born - \"x\" > 1").unwrap();
    let error = dql::run(&query, &evaluator, &world.paths()).unwrap_err();
    assert!(error.message.starts_with("every row failed at WHERE: "), "{error}");
    let query = dql::parse("LIST FROM \"people\" or #book/sf WHERE (born - 1) > 1000").unwrap();
    let ran = dql::run(&query, &evaluator, &world.paths()).unwrap();
    assert_eq!(
        ran.warnings,
        ["1 rows are left out, since WHERE failed for them: there is no \"-\" of null and number"]
    );
}

#[test]
fn comments_and_any_case_are_read() {
    let query = dql::parse("\n// first\nlist without id file.name\n// then\nfrom #a // end\nsort x desc, y\n").unwrap();
    assert_eq!(query.to_string(), "LIST WITHOUT ID file.name\nFROM #a\nSORT x DESC, y ASC\n");
}
