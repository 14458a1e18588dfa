use super::world::World;
use crate::pages::Pages as _;
use crate::{Dialect, Kind, Result, base, dql};
use serde_json::json;

fn world() -> World {
    World::default().note("a.md", json!({ "created": "2024-01-01" }), &[], &[])
}

fn warnings(world: &World, dialect: Dialect, text: &str) -> Result<Vec<String>> {
    let evaluator = world.evaluator(dialect, Some("a.md"));
    if dialect == Dialect::Dataview {
        return Ok(dql::run(&dql::parse(text)?, &evaluator, &world.paths())?.warnings);
    }
    let base = base::parse(text)?;
    Ok(base::run(&base, base.view(None).unwrap(), &evaluator, &world.paths())?.warnings)
}

#[test]
fn a_query_that_needs_unknown_times_of_creation_is_refused() {
    for (dialect, text) in [
        (Dialect::Dataview, "LIST WHERE file.ctime < date(today) - dur(30 days)"),
        (Dialect::Dataview, "LIST WHERE this.file[\"cday\"] = date(today)"),
        (Dialect::Dataview, "LIST WHERE created SORT default(file.ctime, created) DESC"),
        (Dialect::Dataview, "TASK SORT file.cday"),
        (Dialect::Dataview, "LIST GROUP BY file.cday"),
        (Dialect::Dataview, "LIST FLATTEN file.ctime AS made FLATTEN made AS then WHERE then"),
        (Dialect::Bases, "filters: 'file.ctime > now() - \"7d\"'\nviews:\n  - name: v\n"),
        (Dialect::Bases, "views:\n  - filters:\n      not: ['link(\"a\").asFile().ctime']\n"),
        (Dialect::Bases, "views:\n  - sort: [{property: file.ctime, direction: DESC}]\n"),
        (Dialect::Bases, "views:\n  - groupBy: {property: file.ctime, direction: ASC}\n"),
        (
            Dialect::Bases,
            "formulas:\n  old: formula.age > 7\n  age: (now() - file.ctime).days\nviews:\n  - filters: formula.old\n",
        ),
        (
            Dialect::Bases,
            "formulas:\n  age: (now() - file.ctime).days\nviews:\n  - sort: [{property: formula.age, direction: ASC}]\n",
        ),
    ] {
        let error = warnings(&world().without_created(), dialect, text).expect_err(text);
        assert!(error.kind == Kind::Unsupported && error.message.contains("use `file.mtime`"), "{text}: {error}");
        assert_eq!(error.offset.is_some(), dialect == Dialect::Dataview, "{text}");
        assert_eq!(warnings(&world(), dialect, text), Ok(Vec::new()), "{text}");
    }
}

#[test]
fn a_query_that_shows_unknown_times_of_creation_says_that_they_are_empty() {
    for (dialect, text, count) in [
        (Dialect::Dataview, "TABLE file.ctime, file.cday, file.mtime", 1),
        (Dialect::Dataview, "LIST FLATTEN file.ctime AS made", 1),
        (Dialect::Dataview, "CALENDAR file.cday", 1),
        (Dialect::Dataview, "TABLE ctime, file.frontmatter.ctime WHERE created SORT file.mtime", 0),
        (Dialect::Bases, "views:\n  - order: [file.name, file.ctime]\n", 1),
        (Dialect::Bases, "formulas:\n  age: now() - file.ctime\nviews:\n  - order: [formula.age]\n", 1),
        (Dialect::Bases, "formulas:\n  age: now() - file.ctime\nviews:\n  - order: [file.mtime, ctime]\n", 0),
    ] {
        let told = warnings(&world().without_created(), dialect, text).unwrap();
        assert_eq!(told.len(), count, "{text}: {told:?}");
        assert!(told.iter().all(|told| told.contains("`file.mtime`")), "{told:?}");
        assert_eq!(warnings(&world(), dialect, text), Ok(Vec::new()), "{text}");
    }
}
