//! Facts of notes: tags, properties, tasks and links, listed and found as obsidian-tc's tools do.

use std::collections::{BTreeMap, BTreeSet};

use atlas_vault::resolve::{Files, resolve};
use atlas_vault::task::fields;
use atlas_vault::{Note, VaultPath, fold, parse};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use crate::support::world::{World, caller};

async fn harbour() -> World {
    World::open(&[
        ("Tide.md", "---\ntags: [Sea, log/old]\nstatus: open\nrank: 3\n---\n# Tide\n\nHigh #sea/deep\n\n- [ ] Measure 📅 2026-03-01 ⏫ #log\n- [x] Look ✅ 2026-01-02\n"),
        ("Berth.md", "---\nstatus: done\nrank: 10.5\nup: [Tide, Quay]\ntags: sea\n---\n#sea\n\n- [/] Paint [due:: 2026-02-01]\n"),
        ("log/a.md", "---\nstatus:\n---\n[[Tide]] ![[Tide]] and [[nowhere]]\n\n1. [-] Give up\n"),
        ("log/b.md", "[[Tide#Tide|high]] [x](../Berth.md) [[nowhere#x]] [web](https://example.org)\n\n```\n- [ ] code #code\n```\n"),
    ])
    .await
}

fn listed<'a>(answer: &'a Value, field: &str) -> Vec<&'a str> {
    answer["items"].as_array().unwrap().iter().map(|item| item[field].as_str().unwrap()).collect()
}

#[tokio::test]
async fn tags_are_counted_whatever_their_case() {
    let world = harbour().await;
    let all = world.ok("list_tags", json!({})).await;
    assert_eq!(
        all["items"],
        json!([
            { "tag": "Sea", "count": 2, "source": "both" },
            { "tag": "log", "count": 1, "source": "inline" },
            { "tag": "log/old", "count": 1, "source": "frontmatter" },
            { "tag": "sea/deep", "count": 1, "source": "inline" },
        ])
    );
    let inline = world.ok("list_tags", json!({ "include_frontmatter": false, "root": "log" })).await;
    assert_eq!((inline["items"].as_array().unwrap().len(), &inline["total_count"]), (0, &json!(0)));
    let page = world.ok("list_tags", json!({ "limit": 3 })).await;
    let next = world.ok("list_tags", json!({ "limit": 3, "cursor": page["cursor"] })).await;
    assert_eq!((listed(&page, "tag").len(), listed(&next, "tag"), next.get("cursor")), (3, vec!["sea/deep"], None));
    assert_eq!(
        world.refused("list_tags", json!({ "limit": 4, "root": "x", "cursor": page["cursor"] })).await,
        "cursor_invalid"
    );
    let clamped = world.ok("list_tags", json!({ "limit": 5000 })).await;
    assert_eq!(clamped["overflow"], true);
}

#[tokio::test]
async fn notes_are_found_by_tags_and_those_below() {
    let world = harbour().await;
    let found = world.ok("find_notes_by_tag", json!({ "tag": "#SEA" })).await;
    assert_eq!(
        found["items"],
        json!([
            { "path": "Berth.md", "matched_tags": ["sea"], "source": "both" },
            { "path": "Tide.md", "matched_tags": ["Sea", "sea/deep"], "source": "both" },
        ])
    );
    for (arguments, expected) in [
        (json!({ "tag": "sea/deep" }), vec!["Tide.md"]),
        (json!({ "tag": "log", "hierarchical": false }), vec!["Tide.md"]),
        (json!({ "tag": "se" }), vec![]),
        (json!({ "tag": "log/old", "tags": ["sea"] }), vec!["Berth.md", "Tide.md"]),
        (json!({ "tag": "log/old", "tags": ["sea"], "require_all": true }), vec!["Tide.md"]),
        (json!({ "tag": "code" }), vec![]),
        (json!({ "tag": "sea", "root": "log" }), vec![]),
    ] {
        let found = world.ok("find_notes_by_tag", arguments.clone()).await;
        assert_eq!(listed(&found, "path"), expected, "{arguments}");
    }
    assert_eq!(world.refused("find_notes_by_tag", json!({ "tag": "sea", "root": "../x" })).await, "path_invalid");
}

#[tokio::test]
async fn properties_are_listed_and_read_with_their_types() {
    let world = harbour().await;
    let all = world.ok("list_properties", json!({ "sample_size": 2 })).await;
    assert_eq!(
        all["items"][0],
        json!({ "key": "status", "types": ["null", "string"], "note_count": 3, "sample_values": ["done", "open"] })
    );
    assert_eq!(all["items"][1]["types"], json!(["number"]));
    let read = world.ok("read_frontmatter", json!({ "path": "Berth.md" })).await;
    assert_eq!(
        read,
        json!({ "path": "Berth.md", "format": "yaml", "frontmatter": { "status": "done", "rank": 10.5, "up": ["Tide", "Quay"], "tags": "sea" } })
    );
    let none = world.ok("read_frontmatter", json!({ "path": "log/b.md" })).await;
    assert_eq!((&none["format"], &none["frontmatter"]), (&json!("missing"), &json!({})));
    let property = async |key: &str| {
        let read = world.ok("read_property", json!({ "path": "log/a.md", "key": key })).await;
        (read["value"].clone(), read["present"].clone())
    };
    assert_eq!(property("status").await, (Value::Null, json!(true)));
    assert_eq!(property("rank").await, (Value::Null, json!(false)));
    for name in ["read_frontmatter", "read_property"] {
        let arguments = json!({ "path": "no.md", "key": "x" });
        let arguments = if name == "read_property" { arguments } else { json!({ "path": "no.md" }) };
        assert_eq!(world.refused(name, arguments).await, "note_not_found");
    }
}

#[tokio::test]
async fn notes_are_found_by_what_their_properties_are() {
    let world = harbour().await;
    for (filter, expected) in [
        (json!([{ "key": "status", "op": "eq", "value": "open" }]), vec!["Tide.md"]),
        (json!([{ "key": "status", "op": "neq", "value": "open" }]), vec!["Berth.md", "log/a.md", "log/b.md"]),
        (json!([{ "key": "rank", "op": "gt", "value": 3 }]), vec!["Berth.md"]),
        (json!([{ "key": "rank", "op": "gte", "value": 3.0 }]), vec!["Berth.md", "Tide.md"]),
        (json!([{ "key": "rank", "op": "lt", "value": "x" }]), vec![]),
        (json!([{ "key": "up", "op": "contains", "value": "Quay" }]), vec!["Berth.md"]),
        (json!([{ "key": "status", "op": "contains", "value": "on" }]), vec!["Berth.md"]),
        (json!([{ "key": "status", "op": "in", "value": ["open", null] }]), vec!["Tide.md", "log/a.md"]),
        (json!([{ "key": "status", "op": "exists" }, { "key": "rank", "op": "absent" }]), vec!["log/a.md"]),
        (json!([{ "key": "status", "op": "nin", "value": ["open", "done"] }]), vec!["log/a.md", "log/b.md"]),
    ] {
        let found = world.ok("find_notes_by_property", json!({ "filter": filter })).await;
        assert_eq!(listed(&found, "path"), expected, "{filter}");
    }
    let found =
        world.ok("find_notes_by_property", json!({ "filter": [{ "key": "rank", "op": "exists" }], "limit": 1 })).await;
    assert_eq!(found["items"], json!([{ "path": "Berth.md", "matched_values": { "rank": 10.5 } }]));
    for filter in [
        json!([]),
        json!([{ "key": "x", "op": "eq" }]),
        json!([{ "key": "x", "op": "in", "value": 1 }]),
        json!([{ "key": "x", "op": "exists", "value": 1 }]),
        json!([{ "key": "x", "op": "nin", "value": vec![1; 1001] }]),
    ] {
        assert_eq!(
            world.refused("find_notes_by_property", json!({ "filter": filter })).await,
            "invalid_input",
            "{filter}"
        );
    }
    assert_eq!(
        world.refused("find_notes_by_property", json!({ "filter": [{ "key": "x", "op": "like", "value": 1 }] })).await,
        "validation_error"
    );
}

#[tokio::test]
async fn tasks_are_listed_by_what_their_fields_say() {
    let world = harbour().await;
    let all = world.ok("list_tasks", json!({})).await;
    assert_eq!(
        all["items"],
        json!([
            { "path": "Berth.md", "line": 9, "status": "in_progress", "description": "Paint", "due": "2026-02-01", "tags": [] },
            { "path": "Tide.md", "line": 10, "status": "todo", "description": "Measure #log", "due": "2026-03-01", "priority": "high", "tags": ["log"] },
            { "path": "Tide.md", "line": 11, "status": "done", "description": "Look", "done": "2026-01-02", "tags": [] },
            { "path": "log/a.md", "line": 6, "status": "cancelled", "description": "Give up", "tags": [] },
        ])
    );
    for (arguments, expected) in [
        (json!({ "status": ["todo", "done"] }), vec![10, 11]),
        (json!({ "due": { "before": "2026-03-01" } }), vec![9]),
        (json!({ "due": { "after": "2026-02-01", "before": "2026-04-01" } }), vec![10]),
        (json!({ "due": { "on": "2026-02-01" } }), vec![9]),
        (json!({ "priority": ["high", "low"] }), vec![10]),
        (json!({ "tags": ["#LOG"] }), vec![10]),
        (json!({ "paths": ["log/a.md"] }), vec![6]),
        (json!({ "root": "log" }), vec![6]),
        (json!({ "status": [] }), vec![]),
    ] {
        let found = world.ok("list_tasks", arguments.clone()).await;
        let lines: Vec<u64> =
            found["items"].as_array().unwrap().iter().map(|task| task["line"].as_u64().unwrap()).collect();
        assert_eq!(lines, expected, "{arguments}");
    }
    assert_eq!(world.refused("list_tasks", json!({ "due": { "on": "tomorrow" } })).await, "validation_error");
}

#[tokio::test]
async fn links_are_told_from_both_ends() {
    let world = harbour().await;
    let out = world.ok("get_outgoing_links", json!({ "path": "log/b.md" })).await;
    assert_eq!(
        out["links"],
        json!([
            { "target": "Tide#Tide", "display_text": "high", "kind": "wikilink", "resolved": true, "target_path": "Tide.md", "line": 1, "col": 1, "in_codeblock": false },
            { "target": "../Berth.md", "display_text": "x", "kind": "markdown", "resolved": true, "target_path": "Berth.md", "line": 1, "col": 20, "in_codeblock": false },
            { "target": "nowhere#x", "display_text": "nowhere#x", "kind": "wikilink", "resolved": false, "line": 1, "col": 37, "in_codeblock": false },
        ])
    );
    let embeds = world
        .ok("get_outgoing_links", json!({ "path": "log/a.md", "kinds": ["embed"], "include_unresolved": false }))
        .await;
    assert_eq!(embeds["links"].as_array().unwrap().len(), 1);
    let back = world.ok("get_backlinks", json!({ "path": "Tide.md", "include_context": true })).await;
    assert_eq!(
        back["items"],
        json!([
            { "source_path": "log/a.md", "link_count": 2, "contexts": [{ "line": 4, "text": "[[Tide]] ![[Tide]] and [[nowhere]]" }] },
            { "source_path": "log/b.md", "link_count": 1, "contexts": [{ "line": 1, "text": "[[Tide#Tide|high]] [x](../Berth.md) [[nowhere#x]] [web](https://example.org)" }] },
        ])
    );
    let back = world.ok("get_backlinks", json!({ "path": "Tide.md", "include_embeds": false })).await;
    assert_eq!(back["items"][0], json!({ "source_path": "log/a.md", "link_count": 1 }));
    let orphans = world.ok("find_orphans", json!({})).await;
    assert_eq!(
        orphans["items"],
        json!([{ "path": "log/a.md", "outgoing_count": 2 }, { "path": "log/b.md", "outgoing_count": 3 }])
    );
    let orphans = world.ok("find_orphans", json!({ "exclude_paths": ["log/a.md", "lo"] })).await;
    assert_eq!(listed(&orphans, "path"), ["log/b.md"]);
    assert!(listed(&world.ok("find_orphans", json!({ "exclude_paths": ["log/"] })).await, "path").is_empty());
    for (glob, left) in
        [("log/*", vec![]), ("**/a.*", vec!["log/b.md"]), ("?.md", vec![]), ("/?.md", vec!["log/a.md", "log/b.md"])]
    {
        let orphans = world.ok("find_orphans", json!({ "exclude_paths": [glob] })).await;
        assert_eq!(listed(&orphans, "path"), left, "{glob}");
    }
    let nowhere = world.ok("find_unresolved_links", json!({})).await;
    assert_eq!(
        nowhere["items"],
        json!([{ "target": "nowhere", "sources": [{ "path": "log/a.md", "line": 4 }, { "path": "log/b.md", "line": 1 }] }])
    );
    let by_source = world.ok("find_unresolved_links", json!({ "group_by": "source", "root": "log" })).await;
    assert_eq!(by_source["items"][1], json!({ "target": "nowhere", "sources": [{ "path": "log/b.md", "line": 1 }] }));
    for name in ["get_outgoing_links", "get_backlinks"] {
        assert_eq!(world.refused(name, json!({ "path": "no.md" })).await, "note_not_found");
    }
    assert_eq!(world.refused("find_orphans", json!({ "root": "/x" })).await, "path_invalid");
    assert_eq!(world.refused("find_unresolved_links", json!({ "group_by": "x" })).await, "validation_error");
}

#[tokio::test]
async fn very_many_files_of_one_name_are_told_apart() {
    // With this many it would take hours if each link were compared with each file, and the time limit would be
    // exceeded.
    const COUNT: usize = 3000;
    let note = |number: usize| {
        (format!("f{number}/index.md"), format!("[[f{}/index]] [[index]] [[x/f{number}/index]]\n", number + 1))
    };
    let world = World::of(&[(0..COUNT).map(note).collect()], &json!({}), caller(&[])).await;
    let orphans = world.ok("find_orphans", json!({})).await;
    assert_eq!(orphans["items"], json!([{ "path": "f0/index.md", "outgoing_count": 3 }]));
    let unresolved = world.ok("find_unresolved_links", json!({})).await;
    assert_eq!(unresolved["total_count"], COUNT + 1);
    assert_eq!(world.ok("list_attachments", json!({ "referenced_only": true })).await["items"], json!([]));
    let back = world.ok("get_backlinks", json!({ "path": "f2/index.md" })).await;
    assert_eq!(back["items"], json!([{ "source_path": "f1/index.md", "link_count": 1 }]));
}

const NAMES: [&str; 5] = ["a.md", "b.md", "Log/a.md", "Log/c.md", "Log/deep/d.md"];
const PARTS: [&str; 14] = [
    "#tag ",
    "#Tag/sub ",
    "#other ",
    "[[a]] ",
    "[[c|x]] ",
    "![[d]] ",
    "[x](Log/c.md) ",
    "[[gone]] ",
    "[y](b) ",
    "\n\n",
    "\n- [ ] do 📅 2026-02-01 #tag\n",
    "\n- [x] done ⏫\n",
    "\n```\n[[a]] #tag\n- [ ] no\n```\n",
    "text ",
];

fn any_note() -> impl Strategy<Value = String> {
    let value = prop::sample::select(vec!["1", "2", "2.5", "yes", "true", "[1, x]", "{a: 1}", "", "2026-01-02"]);
    let property = (prop::sample::select(vec!["k", "l", "tags", "aliases"]), value);
    let text = prop::collection::vec(prop::sample::select(&PARTS[..]), 0..8);
    (prop::collection::btree_map(prop::sample::select(vec!["k", "l", "m", "tags"]), property, 0..3), text).prop_map(
        |(properties, text)| {
            let lines: String = properties.iter().map(|(key, (_, value))| format!("{key}: {value}\n")).collect();
            let above = if lines.is_empty() { String::new() } else { format!("---\n{lines}---\n") };
            above + &text.concat()
        },
    )
}

/// However the notes were published, the sections contain the same facts as a plain scan of the parsed notes.
#[test]
fn sections_tell_what_a_scan_of_the_notes_tells() {
    let mut runner = TestRunner::new(Config { cases: 48, failure_persistence: None, ..Config::default() });
    let step =
        || prop::collection::btree_map(prop::sample::select(&NAMES[..]).prop_map(str::to_owned), any_note(), 1..5);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = runner.run(&prop::collection::vec(step(), 1..4), |steps: Vec<BTreeMap<String, String>>| {
        let notes: BTreeMap<String, Note> =
            steps.iter().flatten().map(|(path, text)| (path.clone(), parse(text))).collect();
        runtime.block_on(compare(&steps, &notes));
        Ok(())
    });
    result.unwrap();
}

async fn compare(steps: &[BTreeMap<String, String>], notes: &BTreeMap<String, Note>) {
    let world = World::of(steps, &json!({}), caller(&[])).await;
    let properties = |note: &Note| note.properties().cloned().unwrap_or_default();

    let mut tags: BTreeMap<String, BTreeSet<&String>> = BTreeMap::new();
    let mut by_parent: BTreeSet<&String> = BTreeSet::new();
    for (path, note) in notes {
        for tag in &note.tags {
            tags.entry(fold(&tag.name)).or_default().insert(path);
            if fold(&tag.name) == "tag" || fold(&tag.name).starts_with("tag/") {
                by_parent.insert(path);
            }
        }
    }
    let listed = world.pages("list_tags", json!({ "limit": 2 }), "items").await;
    let counts: BTreeMap<String, usize> = listed
        .iter()
        .map(|tag| (fold(tag["tag"].as_str().unwrap()), tag["count"].as_u64().unwrap() as usize))
        .collect();
    let expected: BTreeMap<String, usize> = tags.iter().map(|(tag, notes)| (tag.clone(), notes.len())).collect();
    assert_eq!(counts, expected, "a note that spells a tag in two ways counts once");
    let paths = |items: &[Value], field: &str| -> Vec<String> {
        items.iter().map(|item| item[field].as_str().unwrap().to_owned()).collect()
    };
    let found = world.pages("find_notes_by_tag", json!({ "tag": "tag", "limit": 1 }), "items").await;
    assert_eq!(paths(&found, "path"), by_parent.into_iter().cloned().collect::<Vec<_>>());

    let mut keys: BTreeMap<String, usize> = BTreeMap::new();
    for note in notes.values() {
        properties(note).keys().for_each(|key| *keys.entry(key.clone()).or_default() += 1);
    }
    let listed = world.pages("list_properties", json!({ "limit": 1 }), "items").await;
    let counts: BTreeMap<String, usize> = listed
        .iter()
        .map(|one| (one["key"].as_str().unwrap().to_owned(), one["note_count"].as_u64().unwrap() as usize))
        .collect();
    assert_eq!(counts, keys);
    for (path, note) in notes {
        let read = world.ok("read_frontmatter", json!({ "path": path })).await;
        assert_eq!(read["frontmatter"], Value::Object(properties(note)), "{path}");
    }
    let number = |of: &Map<String, Value>, key: &str| of.get(key).and_then(Value::as_f64);
    type Holds = fn(&Map<String, Value>, &dyn Fn(&Map<String, Value>, &str) -> Option<f64>) -> bool;
    let filters: [(Value, Holds); 6] = [
        (json!([{ "key": "k", "op": "gte", "value": 2 }]), |of, number| number(of, "k").is_some_and(|k| k >= 2.0)),
        (json!([{ "key": "k", "op": "lt", "value": 2.5 }]), |of, number| number(of, "k").is_some_and(|k| k < 2.5)),
        (json!([{ "key": "l", "op": "absent" }]), |of, _| !of.contains_key("l")),
        (json!([{ "key": "k", "op": "neq", "value": 1 }, { "key": "k", "op": "exists" }]), |of, number| {
            of.contains_key("k") && number(of, "k") != Some(1.0)
        }),
        (json!([{ "key": "m", "op": "contains", "value": "x" }]), |of, _| {
            of.get("m").and_then(Value::as_array).is_some_and(|items| items.contains(&json!("x")))
        }),
        (
            json!([{ "key": "m", "op": "nin", "value": [true, "2026-01-02"] }]),
            |of, _| !matches!(of.get("m"), Some(m) if *m == json!(true) || *m == json!("2026-01-02")),
        ),
    ];
    for (filter, holds) in filters {
        let expected: Vec<&String> =
            notes.iter().filter(|(_, note)| holds(&properties(note), &number)).map(|(path, _)| path).collect();
        let found = world.pages("find_notes_by_property", json!({ "filter": filter, "limit": 2 }), "items").await;
        assert_eq!(paths(&found, "path").iter().collect::<Vec<_>>(), expected, "{filter}");
    }

    let tasks: Vec<(String, u64, Option<String>)> = notes
        .iter()
        .flat_map(|(path, note)| {
            note.tasks
                .iter()
                .map(move |task| (path.clone(), u64::from(task.line) + 1, fields(&task.text).due.map(str::to_owned)))
        })
        .collect();
    let listed = world.pages("list_tasks", json!({ "limit": 2 }), "items").await;
    let listed: Vec<(String, u64, Option<String>)> = listed
        .iter()
        .map(|task| {
            (
                task["path"].as_str().unwrap().to_owned(),
                task["line"].as_u64().unwrap(),
                task["due"].as_str().map(str::to_owned),
            )
        })
        .collect();
    assert_eq!(listed, tasks);

    let path = |path: &String| VaultPath::parse(path).unwrap();
    let files: Files = notes.keys().map(path).collect();
    let (mut linked, mut nowhere) = (BTreeSet::new(), BTreeSet::new());
    for (from, note) in notes {
        for link in note.links.iter().filter(|link| !link.is_external() && !link.target.is_empty()) {
            match resolve(&link.target, &path(from), &files) {
                Some(to) if to.as_str() != from => drop(linked.insert(to.as_str().to_owned())),
                Some(_) => {}
                None => drop(nowhere.insert((from.clone(), link.target.clone()))),
            }
        }
    }
    let orphans = world.pages("find_orphans", json!({ "limit": 2 }), "items").await;
    let expected: Vec<String> = notes.keys().filter(|path| !linked.contains(*path)).cloned().collect();
    assert_eq!(paths(&orphans, "path"), expected);
    let by_source = world.pages("find_unresolved_links", json!({ "limit": 2, "group_by": "source" }), "items").await;
    let told: BTreeSet<(String, String)> = by_source
        .iter()
        .map(|one| (one["sources"][0]["path"].as_str().unwrap().to_owned(), one["target"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!((told.len(), &told), (by_source.len(), &nowhere));
    for one in &by_source {
        let (from, line) = (one["sources"][0]["path"].as_str().unwrap(), one["sources"][0]["line"].as_u64().unwrap());
        let is_there = |link: &atlas_vault::Link| {
            u64::from(link.line) + 1 == line && link.target == one["target"].as_str().unwrap()
        };
        assert!(notes[from].links.iter().any(is_there), "{one}");
    }
}
