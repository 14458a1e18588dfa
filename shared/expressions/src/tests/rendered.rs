use serde_json::json;

use super::world::World;
use crate::{Dialect, Pages as _, base, dql, render};

fn world() -> World {
    World::default()
        .note("a.md", json!({ "k": "x | y", "n": 1 }), &["#t"], &[])
        .note("Log/b.md", json!({ "k": "one\ntwo", "n": 2 }), &["#t"], &[])
        .task("Log/b.md", 1, "do it", false)
        .task("a.md", 2, "did", true)
        .task("Log/b.md", 3, "more\nof it", true)
}

fn dataview(query: &str, room: usize) -> String {
    let world = world();
    let evaluator = world.evaluator(Dialect::Dataview, None);
    let ran = dql::run(&dql::parse(query).unwrap(), &evaluator, &world.paths()).unwrap();
    render::dataview(&ran, room).unwrap()
}

#[test]
fn a_table_keeps_its_cells_apart() {
    let table = "| File | k |\n| --- | --- |\n| [[Log/b.md\\|b]] | one<br>two |\n| [[a.md\\|a]] | x \\| y |\n";
    assert_eq!(dataview("TABLE k", 1000), table);
    assert_eq!(dataview("TABLE k WHERE n > 5", 1000), "*no rows*\n| File | k |\n| --- | --- |\n");
    assert_eq!(dataview("LIST k", 1000), "- [[Log/b.md|b]]: one\n  two\n- [[a.md|a]]: x | y\n");
}

#[test]
fn tasks_stand_below_their_notes_once() {
    let notes = "**[[Log/b.md|b]]**\n\n- [ ] do it\n- [x] more\n  of it\n\n**[[a.md|a]]**\n\n- [x] did\n";
    assert_eq!(dataview("TASK", 1000), notes);
    let groups = "**false**\n\n\n**[[Log/b.md|b]]**\n\n- [ ] do it\n\n**true**\n\n\n**[[Log/b.md|b]]**\n\n- [x] more\n  of it\n\n**[[a.md|a]]**\n\n- [x] did\n";
    assert_eq!(dataview("TASK GROUP BY completed", 1000), groups);
}

#[test]
fn rows_without_room_are_counted() {
    let cut = dataview("LIST FLATTEN [1,2,3,4,5,6,7,8,9,10] AS x", 60);
    assert!(cut.ends_with("\n*… and 17 more rows*\n"), "{cut}");
    assert_eq!(dataview("TASK", 30), "**[[Log/b.md|b]]**\n\n\n*… and 3 more rows*\n");
}

#[test]
fn a_view_is_a_table_or_a_list_with_what_stands_below() {
    let text = "formulas: {bad: file.nothing()}\nviews:\n  - type: table\n    order: [file.name, n, formula.bad]\n    groupBy: k\n    summaries: {n: Sum}\n  - type: list\n    name: L\n    order: [file.basename, k]\n";
    let base = base::parse(text).unwrap();
    let world = world();
    let evaluator = world.evaluator(Dialect::Bases, None);
    let shown = |view: &base::View| {
        let ran = base::run(&base, view, &evaluator, &world.paths()).unwrap();
        render::base(&ran, &view.kind, 1000).unwrap()
    };
    let table = shown(&base.views[0]);
    assert!(
        table.starts_with(
            "**one<br>two**\n\n| file name | n | bad |\n| --- | --- | --- |\n| [[Log/b.md\\|b.md]] | 2 | ⚠ "
        ),
        "{table}"
    );
    assert!(table.contains("\n\n**x | y**\n\n") && table.ends_with("\n*n, Sum: 3*\n"), "{table}");
    assert_eq!(shown(&base.views[1]), "- [[Log/b.md|b]], one\n  two\n- [[a.md|a]], x | y\n");
}
