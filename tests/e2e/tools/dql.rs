//! Queries of Dataview and Bases, answered from the index.

pub(super) mod scan;

use std::collections::BTreeMap;

use atlas_testkit::VaultBuilder;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::random;
use crate::support::world::{World, caller};
use scan::Scan;

async fn library() -> World {
    World::open(&[
        (
            "Books/Tides.md",
            "---\nrating: 9\nauthor: \"[[Ann]]\"\ntags: [book, sea]\nread: 2026-01-02\n---\n# Tides\n\nPages:: 320\nLent to [[Ann|her]] (on:: 2026-02-03), see ![[map.png]] and [[#Tides]]\n\n## Plan\n- [ ] read it [due:: 2026-03-01] #soon\n\t- [x] find it ✅ 2026-01-05\n- a note [mood:: calm] ^m\n",
        ),
        ("Books/Berths.md", "---\nrating: 7\ntags: book\nDue Date: 2026-05-05\n---\nPages:: 120\nPages:: 8\n\n- [x] return it\n"),
        ("Books/Sand.md", "#book/dry\n\n```\nPages:: 1\n```\n"),
        ("Ann.md", "---\nborn: 1975\naliases: [Anna]\n---\n[[Tides]] [[nowhere]]\n"),
        ("2026-04-05.md", "[[Books/Tides#Plan]]\n"),
        ("map.png", "a picture"),
    ])
    .await
}

async fn rows(world: &World, query: &str) -> Value {
    world.ok("query_notes", json!({ "query": query })).await["rows"].clone()
}

#[tokio::test]
async fn tables_have_properties_fields_and_what_is_known_of_files() {
    let world = library().await;
    let answer = world.ok("search_dql", json!({ "dql": "TABLE rating, pages FROM #book SORT rating DESC" })).await;
    assert_eq!(answer["headers"], json!(["File", "rating", "pages"]));
    assert_eq!(
        answer["rows"],
        json!([
            [{ "path": "Books/Tides.md" }, 9, 320],
            [{ "path": "Books/Berths.md" }, 7, [120, 8]],
            [{ "path": "Books/Sand.md" }, null, null],
        ])
    );
    assert_eq!(answer["note_paths"], json!(["Books/Tides.md", "Books/Berths.md", "Books/Sand.md"]));
    assert_eq!(answer["total_count"], 3);
    for (query, expected) in [
        ("LIST WHERE due-date = date(2026-05-05)", json!([[{ "path": "Books/Berths.md" }]])),
        ("LIST WITHOUT ID mood WHERE mood", json!([["calm"]])),
        ("LIST WITHOUT ID on WHERE on", json!([["2026-02-03"]])),
        ("LIST WITHOUT ID author.born WHERE author", json!([[1975]])),
        ("TABLE WITHOUT ID file.name AS n, file.name AS n WHERE born", json!([["Ann", "Ann"]])),
        ("LIST WITHOUT ID file.day WHERE file.day", json!([["2026-04-05"]])),
        ("LIST WITHOUT ID file.inlinks.file.name FROM \"Books/Tides\"", json!([[["2026-04-05", "Ann", "Tides"]]])),
        ("LIST WITHOUT ID file.name FROM [[Tides]]", json!([["2026-04-05"], ["Ann"], ["Tides"]])),
        ("LIST WITHOUT ID file.name FROM [[nowhere]]", json!([["Ann"]])),
        ("LIST WITHOUT ID file.name FROM outgoing([[Ann]])", json!([["Tides"]])),
        ("LIST WITHOUT ID file.name FROM -\"Books\"", json!([["2026-04-05"], ["Ann"]])),
        ("LIST WITHOUT ID file.aliases FROM \"Ann\"", json!([[["Anna"]]])),
        ("LIST WITHOUT ID file.etags FROM #sea", json!([[["#book", "#sea", "#soon"]]])),
        ("LIST WITHOUT ID length(file.frontmatter) FROM \"Ann\"", json!([[2]])),
        ("CALENDAR read WHERE read", json!([["2026-01-02", { "path": "Books/Tides.md" }]])),
    ] {
        assert_eq!(rows(&world, query).await, expected, "{query}");
    }
    let named = world.ok("query_notes", json!({ "query": "TABLE WITHOUT ID file.name AS n, file.name AS n" })).await;
    assert_eq!(named["columns"], json!(["n", "n 2"]));
}

#[tokio::test]
async fn backlinks_are_the_same_for_one_note_and_for_all() {
    let mut notes = vec![("9/c.png".to_owned(), "a picture".to_owned())];
    for folder in 0..40 {
        let text = format!("[[b]] [[{}/a]] ![[c.png]] [[#here]] [[a]]\n", (folder + 1) % 40);
        notes.push((format!("{folder}/a.md"), text));
        notes.push((format!("{folder}/b.md"), "[[a]] [x](c.png)\n".to_owned()));
    }
    let notes: Vec<(&str, &str)> = notes.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let world = World::open(&notes).await;
    let all = rows(&world, "TABLE WITHOUT ID file.path, file.inlinks LIMIT 1000").await;
    assert_eq!(all.as_array().unwrap().len(), 80);
    for row in all.as_array().unwrap() {
        let path = row[0].as_str().unwrap();
        let query = format!("TABLE WITHOUT ID file.path, file.inlinks FROM \"{}\"", path.trim_end_matches(".md"));
        assert_eq!(rows(&world, &query).await, json!([row]), "{path}");
    }
}

#[tokio::test]
async fn list_items_are_described_as_dataview_does() {
    let world = library().await;
    let tasks = world.ok("query_notes", json!({ "query": "TASK FROM \"Books\" GROUP BY completed" })).await;
    assert_eq!(tasks["columns"], json!(["completed", "task", "status", "path", "line", "fields"]));
    assert_eq!(
        tasks["rows"],
        json!([
            [false, "read it [due:: 2026-03-01] #soon", " ", "Books/Tides.md", 13, { "due": "2026-03-01" }],
            [true, "return it", "x", "Books/Berths.md", 9, {}],
            [true, "find it ✅ 2026-01-05", "x", "Books/Tides.md", 14, { "completion": "2026-01-05" }],
        ])
    );
    let value = async |expression: &str| {
        let arguments = json!({ "path": "Books/Tides.md", "expression": expression });
        world.ok("eval_dataview_field", arguments).await["value"].clone()
    };
    for (expression, expected) in [
        ("file.lists.symbol", json!(["-", "-", "-"])),
        ("file.lists[2].link", json!({ "path": "Books/Tides.md", "block": "m" })),
        ("file.lists[0].section", json!({ "path": "Books/Tides.md", "heading": "Plan" })),
        ("file.lists[0].children.text", json!(["find it ✅ 2026-01-05"])),
        ("file.lists[1].parent", json!(12)),
        ("file.lists.fullyCompleted", json!([false, true, null])),
        ("file.tasks[0].fullyCompleted", json!(false)),
        ("file.tasks.tags", json!([["#soon"], []])),
        ("file.lists.annotated", json!([true, true, true])),
        ("file.lists[0].lineCount", json!(1)),
    ] {
        assert_eq!(value(expression).await, expected, "{expression}");
    }
}

#[tokio::test]
async fn an_expression_has_a_value_and_a_type_for_a_note() {
    let world = library().await;
    let told =
        world.ok("eval_dataview_field", json!({ "path": "Books/Tides.md", "expression": "this.rating + pages" })).await;
    let expected =
        json!({ "path": "Books/Tides.md", "expression": "this.rating + pages", "value": 329, "type": "number" });
    assert_eq!(told, expected);
    for (arguments, reason) in [
        (json!({ "path": "no.md", "expression": "1" }), "note_not_found"),
        (json!({ "path": "Ann.md", "expression": "1 +" }), "dql_error"),
        (json!({ "path": "Ann.md", "expression": "nothing(1)" }), "dql_error"),
        (json!({ "path": "Ann.md", "expression": "$= dv.current()" }), "dql_error"),
    ] {
        assert_eq!(world.refused("eval_dataview_field", arguments.clone()).await, reason, "{arguments}");
    }
}

#[tokio::test]
async fn a_query_is_judged_with_line_and_column() {
    let world = library().await;
    let good = world
        .ok("validate_dql", json!({ "dql": "TABLE a, b AS \"B\" FROM #x AND \"y\" WHERE a SORT b LIMIT 3" }))
        .await;
    assert_eq!(
        (&good["valid"], &good["ast"]["kind"], &good["ast"]["columns"], &good["ast"]["steps"]),
        (&json!(true), &json!("table"), &json!(["a", "B"]), &json!(["where", "sort", "limit"]))
    );
    for (query, line, col) in [("TABLE a\nWHERE nothing(a)", 2, 7), ("dataviewjs", 1, 1)] {
        let told = world.ok("validate_dql", json!({ "dql": query })).await;
        assert_eq!(told["valid"], false, "{query}");
        assert_eq!((&told["error"]["line"], &told["error"]["col"]), (&json!(line), &json!(col)), "{query}: {told}");
    }
    let told = world.ok("validate_dql", json!({ "dql": "LIST FROM " })).await;
    assert!(!told["error"]["expected"].as_array().unwrap().is_empty(), "{told}");
}

#[tokio::test]
async fn a_base_shows_the_same_notes_in_its_own_words() {
    let world = library().await;
    let base = "filters: file.hasTag(\"book\") && rating > 1\nformulas:\n  double: rating * 2\nviews:\n  - type: table\n    name: First\n    order: [file.name, formula.double]\n    sort:\n      - property: rating\n        direction: ASC\n";
    let shown = world.ok("query_notes", json!({ "query": base, "language": "base" })).await;
    assert_eq!(shown["columns"], json!(["file name", "double"]));
    assert_eq!(shown["rows"], json!([["Berths.md", 14], ["Tides.md", 18]]));
    assert_eq!(shown["paths"], json!(["Books/Berths.md", "Books/Tides.md"]));
    let linked = world
        .ok(
            "query_notes",
            json!({ "query": "filters: file.hasLink(this)", "language": "base", "this": "Books/Tides.md" }),
        )
        .await;
    assert_eq!(linked["paths"], json!(["2026-04-05.md", "Ann.md", "Books/Tides.md"]));
    for (arguments, reason) in [
        (json!({ "query": base, "language": "base", "view": "Second" }), "invalid_input"),
        (json!({ "query": "filters: [", "language": "base" }), "bases_syntax_error"),
        (json!({ "query": "LIST", "this": "no/such.md", "language": "sql" }), "validation_error"),
    ] {
        assert_eq!(world.refused("query_notes", arguments.clone()).await, reason, "{arguments}");
    }
}

#[tokio::test]
async fn a_deep_chain_of_items_is_refused_where_it_is_too_much_and_answered_where_it_is_not() {
    let deep: String = (0..30).map(|depth| format!("{}- x\n", "  ".repeat(depth))).collect();
    let many = "- [ ] t\n".repeat(60_000);
    let world = World::open(&[("deep30.md", &deep), ("flat.md", "- a\n  - b\n"), ("z/many.md", &many)]).await;
    let lists = "LIST file.lists WHERE file.name = \"deep30\"";
    for query in [lists, "TABLE file.lists, file.lists WHERE file.name = \"deep30\""] {
        for (tool, argument) in [("query_notes", "query"), ("search_dql", "dql")] {
            assert_eq!(world.refused(tool, json!({ argument: query })).await, "overflow", "{query}");
        }
    }
    let value = json!({ "path": "deep30.md", "expression": "file.lists" });
    assert_eq!(world.refused("eval_dataview_field", value).await, "overflow");
    for expression in
        ["string(file.lists)", "sort(file.lists + file.lists)", "unique(file.lists)", "file.lists = file.lists"]
    {
        let value = json!({ "path": "deep30.md", "expression": expression });
        // Whichever comes first: the steps of a query, or the time of a call.
        let reason = world.refused("eval_dataview_field", value).await;
        assert!(["compute_budget_exceeded", "too_much_work"].contains(&&*reason), "{expression}: {reason}");
    }
    // What is not too much has all that Dataview says of an item.
    let texts = rows(&world, "LIST WITHOUT ID file.lists.text WHERE file.name = \"deep30\"").await;
    assert_eq!(texts[0][0].as_array().map(Vec::len), Some(30));
    let flat = rows(&world, "LIST WITHOUT ID file.lists WHERE file.name = \"flat\"").await;
    assert_eq!(flat[0][0][0]["children"], flat[0][0][0]["subtasks"]);
    assert_eq!(flat[0][0][0]["children"][0]["text"], "b");
    // A page ends before the row that has no room.
    let both = json!({ "query": "LIST WITHOUT ID file.lists FROM -\"z\" SORT file.name DESC" });
    let page = world.ok("query_notes", both).await;
    assert_eq!((page["rows"].as_array().map(Vec::len), &page["total_count"]), (Some(1), &json!(2)));
    assert!(page["cursor"].is_string());
    // A note may have more items than a query looks at.
    let of_many = world.refused("query_notes", json!({ "query": "TASK FROM \"z\"" })).await;
    assert_eq!(of_many, "compute_budget_exceeded");
    assert_eq!(rows(&world, "TASK FROM -\"z\"").await, json!([]));
    let base = "views: [{ type: table, name: T, order: [file.name] }]";
    let answer = world.ok("query_notes", json!({ "query": base, "language": "base" })).await;
    assert_eq!(answer["rows"], json!([["deep30.md"], ["flat.md"], ["many.md"]]));
}

#[tokio::test]
async fn rows_come_in_pages_and_too_much_is_refused() {
    let notes: Vec<(String, String)> =
        (0..40).map(|n| (format!("n/{n:02}.md"), format!("---\nn: {n}\n---\n"))).collect();
    let notes: Vec<(&str, &str)> = notes.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let world = World::open(&notes).await;
    for (tool, argument) in [("query_notes", "query"), ("search_dql", "dql")] {
        let all = world.pages(tool, json!({ argument: "LIST WITHOUT ID n SORT n DESC", "limit": 7 }), "rows").await;
        assert_eq!(all, (0..40).rev().map(|n| json!([n])).collect::<Vec<_>>());
        let page = world.ok(tool, json!({ argument: "LIST", "limit": 7 })).await;
        let other = json!({ argument: "LIST WHERE n", "limit": 7, "cursor": page["cursor"] });
        assert_eq!(world.refused(tool, other).await, "cursor_invalid");
    }
    let flat = "LIST FLATTEN [1,2,3,4,5,6,7,8,9,10] AS a";
    let flat = (0..6).fold(flat.to_owned(), |query, n| format!("{query} FLATTEN [1,2,3,4,5,6,7,8,9,10] AS a{n}"));
    assert_eq!(world.refused("query_notes", json!({ "query": flat })).await, "compute_budget_exceeded");
    for query in ["$= dv.pages()", "```dataviewjs\ndv.list()", "LIST FROM csv(\"a.csv\")", "LISTS", "LIST nothing(1)"] {
        assert_eq!(world.refused("query_notes", json!({ "query": query })).await, "dql_error", "{query}");
    }
}

#[tokio::test]
async fn times_of_creation_are_refused_or_told_to_be_empty() {
    let world = library().await;
    for (query, language, reason) in [
        ("LIST WHERE file.ctime < date(today) - dur(30 days)", "dql", "dql_error"),
        ("LIST FROM #book SORT file.ctime DESC", "dql", "dql_error"),
        ("filters: 'file.ctime > now() - \"7d\"'", "base", "bases_syntax_error"),
    ] {
        let refused = world.call("query_notes", json!({ "query": query, "language": language })).await.unwrap_err();
        assert_eq!(refused.reason(), reason, "{query}");
        assert!(refused.message.contains("use `file.mtime`"), "{}", refused.message);
    }
    for (query, language) in
        [("TABLE file.ctime FROM #book", "dql"), ("views: [{order: [file.name, file.ctime]}]", "base")]
    {
        let told = world.ok("query_notes", json!({ "query": query, "language": language })).await;
        assert!(told["rows"][0][1].is_null(), "{told}");
        let warnings = told["warnings"].as_array().unwrap();
        assert!(warnings.len() == 1 && warnings[0].as_str().unwrap().contains("use `file.mtime`"), "{told}");
    }
}

#[tokio::test]
async fn a_column_that_is_empty_in_all_rows_is_told_with_the_property_that_may_be_meant() {
    let world = library().await;
    let warnings = async |query: &str, language: &str| {
        let told = world.ok("query_notes", json!({ "query": query, "language": language })).await;
        told.get("warnings").cloned().unwrap_or_default()
    };
    let mistyped = json!(["ratign is empty in all rows: there is a property rating"]);
    assert_eq!(warnings("TABLE ratign, rating FROM #book", "dql").await, mistyped);
    assert_eq!(warnings("LIST ratign FROM #book", "dql").await, mistyped);
    assert_eq!(warnings("views: [{order: [file.name, ratign]}]", "base").await, mistyped);
    assert_eq!(warnings("TABLE WITHOUT ID zzz, pages FROM #book", "dql").await, json!(["zzz is empty in all rows"]));
    // Another case is another name; a property that other notes have, and a name that the query gives, are no mistakes.
    let in_case = json!(["Rating is empty in all rows: there is a property rating"]);
    assert_eq!(warnings("TABLE Rating FROM #book", "dql").await, in_case);
    assert_eq!(warnings("TABLE rating, this, file FROM -#book WHERE !rating", "dql").await, Value::Null);
    assert_eq!(warnings("TABLE a FROM #book FLATTEN null AS a", "dql").await, Value::Null);
    assert_eq!(warnings("TABLE b FROM #book GROUP BY null AS b", "dql").await, Value::Null);
    let of_group = json!(["rating is empty in all rows: after GROUP BY write rows.rating"]);
    assert_eq!(warnings("TABLE rating FROM #book GROUP BY file.folder", "dql").await, of_group);
    // Neither no rows nor a value in one row is a mistake.
    assert_eq!(warnings("TABLE ratign FROM #nothing", "dql").await, Value::Null);
    assert_eq!(warnings("TABLE rating", "dql").await, Value::Null);
    let told = world.ok("search_dql", json!({ "dql": "TABLE ratign FROM #book" })).await;
    assert_eq!(told["warnings"], mistyped);
}

#[tokio::test(start_paused = true)]
async fn a_table_is_csv_or_json_lines() {
    let vault = (0..30).fold(VaultBuilder::new(), |vault, n| {
        let odd = if n == 29 { "text" } else { "1" };
        vault.note(&format!("n/{n:02}.md"), &format!("---\nn: {n}\nsaid: \"a, \\\"b\\\"\"\nx: {odd}\n---\n"))
    });
    let client = Deployment::of_vault(&vault).await.client();
    let query = "TABLE%20n%2C%20said%20SORT%20n";
    let first = client.get(&format!("/tables?query={query}&limit=20")).await;
    assert_eq!(first.header("content-type").unwrap(), "text/csv; charset=utf-8");
    let text = String::from_utf8(first.body.to_vec()).unwrap();
    assert_eq!(text.lines().count(), 21);
    assert!(text.starts_with("File,n,said\r\nn/00.md,0,\"a, \"\"b\"\"\"\r\n"), "{text}");
    let cursor = first.header("x-atlas-next-cursor").unwrap().to_owned();
    let second = client.get(&format!("/tables?query={query}&limit=20&cursor={cursor}&format=csv")).await;
    let text = String::from_utf8(second.body.to_vec()).unwrap();
    assert!(text.lines().count() == 10 && text.starts_with("n/20.md,20,"), "{text}");
    assert!(second.header("x-atlas-next-cursor").is_none() && second.header("x-atlas-warnings").is_none());
    let part = client.get("/tables?query=LIST%20WHERE%20x%20-%201%20%3D%200").await;
    let text = String::from_utf8(part.body.to_vec()).unwrap();
    assert!(text.lines().count() == 30 && part.header("x-atlas-warnings").unwrap() == "1", "{text}");
    let lines = client.get(&format!("/tables?query={query}&limit=2&format=jsonl")).await;
    let text = String::from_utf8(lines.body.to_vec()).unwrap();
    assert_eq!(text.lines().next().unwrap(), r#"{"File":{"path":"n/00.md"},"n":0,"said":"a, \"b\""}"#);
    let whole = client.get(&format!("/tables?query={query}&format=json")).await.ok();
    assert_eq!(whole["total_count"], 30);
    assert_eq!(client.get("/tables?query=LIST&format=xml").await.status.as_u16(), 400);
    assert_eq!(client.get("/tables?query=LISTS").await.status.as_u16(), 400);
}

pub(super) const NAMES: [&str; 6] = ["a.md", "b.md", "Log/a.md", "Log/c.md", "Log/deep/d.md", "e.md"];

pub(super) fn any_note() -> impl Strategy<Value = String> {
    let value =
        prop::sample::select(vec!["1", "2", "2.5", "yes", "true", "[1, x]", "", "2026-01-02", "\"[[a]]\"", "5 days"]);
    let properties = prop::collection::btree_map(prop::sample::select(vec!["k", "l", "Due Date", "tags"]), value, 0..3);
    let parts = [
        "#tag ",
        "#tag/sub ",
        "word ",
        "\n",
        "\nk:: 2\n",
        "(l:: [[Log/a]]) ",
        "[[a]] ",
        "![[c]] ",
        "[[nowhere]] ",
        "[[#x]] ",
        "\n- [ ] do [k:: 3] #t\n\n",
        "\n- [x] did 📅 2026-02-03\n\n",
        "\n- item [due date:: 2026-01-02]\n    - below\n\n",
    ];
    let parts = prop::collection::vec(prop::sample::select(parts.to_vec()), 0..8);
    (properties, parts).prop_map(|(properties, parts)| {
        let properties: String = properties.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
        let above = if properties.is_empty() { String::new() } else { format!("---\n{properties}---\n") };
        above + &parts.concat()
    })
}

fn any_query() -> impl Strategy<Value = String> {
    let select = |texts: &[&'static str]| prop::sample::select(texts.to_vec());
    let source = select(&[
        "",
        "FROM #tag",
        "FROM #tag/sub",
        "FROM \"Log\"",
        "FROM \"Log/a\"",
        "FROM \"a\"",
        "FROM [[a]]",
        "FROM [[nowhere]]",
        "FROM outgoing([[b]])",
        "FROM -#tag",
        "FROM #tag AND \"Log\"",
        "FROM [[a]] OR \"Log/deep\"",
        "FROM !([[Log/a]] OR #t)",
        "FROM -\"Log\" AND -[[c]]",
    ]);
    let test = select(&[
        "k = 1",
        "k != 1",
        "k > 1",
        "k <= 2",
        "l = \"yes\"",
        "l",
        "!l",
        "due-date = date(2026-01-02)",
        "k = null",
        "file.name = \"a\"",
        "file.folder != \"Log\"",
        "file.ext = \"md\"",
        "contains(file.tags, \"#tag\")",
        "k < \"x\"",
        "l = true",
        "\"Log/a.md\" = file.path",
        "k + 1 > 2",
        "l = [[a]]",
        "l = [[Log/a]]",
        "length(file.inlinks) > 1",
        "-1 < k",
    ]);
    let condition = prop_oneof![
        test.clone().prop_map(str::to_owned),
        (test.clone(), select(&["AND", "OR"]), test.clone())
            .prop_map(|(one, joint, other)| format!("({one}) {joint} ({other})")),
        (test.clone(), test.clone(), test).prop_map(|(one, two, three)| format!("!({one} OR {two}) OR {three}")),
    ];
    let conditions = prop::collection::vec(condition, 0..3);
    let shown = select(&[
        "TABLE k, l, due-date, file.tags",
        "LIST file.outlinks",
        "LIST file.inlinks",
        "TASK",
        "TABLE file.lists.text, file.tasks.completed",
        "LIST file.day",
    ]);
    let last = select(&["", "SORT k DESC, file.path", "SORT l", "LIMIT 2", "GROUP BY k", "FLATTEN l"]);
    (shown, source, conditions, last).prop_map(|(shown, source, conditions, last)| {
        let conditions: String = conditions.iter().map(|condition| format!("WHERE {condition}\n")).collect();
        format!("{shown}\n{source}\n{conditions}{last}")
    })
}

#[test]
fn a_query_gives_what_a_scan_of_all_notes_gives() {
    let mut runner = TestRunner::new(random::cases(48));
    let notes = || prop::collection::btree_map(prop::sample::select(&NAMES[..]), any_note(), 1..6);
    let strategy = (prop::collection::vec(notes(), 1..4), prop::collection::vec(any_query(), 12));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = runner.run(&strategy, |(steps, queries)| {
        let steps: Vec<BTreeMap<String, String>> = steps
            .into_iter()
            .map(|step| step.into_iter().map(|(path, text)| (path.to_owned(), text)).collect())
            .collect();
        runtime.block_on(compare(&steps, &queries));
        Ok(())
    });
    result.unwrap();
}

async fn compare(steps: &[BTreeMap<String, String>], queries: &[String]) {
    // The last step are single writes, which no publication has merged.
    let (published, written) = steps.split_at(steps.len() - 1);
    let published = if published.is_empty() { steps } else { published };
    let world = World::of(published, &json!({}), caller(&[])).await;
    for (path, text) in written.iter().flatten() {
        world.ok("write_note", json!({ "path": path, "content": text, "mode": "upsert" })).await;
    }
    let notes: BTreeMap<String, String> =
        steps.iter().flatten().map(|(path, text)| (path.clone(), text.clone())).collect();
    let scan = Scan::of(&notes);
    for query in queries {
        let found = world.call("query_notes", json!({ "query": query, "limit": 1000 })).await;
        let found = found.map(|answer| answer["rows"].clone()).map_err(|error| error.reason().to_owned());
        assert_eq!(found, scan.rows(query), "{query}\n{notes:#?}");
    }
}
