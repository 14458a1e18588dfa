//! Bases: read, made, changed and queried, in files, in blocks of notes and where notes embed them.

mod drawn;
mod examples;

use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::tools::{Tools, guarded};
use crate::support::world::{World, caller};

/// As a person and a plugin wrote it.
const SHELF: &str = "\
# What is read next.
filters:
  and:
    - file.hasTag(\"book\")   # paper only
formulas:
  left: 'pages - read'
properties:
  note.pages: {displayName: Pages}
views:
  # Everything.
  - type: table
    name: All
    order: [file.name, pages, formula.left]
    sort:
      - property: pages
        direction: DESC
    summaries:
      pages: Sum
  - name: By author
    type: shelf-plugin
    spineWidth: 3
    groupBy: author
    filters: 'pages > 100'
";

const NOTES: [(&str, &str); 7] = [
    ("Books/Tides.md", "---\ntags: book\npages: 320\nread: 100\nauthor: \"[[Ann]]\"\n---\nSee [[Sand]].\n"),
    ("Books/Berths.md", "---\ntags: book\npages: 120\nread: 120\n---\n"),
    ("Books/Sand.md", "---\npages: few\nauthor: \"[[Ann]]\"\n---\n#book/dry\n"),
    (
        "Ann.md",
        "# Ann\n\n> ![[Shelf.base#By author]]\n\n```base\nfilters: file.hasLink(this)\nviews:\n  - type: list\n    name: Hers\n    order: [file.name, pages]\n```\n",
    ),
    ("Hidden/Wrecks.md", "---\ntags: book\npages: 999\n---\n[[Ann]] [[Tides]]\n"),
    ("Shelf.base", SHELF),
    ("Hidden/Own.base", "views:\n  - type: table\n    name: Own\n"),
];

fn vault() -> VaultBuilder {
    NOTES.iter().fold(VaultBuilder::new(), |vault, (path, text)| vault.file(path, text.as_bytes()))
}

async fn shelf() -> World {
    World::open(&NOTES).await
}

/// An access list that hides `Hidden`.
fn acl() -> Value {
    json!({ "readPaths": ["Books/**", "Log/**", "*.md", "*.base"] })
}

/// Where the caller does not see `Hidden`.
async fn library() -> World {
    let notes = NOTES.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    World::of(&[notes], &acl(), caller(&[])).await
}

fn paths(told: &Value) -> Vec<&str> {
    told["items"].as_array().unwrap().iter().map(|item| item["note_path"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_base_is_read_as_it_is_written() {
    let deployment = Deployment::of_vault(&vault()).await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let read = tools.good("read_base", json!({ "path": "Shelf.base" })).await;
    assert_eq!(read["base"]["formulas"], json!({ "left": "pages - read" }));
    assert_eq!(read["base"]["views"][1]["spineWidth"], 3);
    assert_eq!(read["source"], json!({ "type": "tag", "value": "book" }));
    assert_eq!(read["unknown"], json!(["views[1].spineWidth"]));
    let columns = json!([
        { "property": "file.name", "title": "file name" },
        { "property": "pages", "title": "Pages" },
        { "property": "formula.left", "title": "left" },
    ]);
    assert_eq!(read["views"][0], json!({ "name": "All", "type": "table", "columns": columns }));
    assert_eq!(read["views"][1]["type"], "shelf-plugin");
    tools.bad("read_base", json!({ "path": "Ann.md" }), "path_invalid").await;
    tools.bad("read_base", json!({ "path": "None.base" }), "note_not_found").await;
}

#[tokio::test]
async fn a_change_leaves_every_byte_that_it_does_not_name() {
    let deployment = Deployment::of_vault(&vault()).await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let patch = json!({
        "formulas": { "left": "pages - read - 1", "long": "pages > 300" },
        "properties": { "note.pages": { "displayName": "Length" } },
        "update_views": { "By author": { "limit": 5, "columns": ["file.name"] }, "All": { "summaries": null } },
        "add_views": [{ "type": "list", "name": "Short", "group": "author" }],
    });
    let changed = tools.good("update_base", json!({ "path": "Shelf.base", "patch": patch })).await;
    let applied = json!({ "views_added": 1, "views_removed": 0, "views_updated": 2, "source_changed": false });
    assert_eq!(changed["applied"], applied);
    let expected = SHELF
        .replace("'pages - read'", "pages - read - 1\n  long: \"pages > 300\"")
        .replace("{displayName: Pages}", "{displayName: Length}")
        .replace("    summaries:\n      pages: Sum\n", "")
        .replace("'pages > 100'\n", "'pages > 100'\n    limit: 5\n    order:\n      - file.name\n  - type: list\n    name: Short\n    groupBy: author\n");
    assert_eq!(tools.text("Shelf.base").await, expected);
    let removed =
        json!({ "path": "Shelf.base", "patch": { "remove_views": ["All"] }, "if_match": changed["content_hash"] });
    tools.good("update_base", removed.clone()).await;
    let (before, rest) = expected.split_once("  - type: table\n").unwrap();
    let after = rest.split_once("  - name: By author").unwrap().1;
    assert_eq!(tools.text("Shelf.base").await, format!("{before}  - name: By author{after}"));
    tools.bad("update_base", removed, "note_changed").await;
}

#[tokio::test]
async fn what_would_be_no_base_is_not_written() {
    let deployment = Deployment::of_vault(&vault().file("odd.base", b"filters:\n  and:\n    - a ==\n")).await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let odd = tools.bad("read_base", json!({ "path": "odd.base" }), "bases_syntax_error").await;
    assert_eq!(odd["message"], "odd.base: line 3, column 11: filters.and[0]: expected an expression, found the end");
    assert_eq!((&odd["details"]["line"], &odd["details"]["column"]), (&json!(3), &json!(11)));
    for (patch, code) in [
        (json!({ "formulas": { "left": "formula.left + 1" } }), "bases_syntax_error"),
        (json!({ "formulas": { "left": "pages -" } }), "bases_syntax_error"),
        (json!({ "update_views": { "All": { "limit": -1 } } }), "bases_syntax_error"),
        (json!({ "update_views": { "None": { "limit": 1 } } }), "invalid_input"),
        (json!({ "remove_views": ["None"] }), "invalid_input"),
        (json!({ "filters": "x", "source": { "type": "tag", "value": "x" } }), "invalid_input"),
        (json!({ "colour": "red" }), "validation_error"),
    ] {
        tools.bad("update_base", json!({ "path": "Shelf.base", "patch": patch }), code).await;
    }
    assert_eq!(tools.text("Shelf.base").await, SHELF);
    // A change may mend a base.
    let mend = json!({ "path": "odd.base", "patch": { "filters": { "and": ["a == 1"] } } });
    tools.good("update_base", mend).await;
    assert_eq!(tools.text("odd.base").await, "filters:\n  and:\n    - \"a == 1\"\n");

    let circle = json!({ "path": "new.base", "base": { "formulas": { "a": "formula.b", "b": "formula.a" } } });
    let told = tools.bad("create_base", circle, "bases_syntax_error").await;
    assert!(told["message"].as_str().unwrap().contains("a → b → a"), "{told}");
    tools.bad("create_base", json!({ "path": "new.md", "base": {} }), "path_invalid").await;
    let new = json!({ "path": "new.base", "base": {
        "source": { "type": "folder", "value": "Books" },
        "formulas": { "double": "pages * 2" },
        "views": [{ "type": "table", "name": "It's \"new\"", "columns": ["file.name", "formula.double"], "group": "author" }],
    } });
    let created = tools.good("create_base", new.clone()).await;
    assert_eq!(created["views"], json!(["It's \"new\""]));
    let expected = "filters:\n  and:\n    - 'file.inFolder(\"Books\")'\nformulas:\n  double: \"pages * 2\"\nviews:\n  - type: table\n    name: 'It''s \"new\"'\n    order:\n      - file.name\n      - formula.double\n    groupBy: author\n";
    assert_eq!(tools.text("new.base").await, expected);
    tools.bad("create_base", new, "note_exists").await;
}

#[tokio::test]
async fn a_person_confirms_what_replaces_a_base_or_its_filters() {
    let deployment = Deployment::of_vault(&vault()).await;
    let client = guarded(&deployment);
    let tools = Tools::guarded(&client);
    let filters = json!({ "path": "Shelf.base", "patch": { "source": { "type": "property", "value": "pages" } } });
    tools.bad("update_base", filters.clone(), "elicit_required").await;
    assert_eq!(tools.confirmed("update_base", filters).await["applied"]["source_changed"], true);
    tools.good("update_base", json!({ "path": "Shelf.base", "patch": { "formulas": { "x": "1" } } })).await;
    let replaced = tools.confirmed("create_base", json!({ "path": "Shelf.base", "base": {}, "overwrite": true })).await;
    assert_eq!(replaced["views"], json!([]));
    assert_eq!(tools.text("Shelf.base").await, "");
}

#[tokio::test]
async fn a_view_gives_its_rows_with_columns_and_summaries() {
    let world = library().await;
    let all = world.ok("query_base", json!({ "path": "Shelf.base" })).await;
    assert_eq!(
        all["items"],
        json!([
            { "note_path": "Books/Sand.md", "columns": { "file.name": "Sand.md", "pages": "few", "formula.left": null } },
            { "note_path": "Books/Tides.md", "columns": { "file.name": "Tides.md", "pages": 320, "formula.left": 220 } },
            { "note_path": "Books/Berths.md", "columns": { "file.name": "Berths.md", "pages": 120, "formula.left": 0 } },
        ])
    );
    assert_eq!((&all["view_used"], &all["matched"], &all["total_count"]), (&json!("All"), &json!(3), &json!(3)));
    assert_eq!(all["columns"][1], json!({ "property": "pages", "title": "Pages" }));
    assert_eq!(all["summaries"], json!([{ "property": "pages", "summary": "Sum", "value": 440 }]));

    let grouped = world.ok("query_base", json!({ "path": "Shelf.base", "view": "By author" })).await;
    assert_eq!(paths(&grouped), ["Books/Tides.md", "Books/Berths.md"]);
    assert_eq!(grouped["items"][0]["group"], json!({ "path": "Ann" }));
    assert_eq!((&grouped["view_type"], &grouped["items"][1]["group"]), (&json!("shelf-plugin"), &Value::Null));

    for (filter, expected) in [
        (json!("pages < 200"), vec!["Books/Berths.md"]),
        (json!({ "not": ["file.name == \"Sand.md\""] }), vec!["Books/Tides.md", "Books/Berths.md"]),
        (json!("file.hasLink(this)"), vec!["Books/Tides.md"]),
        (json!("!file.hasLink(this) && pages > 0"), vec!["Books/Berths.md"]),
        (json!(""), vec!["Books/Sand.md", "Books/Tides.md", "Books/Berths.md"]),
    ] {
        let arguments = json!({ "path": "Shelf.base", "override_filters": filter, "this": "Books/Sand.md" });
        assert_eq!(paths(&world.ok("query_base", arguments).await), expected, "{filter}");
    }
    let first = world.ok("query_base", json!({ "path": "Shelf.base", "limit": 2 })).await;
    let rest = world.ok("query_base", json!({ "path": "Shelf.base", "limit": 2, "cursor": first["cursor"] })).await;
    assert_eq!([paths(&first), paths(&rest)].concat(), ["Books/Sand.md", "Books/Tides.md", "Books/Berths.md"]);
    for (arguments, reason) in [
        (json!({ "path": "Shelf.base", "view": "None" }), "invalid_input"),
        (json!({ "path": "Shelf.base", "override_filters": "a ==" }), "bases_syntax_error"),
        (json!({ "path": "Shelf.base", "limit": 2, "view": "All", "cursor": first["cursor"] }), "cursor_invalid"),
        (json!({ "path": "Books/Tides.md" }), "invalid_input"),
        (json!({ "path": "Books/map.png" }), "path_invalid"),
        (json!({ "path": "Hidden/Own.base" }), "acl_denied"),
    ] {
        assert_eq!(world.refused("query_base", arguments.clone()).await, reason, "{arguments}");
    }
}

#[tokio::test]
async fn a_note_shows_its_own_base_and_those_that_it_embeds() {
    let world = library().await;
    let embedded = world.ok("query_base", json!({ "path": "Ann.md" })).await;
    assert_eq!((&embedded["path"], &embedded["view_used"]), (&json!("Shelf.base"), &json!("By author")));
    let own = world.ok("query_base", json!({ "path": "Ann.md", "block": 1 })).await;
    assert_eq!((&own["path"], &own["view_used"]), (&json!("Ann.md"), &json!("Hers")));
    assert_eq!(paths(&own), ["Books/Sand.md", "Books/Tides.md"]);
    assert_eq!(world.refused("query_base", json!({ "path": "Ann.md", "block": 2 })).await, "invalid_input");
    // Of the caller who sees all, one note more links to it.
    let all = shelf().await.ok("query_base", json!({ "path": "Ann.md", "block": 1 })).await;
    assert_eq!(paths(&all), ["Books/Sand.md", "Books/Tides.md", "Hidden/Wrecks.md"]);
}

/// A note with every kind of query.
const DASHBOARD: &str = "\
Of `= this.file.name`, `$= dv.pages()`, `= nothing(1)` and `==this==`.

```dataview
TABLE pages FROM #book SORT pages DESC
```

> [!note] Hers
> ![[Shelf.base#By author]]

- ```dataview
  TASK FROM \"Log\"
  ```

```dataviewjs
dv.list([1])
```

```dataview
LIST FROM
```

![[Hidden/Own.base]]

```base
views:
  - type: list
    order: [file.name, pages]
    filters: file.inFolder(\"Books\") && pages > 200
```

```js
no query
```
";

#[tokio::test]
async fn a_note_is_given_with_the_results_of_its_queries() {
    let notes = NOTES.iter().chain(&[("Log/day.md", "- [ ] Call [[Ann]]\n- [x] Read\n"), ("Dash.md", DASHBOARD)]);
    let notes = notes.map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let world = World::of(&[notes], &acl(), caller(&[])).await;
    let told = world.ok("read_note", json!({ "path": "Dash.md", "render_queries": true })).await;
    assert_eq!(told["content"], DASHBOARD);
    let expected = "\
Of Dash, ⚠ `$= …` is a program, and is not run here, ⚠ line 1, column 1: there is no function \"nothing\" and `==this==`.

| File | pages |
| --- | --- |
| [[Books/Sand.md\\|Sand]] | few |
| [[Books/Tides.md\\|Tides]] | 320 |
| [[Books/Berths.md\\|Berths]] | 120 |

> [!note] Hers
> **[[Ann]]**
> 
> | file name |
> | --- |
> | [[Books/Tides.md\\|Tides.md]] |
> 
> **(none)**
> 
> | file name |
> | --- |
> | [[Books/Berths.md\\|Berths.md]] |

- **[[Log/day.md|day]]**
  
  - [ ] Call [[Ann]]
  - [x] Read

> [!error] This query has no result
> DataviewJS is a program, and is not run here

> [!error] This query has no result
> line 2, column 1: expected a #tag, a \"folder\" or a [[link]], found the end

> [!error] This query has no result
> there is no base Hidden/Own.base

- [[Books/Tides.md|Tides.md]], 320

```js
no query
```
";
    assert_eq!(told["rendered"].as_str().unwrap(), expected);
    let queries: Vec<_> = told["queries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["line"], &one["kind"], one["error"].is_string()))
        .collect();
    let expected = [
        (json!(1), json!("inline"), false),
        (json!(1), json!("dataviewjs"), true),
        (json!(1), json!("inline"), true),
        (json!(3), json!("dataview"), false),
        (json!(8), json!("embedded_base"), false),
        (json!(10), json!("dataview"), false),
        (json!(14), json!("dataviewjs"), true),
        (json!(18), json!("dataview"), true),
        (json!(22), json!("embedded_base"), true),
        (json!(24), json!("base"), false),
    ];
    assert_eq!(queries, expected.iter().map(|(line, kind, error)| (line, kind, *error)).collect::<Vec<_>>());

    let only =
        world.ok("read_note", json!({ "path": "Dash.md", "render_queries": true, "include_content": false })).await;
    assert_eq!((&only["rendered"], &only["content"]), (&told["rendered"], &Value::Null));
    let plain = world.ok("read_note", json!({ "path": "Log/day.md", "render_queries": true })).await;
    assert_eq!((&plain["rendered"], plain["queries"].is_null()), (&plain["content"], true));
}

#[tokio::test]
async fn the_pages_of_a_note_have_each_result_once() {
    let text = format!("{}```dataview\nLIST FROM \"Books\"\n```\nafter\n", "word\n".repeat(60_000));
    let world = World::open(&[("Books/a.md", "x"), ("long.md", &text)]).await;
    let (mut rendered, mut offset) = (String::new(), Some(json!(0)));
    while let Some(at) = offset {
        let asked = json!({ "path": "long.md", "render_queries": true, "offset": at });
        let page = world.ok("read_note", asked).await;
        rendered.push_str(page["rendered"].as_str().unwrap());
        offset = page.get("next_offset").cloned();
    }
    assert_eq!(rendered, text.replace("```dataview\nLIST FROM \"Books\"\n```", "- [[Books/a.md|a]]"));
}

#[tokio::test]
async fn a_note_over_http_has_its_results_and_no_tag_of_its_text() {
    let deployment = Deployment::of_vault(&vault()).await;
    let client = deployment.client();
    let read = client.get("/notes/Ann.md?render_queries=true").await;
    assert!(read.header("etag").is_none());
    let told = read.ok();
    assert!(told["rendered"].as_str().unwrap().contains("- [[Books/Tides.md|Tides.md]], 320\n"), "{told}");
    assert!(client.get("/notes/Ann.md").await.header("etag").is_some());
}

#[tokio::test]
async fn the_results_of_a_note_share_one_budget_and_one_answer() {
    let flat = (0..4).fold("LIST".to_owned(), |query, n| format!("{query} FLATTEN [1,2,3,4,5,6,7,8,9,10] AS a{n}"));
    let block = format!("```dataview\n{flat}\n```\n");
    let world = World::open(&[("a.md", "x"), ("many.md", &block.repeat(150))]).await;
    let told = world.ok("read_note", json!({ "path": "many.md", "render_queries": true })).await;
    let rendered = told["rendered"].as_str().unwrap();
    assert!(rendered.len() < 700_000, "{}", rendered.len());
    let errors = told["queries"].as_array().unwrap().iter().filter(|query| query["error"].is_string()).count();
    assert!((1..150).contains(&errors), "{errors}");
    assert!(rendered.contains("more rows*") || rendered.contains("no room for its result"), "{errors}");
}
