use serde_json::{Value as Json, json};

use super::world::World;
use crate::base;
use crate::pages::Pages as _;
use crate::{Dialect, show};

/// The example of the help, with what it says of sorting too.
const EXAMPLE: &str = r#"
filters:
  or:
    - file.hasTag("tag")
    - and:
        - file.hasTag("book")
        - file.hasLink("Textbook")
    - not:
        - file.hasTag("book")
        - file.inFolder("Required Reading")
formulas:
  formatted_price: 'if(price, price.toFixed(2) + " dollars")'
  ppu: "(price / age).toFixed(2)"
properties:
  status:
    displayName: Status
  formula.formatted_price:
    displayName: "Price"
  file.ext:
    displayName: Extension
summaries:
  customAverage: 'values.mean().round(3)'
views:
  - type: table
    name: "My table"
    limit: 10
    groupBy:
      property: note.age
      direction: DESC
    filters:
      and:
        - 'status != "done"'
        - or:
            - "price / age > 5"
            - "price > 2.1"
    sort:
      - property: price
        direction: DESC
    order:
      - file.name
      - file.ext
      - note.age
      - formula.ppu
      - formula.formatted_price
    summaries:
      formula.ppu: Filled
      price: customAverage
  - type: cards
    name: All
    cardSize: 200
"#;

fn world() -> World {
    World::default()
        .note("A.md", json!({ "price": 10, "age": 2 }), &["#tag"], &[])
        .note("B.md", json!({ "price": 3, "age": 4, "status": "open" }), &["#book"], &["Textbook"])
        .note("C.md", json!({ "price": 9, "age": 4 }), &["#book"], &["Textbook"])
        .note("D.md", json!({ "price": 9, "age": 4 }), &["#book"], &[])
        .note("E.md", json!({ "price": 8, "age": 2, "status": "done" }), &[], &[])
        .note("Required Reading/F.md", json!({ "price": 8 }), &[], &[])
        .note("Textbook.md", json!({}), &[], &[])
        .note("z.pdf", json!({}), &[], &[])
}

/// The rows of a view: of each group its key and the cells.
fn shown(text: &str, view: Option<&str>) -> (Json, base::Ran) {
    let world = world();
    let evaluator = world.evaluator(Dialect::Bases, Some("Textbook.md"));
    let base = base::parse(text).unwrap();
    let ran = base::run(&base, base.view(view).unwrap(), &evaluator, &world.paths()).unwrap();
    let json = |value: &crate::Value| show::json(value, &mut { usize::MAX }).unwrap();
    let groups = ran.groups.iter().map(|group| {
        let rows: Vec<Vec<Json>> = group
            .rows
            .iter()
            .map(|row| {
                row.cells
                    .iter()
                    .map(|cell| cell.as_ref().map_or_else(|error| json!({ "error": error }), json))
                    .collect()
            })
            .collect();
        json!([group.key.as_ref().map(json), rows])
    });
    (groups.collect(), ran)
}

#[test]
fn the_example_of_the_help_shows_its_rows() {
    let (groups, ran) = shown(EXAMPLE, None);
    let expected = json!([
        [4, [["C.md", "md", 4, "2.25", "9.00 dollars"], ["B.md", "md", 4, "0.75", "3.00 dollars"]]],
        [2, [["A.md", "md", 2, "5.00", "10.00 dollars"]]],
    ]);
    assert_eq!(groups, expected);
    let titles: Vec<_> = ran.columns.iter().map(|column| column.title.as_str()).collect();
    assert_eq!(titles, ["file name", "Extension", "age", "ppu", "Price"]);
    let summaries: Vec<_> =
        ran.summaries.iter().map(|(_, name, value)| (name.as_str(), value.as_ref().unwrap().as_number())).collect();
    assert_eq!(summaries, [("Filled", Some(3.0)), ("customAverage", Some(7.333))]);
    assert_eq!((ran.total, ran.warnings.len()), (3, 0));
    let (all, ran) = shown(EXAMPLE, Some("All"));
    assert_eq!(all, json!([[null, [["A.md"], ["B.md"], ["C.md"], ["E.md"], ["Textbook.md"], ["z.pdf"]]]]));
    assert_eq!(ran.total, 6);
    assert_eq!(base::parse(EXAMPLE).unwrap().unknown, ["views[1].cardSize"]);
}

#[test]
fn the_filters_of_a_view_are_planned_for_an_index() {
    let world = world();
    let evaluator = world.evaluator(Dialect::Bases, None);
    let base = base::parse(EXAMPLE).unwrap();
    let plan = base.plan(base.view(None).unwrap(), &evaluator);
    assert_eq!(plan.clauses.len(), 1, "{plan:?}");
    assert_eq!(plan.rest.len(), 2);
    let ran = base::run(&base, base.view(None).unwrap(), &evaluator, &world.paths()).unwrap();
    for row in ran.groups.iter().flat_map(|group| &group.rows) {
        assert!(plan.holds(&evaluator, &row.path).unwrap(), "{}", row.path);
    }
}

#[test]
fn all_summaries_of_the_help_are_there() {
    let text = |name: &str, column: &str| {
        format!(
            "formulas:\n  on: price > 8\n  day: date(\"2024-05-01\") + (price + \"d\")\nviews:\n  - type: table\n    filters: file.hasTag(\"tag\", \"book\")\n    summaries:\n      {column}: {name}\n"
        )
    };
    let numbers = [
        ("Average", 7.75),
        ("Min", 3.0),
        ("Max", 10.0),
        ("Sum", 31.0),
        ("Range", 7.0),
        ("Median", 9.0),
        ("Unique", 3.0),
    ];
    let booleans = [("Checked", 3.0), ("Unchecked", 1.0), ("Filled", 4.0), ("Empty", 0.0)];
    for (column, (name, expected)) in
        numbers.map(|one| ("price", one)).into_iter().chain(booleans.map(|one| ("formula.on", one)))
    {
        let (_, ran) = shown(&text(name, column), None);
        let value = ran.summaries.first().unwrap().2.clone().unwrap();
        assert_eq!(value.as_number(), Some(expected), "{name}");
    }
    let one = |name: &str, column: &str| {
        show::text(&shown(&text(name, column), None).1.summaries[0].2.clone().unwrap(), Dialect::Bases).unwrap()
    };
    assert_eq!(
        (one("Earliest", "formula.day"), one("Latest", "formula.day")),
        ("2024-05-04".to_owned(), "2024-05-11".to_owned())
    );
    assert_eq!(one("Range", "formula.day"), "1 week");
    assert_eq!(one("Stddev", "price"), "2.7726341266023544");
    assert!(shown(&text("Nope", "price"), None).1.summaries[0].2.as_ref().unwrap_err().contains("no summary \"Nope\""));
}

#[test]
fn a_formula_that_needs_itself_is_refused() {
    let circle = "formulas:\n  a: formula.b + 1\n  b: formula[\"c\"] * 2\n  c: if(x, formula.a, 1)\n";
    assert_eq!(base::parse(circle).unwrap_err().message, "the formulas need one another in a circle: a → b → c → a");
    let line = "formulas:\n  a: formula.b + 1\n  b: x\nviews:\n  - order: [formula.a, formula.none]\n    filters: file.name == \"A.md\"\n";
    assert_eq!(shown(line, None).0[0][1], json!([[null, { "error": "there is no formula \"none\"" }]]));
    let hidden = "formulas:\n  a: formula[x.toString() + \"a\"]\nviews:\n  - order: [formula.a]\n    filters: file.name == \"A.md\"\n";
    assert_eq!(shown(hidden, None).0[0][1], json!([[{ "error": "the formula \"a\" needs itself" }]]));
}

#[test]
fn a_document_that_is_none_says_where() {
    let wrong = [
        ("views: 1", "views has to be a list"),
        ("views:\n  - order: [file.name]\n    limit: -1", "views[0].limit has to be a whole number"),
        ("filters:\n  and:\n    - a ==", "filters.and[0]: expected an expression, found the end"),
        (
            "filters:\n  and: [a]\n  or: [b]",
            "filters has to be an expression, or a map with one of \"and\", \"or\" and \"not\"",
        ),
        ("filters:\n  xor: [a]", "filters.xor has to be \"and\", \"or\" or \"not\""),
        ("formulas: [a]", "formulas has to be a map"),
        (
            "views:\n  - sort:\n      - property: a\n        direction: UP",
            "views[0].sort[0] has to be \"property\" and \"direction\" (ASC or DESC)",
        ),
    ];
    for (text, message) in wrong {
        assert_eq!(base::parse(text).map(|_| ()).map_err(|error| error.message), Err(message.to_owned()), "{text}");
    }
    assert!(base::parse("views: [").unwrap_err().message.starts_with("the base is not YAML: "));
    assert!(base::parse("").unwrap().views.is_empty());
}

#[test]
fn an_error_of_a_document_has_its_line_and_column() {
    for (text, line, column) in [
        ("views: [\n", 1, 8),
        ("a: 1\nfilters:\n  and:\n    - a ==\n", 4, 11),
        ("# é\nfilters: 'price + '\n", 2, 19),
        ("formulas:\n  a: \"x \\\"\\\" +\"\n", 2, 9),
        ("views:\n  - order: [a]\n    limit: -1\n", 3, 12),
        ("formulas:\n  a: formula.b\n  b: formula.a\n", 2, 3),
        ("views:\n  - type: table\n    type: list\n", 3, 5),
    ] {
        let place = base::parse(text).unwrap_err().place(text).unwrap();
        assert_eq!((place.line, place.column), (line, column), "{text}");
    }
}

#[test]
fn a_file_for_which_a_filter_fails_is_left_out_and_told() {
    let (rows, ran) = shown("filters: price - \"x\" > 1 || true\nviews:\n  - name: v\n", None);
    assert_eq!(rows[0][1], json!([["Textbook.md"], ["z.pdf"]]));
    assert_eq!(ran.warnings.len(), 5);
    assert_eq!(ran.warnings[0], "a filter fails for A.md: there is no \"-\" of number and string");
}
