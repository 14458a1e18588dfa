//! Queries over facts of notes, as in obsidian-tc's tools: `tasks_filter`, and the searches.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use atlas_ops::atlas::CurrentContext;
use atlas_vault::{Note, parse};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use crate::support::world::{World, caller};

/// The vault on the first day of 1970, which is today in these worlds.
async fn harbour() -> World {
    let tide = "---\ntags: [sea]\nstatus: open\nrank: 3\n---\n# Tide\n\nHigh tide at noon, #sea/deep\n\n- [ ] Measure 📅 1970-01-01 ⏫ #log\n  - [x] Look ✅ 1969-12-31\n";
    let berth = "---\nstatus: done\nrank: 10\nup: [Tide, Quay]\n---\n## Work\n\n- [/] Paint the hull [due:: 1970-01-05]\n## Later\n- [ ] Rest\n";
    let a = "---\nstatus: open\npath: mine\n---\nThe tide-table, tidal; TIDE\ntide and tide\n\n- [-] Give up 📅 1970-01-02\n";
    World::open(&[("Tide.md", tide), ("Berth.md", berth), ("log/a.md", a), ("log/b.md", "low (tide)\ntide 3\n")]).await
}

fn listed<'a>(answer: &'a Value, field: &str) -> Vec<&'a str> {
    answer["items"].as_array().unwrap().iter().map(|item| item[field].as_str().unwrap()).collect()
}

/// The paths and lines of the results.
fn places(answer: &Value) -> Vec<String> {
    let place = |item: &Value| format!("{}:{}", item["path"].as_str().unwrap(), item["line"]);
    answer["items"].as_array().unwrap().iter().map(place).collect()
}

#[tokio::test]
async fn tasks_are_asked_for_in_the_words_of_the_plugin() {
    let world = harbour().await;
    for (filter, expected) in [
        ("not done", vec!["Paint the hull", "Rest", "Measure #log"]),
        ("due today", vec!["Measure #log"]),
        ("due after today\nsort by due reverse", vec!["Paint the hull", "Give up"]),
        ("(done) AND NOT (path includes log/)", vec!["Look"]),
        ("heading includes later", vec!["Rest"]),
        ("exclude sub-items\nlimit 2", vec!["Paint the hull", "Rest"]),
        ("done in last week", vec![]),
        ("done this week", vec!["Look"]),
    ] {
        let found = world.ok("tasks_filter", json!({ "filter": filter })).await;
        assert_eq!(listed(&found, "description"), expected, "{filter}");
    }
    let grouped =
        json!({ "filter": "group by filename", "group_by": "status reverse", "sort_by": "priority", "limit": 1 });
    let page = world.ok("tasks_filter", grouped.clone()).await;
    assert_eq!((listed(&page, "description"), &page["total_count"]), (vec!["Measure #log"], &json!(5)));
    let groups = json!([
        { "key": "Todo > Berth", "count": 2 },
        { "key": "Todo > Tide", "count": 1 },
        { "key": "Done > Tide", "count": 1 },
        { "key": "Done > a", "count": 1 },
    ]);
    assert_eq!(page["groups"], groups);
    assert_eq!(world.pages("tasks_filter", grouped, "items").await.len(), 5);
    // There it is still the day before.
    let before = json!({ "filter": "due tomorrow", "timezone": "America/New_York" });
    assert_eq!(listed(&world.ok("tasks_filter", before).await, "description"), ["Measure #log"]);
}

#[tokio::test]
async fn today_is_the_day_in_the_zone_of_the_deployment() {
    let mut world = harbour().await;
    let in_zone =
        |name: &str| Arc::new(CurrentContext { time_zone: Some(name.to_owned()), ..CurrentContext::default() });
    world.atlas.current = in_zone("America/New_York");
    let before = json!("1969-12-31");
    for (filter, expected) in [
        (json!({ "filter": "due tomorrow" }), "Measure #log"),
        (json!({ "filter": "due today", "timezone": "UTC" }), "Measure #log"),
    ] {
        assert_eq!(listed(&world.ok("tasks_filter", filter).await, "description"), [expected]);
    }
    let base = "formulas: {day: today()}\nviews: [{order: [formula.day]}]";
    for (query, language) in [("LIST WITHOUT ID date(today)", "dql"), (base, "base")] {
        let told = world.ok("query_notes", json!({ "query": query, "language": language })).await;
        assert_eq!(told["rows"][0][0], before, "{query}");
    }
    assert_eq!(world.ok("get_periodic_note", json!({ "period": "daily" })).await["date"], before);
    let elsewhere = json!({ "period": "daily", "timezone": "Asia/Tokyo" });
    assert_eq!(world.ok("get_periodic_note", elsewhere).await["date"], "1970-01-01");
    world.atlas.current = in_zone("Mars/North");
    for (name, arguments) in [
        ("tasks_filter", json!({ "filter": "done" })),
        ("query_notes", json!({ "query": "LIST" })),
        ("get_periodic_note", json!({ "period": "daily" })),
    ] {
        assert_eq!(world.refused(name, arguments).await, "invalid_input", "{name}");
    }
}

#[tokio::test]
async fn a_query_of_tasks_that_is_not_understood_is_refused_with_its_line() {
    let world = harbour().await;
    let script = json!({ "filter": "not done\nfilter by function true" });
    let refused = world.call("tasks_filter", script).await.unwrap_err();
    assert_eq!((refused.reason(), &refused.details["line"]), ("invalid_input", &json!(2)));
    assert!(refused.message.contains("filter by function"), "{}", refused.message);
    for (arguments, reason) in [
        (json!({ "filter": "done", "sort_by": "urgency" }), "invalid_input"),
        (json!({ "filter": "done", "group_by": "x" }), "invalid_input"),
        (json!({ "filter": "done", "timezone": "Mars/North" }), "invalid_input"),
        (json!({ "filter": "" }), "validation_error"),
        (json!({ "filter": "x".repeat(4001) }), "validation_error"),
        (json!({ "filter": "done", "cursor": "x" }), "cursor_invalid"),
    ] {
        assert_eq!(world.refused("tasks_filter", arguments.clone()).await, reason, "{arguments}");
    }
}

#[tokio::test]
async fn a_query_whose_time_is_up_says_so() {
    let mut world = harbour().await;
    world.atlas.limits.max_scan_time = Duration::ZERO;
    for (name, arguments) in [
        ("tasks_filter", json!({ "filter": "not done" })),
        ("search_jsonlogic", json!({ "logic": { "==": [1, 2] } })),
        ("search_jsonlogic", json!({ "logic": { "in": ["x", { "var": "content" }] } })),
    ] {
        assert_eq!(world.refused(name, arguments).await, "operation_timeout", "{name}");
    }
}

#[tokio::test]
async fn a_text_is_found_in_its_lines() {
    let world = harbour().await;
    let all = ["Berth.md:4", "Tide.md:6", "Tide.md:8", "log/a.md:5", "log/a.md:6", "log/b.md:1", "log/b.md:2"];
    for (arguments, expected) in [
        (json!({ "query": "tide" }), &all[..]),
        (json!({ "query": "Tide", "case_sensitive": true }), &all[..2]),
        (json!({ "query": "tide", "whole_word": true, "root": "log/", "case_sensitive": true }), &all[3..]),
        (json!({ "query": "(TIDE)", "root": "log" }), &all[5..6]),
        (json!({ "query": "tid", "whole_word": true }), &[]),
        (json!({ "query": "tidal", "whole_word": true }), &all[3..4]),
        (json!({ "query": "t.de" }), &[]),
    ] {
        let mut found = places(&world.ok("search_text", arguments.clone()).await);
        found.sort();
        assert_eq!(found, expected, "{arguments}");
    }
    let found = world.ok("search_text", json!({ "query": "noon" })).await;
    let noon =
        json!([{ "path": "Tide.md", "line": 8, "col": 14, "snippet": "High tide at noon, #sea/deep", "score": 1.25 }]);
    assert_eq!((&found["items"], &found["total_count"]), (&noon, &json!(1)));
    assert_eq!(world.pages("search_text", json!({ "query": "tide", "limit": 2 }), "items").await.len(), 7);
    assert_eq!(world.ok("search_text", json!({ "query": "tide", "limit": 2000 })).await["overflow"], true);
    let page = world.ok("search_text", json!({ "query": "tide", "limit": 2 })).await;
    let other = json!({ "query": "tide", "root": "log", "cursor": page["cursor"] });
    assert_eq!(world.refused("search_text", other).await, "cursor_invalid");
    assert_eq!(world.refused("search_text", json!({ "query": "a\nb" })).await, "invalid_input");
    assert_eq!(world.refused("search_text", json!({ "query": "a", "root": "../x" })).await, "path_invalid");
}

#[tokio::test]
async fn a_regular_expression_is_found_so_often_in_a_file() {
    let world = harbour().await;
    let found = world.ok("search_regex", json!({ "pattern": "t.D[A-Z]", "flags": "i", "root": "log" })).await;
    assert_eq!(places(&found), ["log/a.md:5", "log/a.md:6", "log/b.md:1", "log/b.md:2"]);
    let first =
        json!({ "path": "log/a.md", "line": 5, "col": 5, "match": "tide", "snippet": "The tide-table, tidal; TIDE" });
    assert_eq!(found["items"][0], first);
    for limit in [1, 2, 100] {
        let asked = json!({ "pattern": "tide", "max_matches_per_file": 1, "limit": limit });
        let found = world.pages("search_regex", asked, "items").await;
        let paths: Vec<&Value> = found.iter().map(|item| &item["path"]).collect();
        assert_eq!(paths, ["Berth.md", "Tide.md", "log/a.md", "log/b.md"], "{limit}");
    }
    for (pattern, flags, expected) in [
        ("TIDE", "", &["log/a.md:5"][..]),
        ("tide \\d", "u", &["log/b.md:2"]),
        ("^low.\\(TIDE\\)$", "imsu", &["log/b.md:1"]),
    ] {
        let found = world.ok("search_regex", json!({ "pattern": pattern, "flags": flags })).await;
        assert_eq!(places(&found), expected, "{pattern} {flags}");
    }
    for arguments in [json!({ "pattern": "(" }), json!({ "pattern": "a", "flags": "x" })] {
        assert_eq!(world.refused("search_regex", arguments.clone()).await, "invalid_input", "{arguments}");
    }
}

#[tokio::test]
async fn notes_are_found_by_logic_over_what_they_are() {
    let world = harbour().await;
    let is = |name: &str, value: &str| json!({ "==": [{ "var": name }, value] });
    for (logic, expected) in [
        (is("status", "open"), vec!["Tide.md", "log/a.md"]),
        (json!({ ">": [{ "var": "frontmatter.rank" }, 2] }), vec!["Berth.md", "Tide.md"]),
        (json!({ "in": ["Quay", { "var": "up" }] }), vec!["Berth.md"]),
        (is("path", "log/a.md"), vec!["log/a.md"]),
        (is("frontmatter.path", "mine"), vec!["log/a.md"]),
        (is("folder", "log"), vec!["log/a.md", "log/b.md"]),
        (json!({ "and": [is("name", "Tide"), is("extension", "md")] }), vec!["Tide.md"]),
        (json!({ "some": [{ "var": "tags" }, { "in": ["sea/", { "var": "" }] }] }), vec!["Tide.md"]),
        (json!({ "in": ["(tide)", { "var": "content" }] }), vec!["log/b.md"]),
        (json!({ "missing": ["status"] }), vec!["log/b.md"]),
    ] {
        let found = world.ok("search_jsonlogic", json!({ "logic": logic })).await;
        assert_eq!(listed(&found, "path"), expected, "{logic}");
    }
    let always = json!({ "logic": { "!": [false] }, "root": "log", "limit": 1 });
    let found = world.ok("search_jsonlogic", always).await;
    assert_eq!(found["items"], json!([{ "path": "log/a.md", "matched": true }]));
    let many: Vec<u32> = (0..200).collect();
    for (logic, reason) in [
        (json!({ "sum": [1] }), "jsonlogic_error"),
        (json!({}), "jsonlogic_error"),
        (json!([]), "validation_error"),
        (json!({ "map": [many.clone(), { "map": [many, 1] }] }), "compute_budget_exceeded"),
    ] {
        assert_eq!(world.refused("search_jsonlogic", json!({ "logic": logic })).await, reason, "{logic}");
    }
}

#[tokio::test]
async fn logic_over_texts_ends_at_the_limits() {
    let mut world = harbour().await;
    let named = json!({ "logic": { "in": ["tide", { "var": "content" }] } });
    assert_eq!(world.ok("search_jsonlogic", named.clone()).await["partial"], Value::Null);
    world.atlas.limits.max_scanned_bytes = 0;
    let found = world.ok("search_jsonlogic", named.clone()).await;
    assert!(found["partial"].as_str().unwrap().contains("root") && listed(&found, "path").is_empty(), "{found}");
    world.atlas.limits.max_scan_time = std::time::Duration::ZERO;
    let always = json!({ "logic": { "!": [false] } });
    assert_eq!(world.refused("search_jsonlogic", always).await, "operation_timeout");
}

#[tokio::test]
async fn one_search_chooses_the_way() {
    let world = harbour().await;
    let rank = json!({ "==": [{ "var": "rank" }, 3] });
    for (query, mode, way, expected) in [
        (json!("hull"), "auto", "text", vec!["Berth.md:8"]),
        (json!("e-ta"), "auto", "literal", vec!["log/a.md:5"]),
        (json!("/^low/"), "auto", "regex", vec!["log/b.md:1"]),
        (json!("/^LOW/"), "auto", "regex", vec![]),
        (json!("/^LOW/i"), "auto", "regex", vec!["log/b.md:1"]),
        (json!("^LOW"), "regex", "regex", vec!["log/b.md:1"]),
        (rank.clone(), "auto", "jsonlogic", vec!["Tide.md:null"]),
        (json!(rank.to_string()), "jsonlogic", "jsonlogic", vec!["Tide.md:null"]),
    ] {
        let asked = json!({ "query": query, "mode": mode, "explain": true });
        let found = world.ok("search_vault", asked).await;
        assert_eq!(
            (places(&found).join(" "), &found["_explain"]["chosen"]),
            (expected.join(" "), &json!(way)),
            "{query}"
        );
        assert!(listed(&found, "mode_used").iter().all(|used| *used == way));
    }
    let tried = world.ok("search_vault", json!({ "query": "e-ta", "explain": true })).await;
    assert_eq!(tried["_explain"]["modes_tried"], json!(["text", "literal"]));
    let misspelt = world.ok("search_vault", json!({ "query": "hulll" })).await;
    assert_eq!(misspelt["corrections"], json!([{ "word": "hulll", "instead": ["hull"] }]), "{misspelt}");
    assert_eq!(misspelt.get("notice"), None, "only who asks for meaning is told that there is none");
    let meant = world.ok("search_vault", json!({ "query": "hull", "mode": "hybrid" })).await;
    assert!(meant["notice"].as_str().is_some_and(|notice| notice.contains("model")), "{meant}");
    let ranked = world.ok("search_vault", json!({ "query": "tide", "root": "log" })).await;
    assert!(ranked.get("_explain").is_none() && places(&ranked).len() == 2, "{ranked}");
    for query in [json!("tide"), json!("/tide/"), json!({ "!": [false] }), json!("e")] {
        let all = world.ok("search_vault", json!({ "query": query })).await;
        let paged = world.pages("search_vault", json!({ "query": query, "limit": 1 }), "items").await;
        assert!(paged.len() > 1 && json!(paged) == all["items"], "{query}: {paged:?}");
    }
}

#[tokio::test]
async fn a_search_that_is_not_offered_is_refused() {
    let world = harbour().await;
    let page = world.ok("search_vault", json!({ "query": "tide", "limit": 1 })).await;
    for other in [json!({ "query": "/tide/" }), json!({ "query": "low" }), json!({ "query": "tide", "root": "log" })] {
        let mut asked = other.clone();
        asked["cursor"] = page["cursor"].clone();
        assert_eq!(world.refused("search_vault", asked).await, "cursor_invalid", "{other}");
    }
    for (arguments, reason) in [
        (json!({ "query": "x", "mode": "semantic" }), "embedding_provider_error"),
        (json!({ "query": { "!": 1 }, "mode": "text" }), "invalid_input"),
        (json!({ "query": "x", "mode": "jsonlogic" }), "jsonlogic_error"),
        (json!({ "query": "/(/" }), "invalid_input"),
        (json!({ "query": "" }), "invalid_input"),
        (json!({ "query": 7 }), "validation_error"),
    ] {
        assert_eq!(world.refused("search_vault", arguments.clone()).await, reason, "{arguments}");
    }
    assert_eq!(world.refused("search_vault", json!({ "query": "LIST", "mode": "dql" })).await, "invalid_input");
}

const NAMES: [&str; 5] = ["a.md", "b.md", "Log/a.md", "Log/c.md", "Log/deep/d.md"];

fn any_note() -> impl Strategy<Value = String> {
    let value = prop::sample::select(vec!["1", "2", "2.5", "yes", "true", "[1, x]", "{a: 1}", "", "2026-01-02"]);
    let properties = prop::collection::btree_map(prop::sample::select(vec!["k", "l", "tags"]), value, 0..3);
    let parts = ["#tag ", "word ", "\n", "wörd", "\n- [ ] do 📅 1970-01-02\n", "\n- [x] did #t\n"];
    let parts = prop::collection::vec(prop::sample::select(parts.to_vec()), 0..6);
    (properties, parts).prop_map(|(properties, parts)| {
        let lines: String = properties.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
        format!("---\n{lines}---\n{}", parts.concat())
    })
}

/// However the notes were published, queries answer as a plain scan of the parsed notes does.
#[test]
fn queries_tell_what_a_scan_of_the_notes_tells() {
    let mut runner = TestRunner::new(Config { cases: 32, failure_persistence: None, ..Config::default() });
    let name = prop::sample::select(&NAMES[..]).prop_map(str::to_owned);
    let step = prop::collection::btree_map(name, any_note(), 1..5);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = runner.run(&prop::collection::vec(step, 1..4), |steps: Vec<BTreeMap<String, String>>| {
        let notes: BTreeMap<&String, &String> = steps.iter().flatten().collect();
        let notes = notes.into_iter().map(|(path, text)| (path.as_str(), (text.as_str(), parse(text)))).collect();
        runtime.block_on(compare(&steps, &notes));
        Ok(())
    });
    result.unwrap();
}

type Holds = fn(&str, &str, &Note, &Map<String, Value>) -> bool;

/// Conditions, and the same in Rust for a path, text, note and its properties.
fn conditions() -> [(Value, Holds); 6] {
    [
        (json!({ ">=": [{ "var": "k" }, 2] }), |_, _, _, of| {
            of.get("k").and_then(Value::as_f64).is_some_and(|k| k >= 2.0)
        }),
        (json!({ "===": [{ "var": "frontmatter.l" }, true] }), |_, _, _, of| of.get("l") == Some(&json!(true))),
        (json!({ "in": ["x", { "merge": [{ "var": "k" }] }] }), |_, _, _, of| {
            of.get("k").and_then(Value::as_array).is_some_and(|items| items.contains(&json!("x")))
        }),
        (json!({ "in": ["tag", { "var": "tags" }] }), |_, _, note, _| note.tags.iter().any(|tag| tag.name == "tag")),
        (json!({ "and": [{ "in": ["wörd", { "var": "content" }] }, { "missing": "k" }] }), |_, text, _, of| {
            text.contains("wörd") && of.get("k").is_none_or(Value::is_null)
        }),
        (json!({ "==": [{ "substr": [{ "var": "folder" }, 0, 3] }, "Log"] }), |path, _, _, _| path.starts_with("Log/")),
    ]
}

async fn compare(steps: &[BTreeMap<String, String>], notes: &BTreeMap<&str, (&str, Note)>) {
    let world = World::of(steps, &json!({}), caller(&[])).await;
    for (logic, holds) in conditions() {
        let is_it = |path: &str| {
            let (text, note) = &notes[path];
            holds(path, text, note, &note.properties().cloned().unwrap_or_default())
        };
        let expected: Vec<&str> = notes.keys().copied().filter(|path| is_it(path)).collect();
        let found = world.pages("search_jsonlogic", json!({ "logic": logic, "limit": 2 }), "items").await;
        let found: Vec<&str> = found.iter().map(|item| item["path"].as_str().unwrap()).collect();
        assert_eq!(found, expected, "{logic}");
    }
    for (name, arguments, text) in [
        ("search_text", json!({ "query": "WORD", "limit": 1 }), "word"),
        ("search_regex", json!({ "pattern": "w[ö]RD", "limit": 2 }), "wörd"),
        ("tasks_filter", json!({ "filter": "due tomorrow", "limit": 1 }), "- [ ] do"),
        ("tasks_filter", json!({ "filter": "done\ntags include #t", "limit": 1 }), "- [x] did"),
    ] {
        let found = world.pages(name, arguments.clone(), "items").await;
        let mut found: Vec<(&str, u64)> =
            found.iter().map(|item| (item["path"].as_str().unwrap(), item["line"].as_u64().unwrap())).collect();
        // The others are in this order.
        if name == "search_text" {
            found.sort_unstable();
        }
        let mut expected = Vec::new();
        for (path, (note, parsed)) in notes {
            let is_task = |line: u64| parsed.tasks.iter().any(|task| u64::from(task.line) + 1 == line);
            let lines = (1..).zip(note.lines()).filter(|(_, line)| line.contains(text));
            let lines = lines.filter(|(line, _)| name != "tasks_filter" || is_task(*line));
            expected.extend(lines.map(|(line, _)| (*path, line)));
        }
        assert_eq!(found, expected, "{name} {arguments}");
    }
}
