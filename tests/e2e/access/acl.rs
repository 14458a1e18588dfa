//! Access lists: hidden notes affect no result, count or score.

use std::collections::{BTreeMap, BTreeSet};

use atlas_access::scope::ALL;
use atlas_access::{Caller, Scopes};
use atlas_testkit::VaultBuilder;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::support::agent::listed;
use crate::support::deployment::Deployment;
use crate::support::models;
use crate::support::random;
use crate::support::reading::{arguments_of, is_about_a_path, reading};
use crate::support::tokens::{SECRET, bearer, send, token, token_of};
use crate::support::world::{World, caller, caller_within};

/// The paths that an access list allows, by a second, simple implementation: a path is read if its list has it as it is written, and if the last
/// rule that matches it, as it is written and in any case, asks for nothing that the caller does not hold.
fn may_read(acl: &Value, held: &[String], path: &str) -> bool {
    let globs = |text: &str, path: &str| {
        let (text, path) = (text.split("**").collect::<Vec<_>>(), path);
        match text.as_slice() {
            [whole] => *whole == path,
            [head, tail] => path.len() >= head.len() + tail.len() && path.starts_with(head) && path.ends_with(tail),
            _ => unreachable!(),
        }
    };
    let listed = match acl["readPaths"].as_array() {
        Some(list) => list.iter().any(|glob| globs(glob.as_str().unwrap(), path)),
        None => acl["strictReadDefault"] != true,
    };
    let rules = acl["rules"].as_array().cloned().unwrap_or_default();
    let asked = |fold: &dyn Fn(&str) -> String| {
        let rule = rules.iter().rev().find(|rule| globs(&fold(rule["glob"].as_str().unwrap()), &fold(path)));
        rule.map_or_else(|| acl["defaultScopes"].clone(), |rule| rule["scopes"].clone())
    };
    let holds =
        |scopes: Value| scopes.as_array().into_iter().flatten().all(|scope| held.iter().any(|one| scope == one));
    listed && holds(asked(&str::to_owned)) && holds(asked(&str::to_lowercase))
}

const FOLDERS: [&str; 7] = ["vault/", "vault/Team/", "vault/team/deep/", "vault/Private/", "agent/", "memory/", ""];
const NAMES: [&str; 7] = ["now", "Tides", "tides", "Berth", "Ledger", "harbour log", "Ärger"];
const WORDS: [&str; 23] = [
    "tide",
    "tides",
    "berth",
    "ledger",
    "harbour",
    "harbor",
    "pilot",
    "piloten",
    "zebra",
    "zebras",
    "[[Tides]]",
    "[[Berth|quay]]",
    "#port",
    "#port/east",
    "\n## Tides\n",
    "\n- [ ] pilot\n",
    "\n\n",
    "\n- [ ] moor 📅 2026-03-01 #port\n",
    "[[Ledger]]",
    "[[Tides|ebbing waters]]",
    "[[vault/Berth|mooring places]]",
    "\n## Related\n- near [[Tides]]\n- of [[memory/Berth]]\n",
    "\n## Observations\n- high\n",
];

pub(super) fn any_note() -> impl Strategy<Value = (String, String)> {
    let path = (prop::sample::select(&FOLDERS[..]), prop::sample::select(&NAMES[..]));
    let text = prop::collection::vec(prop::sample::select(&WORDS[..]), 1..40);
    let above = prop::sample::select(vec![
        "",
        "",
        "---\nrank: 1\ntags: [Port, quay]\n---\n",
        "---\nrank: high\n---\n",
        "---\nentity_type: port\n---\n",
    ]);
    (path, above, text).prop_map(|((folder, name), above, words)| {
        (format!("{folder}{name}.md"), format!("{above}{}", words.join(" ")))
    })
}

fn any_acl() -> impl Strategy<Value = (Value, Vec<String>)> {
    let glob = prop::sample::select(vec![
        "**",
        "vault/**",
        "vault/Team/**",
        "vault/team/**",
        "vault/Private/**",
        "agent/**",
        "memory/**",
        "**Tides.md",
        "**tides.md",
        "vault/Berth.md",
        "v**.md",
    ]);
    let scopes = prop::collection::vec(prop::sample::select(vec!["team:a", "team:b"]), 0..2);
    let globs = prop::collection::vec(glob.clone(), 0..4);
    let rules = prop::collection::vec((glob, scopes.clone()), 0..4);
    (prop::option::weighted(0.6, globs), rules, scopes.clone(), scopes, prop::bool::weighted(0.1)).prop_map(
        |(read, rules, default, held, strict)| {
            let rules: Vec<Value> =
                rules.iter().map(|(glob, scopes)| json!({ "glob": glob, "scopes": scopes })).collect();
            let mut acl = json!({ "rules": rules, "defaultScopes": default, "strictReadDefault": strict });
            if let Some(read) = read {
                acl["readPaths"] = json!(read);
            }
            (acl, held.into_iter().map(str::to_owned).collect())
        },
    )
}

/// Calls that look at the vault, each with the field of its pages if it has some.
pub(super) fn questions() -> Vec<(&'static str, Value, Option<&'static str>)> {
    let mut questions = vec![
        ("context_current", json!({}), None),
        ("query", json!({ "question": "Where is \"tide\" defined?" }), None),
        ("list_notes", json!({ "limit": 2 }), Some("items")),
        ("list_notes", json!({ "prefix": "vault/" }), Some("items")),
    ];
    for term in ["tide", "TIDES", "berth", "zebra", "pilot", "ledger harbour", "ärger", "nowhere"] {
        questions.push(("find", json!({ "term": term }), None));
        questions.push(("find", json!({ "term": term, "max_results": 1 }), None));
    }
    for query in [
        "tide",
        "zebr*",
        "zebrq",
        "harbour pilot",
        "tidal harbours",
        "haborur",
        "pil oten",
        "ebb moored",
        "waters place",
        "\"berth ledger\"",
        "tag:port",
        "-tide berth",
        "piloten -tag:port",
        "path:team",
    ] {
        questions.push(("search", json!({ "query": query, "limit": 3, "explain": true }), Some("results")));
    }
    for task in ["tide and berth", "zebra", "piloten"] {
        questions.push(("atlas_pack", json!({ "task": task, "budget": 900 }), None));
        questions.push(("atlas_find_duplicates", json!({ "intent": task }), None));
        questions.push(("connector_search", json!({ "query": task }), None));
    }
    questions.push(("vault_search", json!({ "query": "tide" }), None));
    for name in ["Tides", "Berth"] {
        questions.push(("get_entity", json!({ "name": name }), None));
    }
    let seed = json!({ "seed_entity_id": "memory/Tides.md", "depth": 5, "limit": 1 });
    questions.push(("query_entity_graph", seed, Some("items")));
    for (name, arguments) in [
        ("list_tags", json!({})),
        ("find_notes_by_tag", json!({ "tag": "port" })),
        ("list_properties", json!({})),
        ("find_notes_by_property", json!({ "filter": [{ "key": "rank", "op": "neq", "value": 1 }] })),
        ("list_tasks", json!({ "tags": ["port"] })),
        ("find_orphans", json!({ "root": "vault" })),
        ("find_unresolved_links", json!({})),
        ("find_unresolved_links", json!({ "group_by": "source" })),
    ] {
        let mut arguments = arguments;
        arguments["limit"] = 2.into();
        questions.push((name, arguments, Some("items")));
    }
    for query in ["tide", "mooring", "captain of the haven", "horse -tide", "\"berth ledger\""] {
        for mode in ["text", "hybrid", "semantic"] {
            let asked = json!({ "query": query, "mode": mode, "limit": 2, "explain": true });
            questions.push(("search", asked, Some("results")));
        }
        questions.push(("search_semantic", json!({ "query": query, "k": 7 }), None));
        questions.push(("vault_graph_search", json!({ "query": query, "final_top_k": 9 }), None));
        questions.push(("search_vault", json!({ "query": query, "mode": "semantic", "limit": 2 }), Some("items")));
    }
    for (query, mode) in [("tide", "literal"), ("z.bra", "regex"), ("^## ", "regex"), ("[[", "literal")] {
        questions.push((
            "search",
            json!({ "query": query, "mode": mode, "limit": 2, "context_lines": 1 }),
            Some("results"),
        ));
    }
    for query in [json!("tide"), json!("/z.bra/"), json!({ "in": ["tide", { "var": "content" }] }), json!("e p")] {
        questions.push(("search_vault", json!({ "query": query, "limit": 2, "explain": true }), Some("items")));
    }
    questions.push(("search_text", json!({ "query": "berth", "limit": 2 }), Some("items")));
    questions.push(("search_regex", json!({ "pattern": "^.*tide", "max_matches_per_file": 1 }), Some("items")));
    questions.push((
        "search_jsonlogic",
        json!({ "logic": { "some": [{ "var": "tags" }, { "in": ["port", { "var": "" }] }] } }),
        Some("items"),
    ));
    for query in [
        "TABLE rank, file.inlinks, file.outlinks, file.tags, file.aliases FROM \"vault\" SORT file.name DESC",
        "TABLE rows.file.link, length(rows) WHERE contains(file.outlinks, [[Tides]]) OR rank > 0 GROUP BY rank",
        "LIST length(file.inlinks) FROM [[Tides]] OR outgoing([[vault/Berth]])",
        "LIST [[Tides]].rank WHERE contains(file.inlinks.rank, 1)",
        "TASK FROM #port OR -\"vault/Private\"",
    ] {
        questions.push(("query_notes", json!({ "query": query, "limit": 2 }), Some("rows")));
    }
    let base = "filters:\n  or:\n    - file.hasLink(\"Tides\")\n    - rank == 1\nformulas:\n  in: file.backlinks.length\nviews:\n  - type: table\n    name: All\n    order: [file.name, rank, formula.in, file.links]\n";
    questions.push(("query_notes", json!({ "query": base, "language": "base" }), Some("rows")));
    questions.push(("tasks_filter", json!({ "filter": "not done\ngroup by folder" }), None));
    // Whatever else reads.
    let named: BTreeSet<&str> = questions.iter().map(|(name, ..)| *name).collect();
    let others = reading().filter(|entry| !named.contains(entry.info.name) && !is_about_a_path(entry));
    questions.extend(others.map(|entry| (entry.info.name, arguments_of(entry, ""), None)));
    questions
}

#[test]
fn hidden_notes_affect_no_result_count_or_score() {
    let mut runner = TestRunner::new(random::cases(24));
    let notes = || prop::collection::btree_map("[0-9]{3}", any_note(), 1..12);
    let strategy = (prop::collection::vec(notes(), 1..3), any_acl());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let hidden = std::cell::Cell::new(0);
    let result = runner.run(&strategy, |(steps, (acl, held))| {
        let steps: Vec<BTreeMap<String, String>> = steps.into_iter().map(|step| step.into_values().collect()).collect();
        hidden.set(hidden.get() + runtime.block_on(compare(&steps, &acl, &held, None)));
        Ok(())
    });
    result.unwrap();
    assert!(hidden.get() > 0, "no case hid anything");
}

#[test]
fn notes_outside_of_a_tokens_folders_affect_no_result_count_or_score() {
    let mut runner = TestRunner::new(random::cases(12));
    let notes = || prop::collection::btree_map("[0-9]{3}", any_note(), 1..12);
    let folder = prop::sample::select(vec!["vault", "vault/Team", "vault/team/deep", "agent", "memory", "vau"]);
    let folders = prop::collection::vec(folder, 0..3);
    let strategy = (prop::collection::vec(notes(), 1..3), any_acl(), folders);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let hidden = std::cell::Cell::new(0);
    let result = runner.run(&strategy, |(steps, (acl, held), folders)| {
        let steps: Vec<BTreeMap<String, String>> = steps.into_iter().map(|step| step.into_values().collect()).collect();
        let folders: Vec<String> = folders.into_iter().chain(["open"]).map(str::to_owned).collect();
        hidden.set(hidden.get() + runtime.block_on(compare(&steps, &acl, &held, Some(&folders))));
        Ok(())
    });
    result.unwrap();
    assert!(hidden.get() > 0, "no case hid anything");
}

/// A vault, of which the caller may read some, answers as the vault that has only that; the number of notes that it hides.
async fn compare(
    steps: &[BTreeMap<String, String>],
    acl: &Value,
    held: &[String],
    folders: Option<&[String]>,
) -> usize {
    let is_within =
        |path: &str| folders.is_none_or(|folders| folders.iter().any(|folder| path.starts_with(&format!("{folder}/"))));
    let visible = |step: &BTreeMap<String, String>| {
        step.clone().into_iter().filter(|(path, _)| may_read(acl, held, path) && is_within(path)).collect()
    };
    // A note that nobody is denied, so that both are published as often.
    let first = |step: usize| BTreeMap::from([(format!("open/{step}.md"), format!("step {step}"))]);
    let mut acl = acl.clone();
    if let Some(list) = acl["readPaths"].as_array_mut() {
        list.push("open/**".into());
    }
    acl["rules"].as_array_mut().unwrap().push(json!({ "glob": "open/**", "scopes": [] }));
    let acl = &acl;
    let with_first = |steps: Vec<BTreeMap<String, String>>| -> Vec<BTreeMap<String, String>> {
        steps.into_iter().enumerate().map(|(step, notes)| notes.into_iter().chain(first(step)).collect()).collect()
    };
    let shown: Vec<BTreeMap<String, String>> = with_first(steps.iter().map(visible).collect());
    let steps = with_first(steps.to_vec());
    if acl["strictReadDefault"] == true && acl["readPaths"].is_null() {
        return 0;
    }
    let restricted = World::of(&steps, acl, caller_within(held, folders)).await;
    let whole = World::of(&shown, &json!({}), caller(held)).await;
    // Half of the vaults have an embedding model.
    if steps.len() > 1 {
        for world in [&restricted, &whole] {
            models::add(&world.atlas.vault(None).unwrap().mirror, 3).await;
        }
    }
    for (name, arguments, pages) in questions() {
        let told = async |world: &World| match pages {
            Some(field) => Value::from(world.pages(name, arguments.clone(), field).await),
            None => world.told(name, arguments.clone()).await,
        };
        let (found, expected) = (told(&restricted).await, told(&whole).await);
        // The note of a day is at one path, and so is an entity.
        let is_of_path = ["get_periodic_note", "query_entity_graph"].contains(&name);
        let is_refused = is_of_path && found.to_string().contains("acl_denied");
        assert!(found == expected || is_refused, "{name} {arguments} with {acl} and {held:?}:\n{found}\n{expected}");
    }
    let all: BTreeMap<&String, &String> = steps.iter().flatten().collect();
    let mut hidden = 0;
    for path in all.keys() {
        let more = [
            ("get_backlinks", json!({ "path": path, "include_context": true })),
            ("get_entity", json!({ "entity_id": path })),
        ];
        let about = reading().filter(|entry| is_about_a_path(entry));
        for (name, arguments) in about.map(|entry| (entry.info.name, arguments_of(entry, path))).chain(more) {
            let found = restricted.told(name, arguments.clone()).await;
            let expected = whole.told(name, arguments).await;
            if may_read(acl, held, path) && is_within(path) {
                assert_eq!(found, expected, "{name} {path}");
            } else {
                hidden += 1;
                assert!(found == expected || found.to_string().contains("acl_denied"), "{name} {path}: {found}");
            }
        }
    }
    // Moving a note rewrites the links that the caller sees, as if there were no others.
    if let Some(path) = shown.iter().flatten().map(|(path, _)| path).find(|path| path.contains("ides.md")) {
        let moved = json!({ "path": path, "to": "open/Moved.md" });
        let mut told = [Value::Null, Value::Null];
        for (world, told) in [&restricted, &whole].into_iter().zip(&mut told) {
            *told = world.told("move_note", moved.clone()).await;
            let mut texts = Vec::new();
            for listed in world.pages("list_notes", json!({}), "items").await {
                texts.push(world.told("read_note", json!({ "path": listed["path"] })).await["content"].clone());
            }
            told["texts"] = texts.into();
        }
        assert_eq!(told[0], told[1], "{moved} with {acl} and {held:?}");
    }
    hidden
}

#[tokio::test]
async fn every_operation_asks_before_it_looks() {
    let notes =
        BTreeMap::from([("Private/a.md".to_owned(), "secret".to_owned()), ("Open/b.md".to_owned(), "x".to_owned())]);
    let acl = json!({ "readPaths": ["Open/**", "Shelf/**"], "writePaths": ["Open/**", "Private/**"], "deletePaths": ["Private/**"] });
    let world = World::of(&[notes], &acl, caller(&[])).await;
    let denied = async |name: &str, arguments: Value| {
        let told = world.told(name, arguments).await;
        assert_eq!(told["details"]["reason"], "acl_denied", "{name}: {told}");
        told.to_string()
    };
    for path in [
        "Private/a.md",
        "private/a.md",
        "Private./a.md",
        "PRIVATE/a.md",
        "Open /b.md",
        "open/b.md",
        "Open/../Private/a.md",
    ] {
        if path.contains("..") {
            assert_eq!(world.told("read_note", json!({ "path": path })).await["details"]["reason"], "path_invalid");
            continue;
        }
        denied("read_note", json!({ "path": path })).await;
    }
    for (name, more) in [
        ("read_note", json!({})),
        ("read_note", json!({ "generation": 1 })),
        ("note_history", json!({})),
        ("write_note", json!({ "content": "x" })),
        ("write_note", json!({ "content": "x", "if_match": "*" })),
        ("upsert_note", json!({ "content": "x" })),
        ("edit_note", json!({ "edits": [{ "op": "append", "text": "x" }] })),
        ("write_note", json!({ "content": "x", "mode": "upsert" })),
        ("append_note", json!({ "content": "x" })),
        ("patch_note", json!({ "old_string": "secret", "new_string": "x" })),
        ("delete_note", json!({})),
        ("restore_note", json!({})),
        ("move_note", json!({ "to": "Open/c.md" })),
    ] {
        let mut told = ["Private/a.md", "Private/b.md"].map(|_| String::new());
        for (path, told) in ["Private/a.md", "Private/b.md"].into_iter().zip(&mut told) {
            let mut arguments = more.clone();
            arguments["path"] = path.into();
            *told = denied(name, arguments).await.replace(path, "PATH");
        }
        assert_eq!(told[0], told[1], "{name} tells whether there is a note");
    }
    for path in ["Private/a.md", "Private/b.md"] {
        denied("copy_note", json!({ "from": path, "to": "Open/c.md" })).await;
        denied("copy_note", json!({ "from": "Open/b.md", "to": path })).await;
        let items =
            json!([{ "path": "Open/c.md", "content": "x" }, { "path": path, "content": "x", "mode": "upsert" }]);
        denied("bulk_create_notes", json!({ "items": items })).await;
        denied("bulk_set_property", json!({ "paths": ["Open/b.md", path], "key": "k", "value": 1 })).await;
        denied("bulk_move_notes", json!({ "moves": [{ "from": path, "to": "Open/c.md" }] })).await;
        let there = world.told("note_exists", json!({ "path": path })).await;
        assert_eq!(there, json!({ "exists": false }));
        let read = world.told("read_notes", json!({ "paths": [path] })).await;
        assert_eq!(read["results"][0]["error"]["code"], "acl_denied");
    }
    denied("write_note", json!({ "path": "Shelf/a.md", "content": "x" })).await;
    denied("delete_note", json!({ "path": "Open/b.md" })).await;
    denied("move_note", json!({ "path": "Open/b.md", "to": "Open/c.md" })).await;
    assert_eq!(world.told("write_note", json!({ "path": "Open/c.md", "content": "x" })).await["created"], true);
}

#[tokio::test]
async fn a_move_changes_no_note_that_may_not_be_written() {
    let notes =
        [("Open/a.md", "x"), ("Open/b.md", "[[a]]"), ("Shelf/c.md", "[[Open/a]]"), ("Private/d.md", "[[Open/a]]")];
    let notes: BTreeMap<String, String> =
        notes.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let open = json!({ "readPaths": ["Open/**", "Shelf/**"] });
    let world = World::of(std::slice::from_ref(&notes), &open, caller(&[])).await;
    let moved = world.told("move_note", json!({ "path": "Open/a.md", "to": "Open/e.md" })).await;
    assert_eq!((&moved["links"], &moved["notes"]), (&json!(2), &json!(2)), "{moved}");

    let shelf = json!({ "readPaths": ["Open/**", "Shelf/**"], "writePaths": ["Open/**"] });
    let world = World::of(&[notes], &shelf, caller(&[])).await;
    let refused = world.told("move_note", json!({ "path": "Open/a.md", "to": "Open/e.md" })).await;
    assert_eq!(
        (&refused["details"]["reason"], &refused["details"]["path"]),
        (&json!("acl_denied"), &json!("Shelf/c.md"))
    );
    assert_eq!(world.told("read_note", json!({ "path": "Open/b.md" })).await["content"], "[[a]]");
}

#[tokio::test]
async fn a_read_only_vault_is_read() {
    let notes = BTreeMap::from([("a.md".to_owned(), "x".to_owned())]);
    let world = World::of(&[notes], &json!({ "readOnly": true }), caller(&[])).await;
    for operation in listed().filter(|entry| entry.info.writes()) {
        let arguments = match operation.info.name {
            "write_note" | "upsert_note" | "note_upsert" => json!({ "path": "a.md", "content": "x" }),
            "append_note" => json!({ "path": "a.md", "content": "x" }),
            "patch_note" => json!({ "path": "a.md", "old_string": "x", "new_string": "y" }),
            "copy_note" => json!({ "from": "a.md", "to": "b.md" }),
            "bulk_create_notes" => json!({ "items": [{ "path": "b.md", "content": "x" }] }),
            "bulk_set_property" => json!({ "paths": ["a.md"], "key": "k", "value": 1 }),
            "bulk_move_notes" => json!({ "moves": [{ "from": "a.md", "to": "b.md" }] }),
            "undo_changes" => json!({ "generation": 2, "dry_run": false }),
            "move_attachment" => json!({ "from": "a.png", "to": "b.png" }),
            "prune_hub_links" => json!({ "path": "a.md", "policy": { "kind": "drop_no_prose_context" } }),
            "rewrite_link" => json!({ "from_target": "a", "to_target": "b" }),
            "edit_note" => json!({ "path": "a.md", "edits": [{ "op": "append", "text": "x" }] }),
            "move_note" => json!({ "path": "a.md", "to": "b.md" }),
            "link_add" => json!({ "from": "a.md", "to": "a.md" }),
            "update_frontmatter" => json!({ "path": "a.md", "mode": "remove", "key": "x" }),
            "add_tag" | "remove_tag" => json!({ "path": "a.md", "tag": "x" }),
            "update_task" => json!({ "path": "a.md", "line": 1 }),
            "create_periodic_note" | "find_or_create_periodic_note" => json!({ "period": "daily" }),
            "append_to_periodic_note" => json!({ "period": "daily", "content": "x" }),
            "delete_attachment" => json!({ "path": "a.png" }),
            "upload_attachment" => json!({ "path": "a.png", "sha256": "0".repeat(64), "size_bytes": 1 }),
            "commit_attachment" => {
                json!({ "path": "a.png", "sha256": "0".repeat(64), "size_bytes": 1, "upload": "0".repeat(32) })
            }
            "create_canvas" | "update_canvas" => json!({ "path": "a.canvas" }),
            "create_base" => json!({ "path": "a.base", "base": {} }),
            "update_base" => json!({ "path": "a.base", "patch": {} }),
            "create_excalidraw" | "update_excalidraw" => json!({ "path": "a.excalidraw" }),
            "add_bookmark" => json!({ "type": "file", "target": "a.md" }),
            "execute_template" => json!({ "template": "a.md", "target": "b.md" }),
            "add_kanban_card" => json!({ "path": "a.md", "column": "x", "text": "x" }),
            "move_kanban_card" => json!({ "path": "a.md", "from_column": "x", "to_column": "y", "card_text": "x" }),
            "enqueue_capture" => json!({ "content": "x" }),
            "commit_capture" => json!({ "capture_id": "0".repeat(32), "target_path": "b.md" }),
            "create_entity" => json!({ "type": "x", "name": "x" }),
            "add_observation" => json!({ "entity_id": "a.md", "observation": "x" }),
            "link_entities" => json!({ "source_id": "a.md", "target_id": "a.md", "relation_type": "x" }),
            "remove_bookmark" => json!({ "id": "x" }),
            "resolve_conflict" => json!({ "path": "a (conflict 2026-01-31 12.00 x).md", "keep": "mine" }),
            "trigger_quickadd" => json!({ "action_name": "x" }),
            "vault_sync" => json!({}),
            _ => json!({ "path": "a.md" }),
        };
        let told = world.told(operation.info.name, arguments).await;
        assert_eq!(told["details"]["reason"], "read_only_mode", "{}: {told}", operation.info.name);
    }
    assert_eq!(world.told("read_note", json!({ "path": "a.md" })).await["content"], "x");
}

#[tokio::test]
async fn an_administrator_learns_what_decides() {
    let acl = json!({
        "readPaths": ["Team/**"],
        "writePaths": ["Team/open/**"],
        "rules": [{ "glob": "Team/secret/**", "scopes": ["team:a", "admin"] }],
    });
    let world = World::of(&[BTreeMap::from([("Team/a.md".to_owned(), "x".to_owned())])], &acl, caller(&[])).await;
    for (path, op, scopes, denied_by) in [
        ("Team/a.md", "read", None, Value::Null),
        ("Team/a.md", "write", None, "writePaths".into()),
        ("Team/secret/a.md", "read", None, "rules: Team/secret/**".into()),
        ("team/secret/a.md", "read", None, "readPaths".into()),
        ("Team/secret/a.md", "delete", Some(json!(["delete:vault", "team:a", "admin"])), Value::Null),
        ("Team/secret/a.md", "delete", Some(json!(["delete:vault", "team:a"])), "rules: Team/secret/**".into()),
        ("Team/secret/a.md", "delete", Some(json!(["team:a", "admin"])), "scopes".into()),
        ("Team/a.md", "execute", None, "scopes".into()),
        ("Team/a.md", "execute", Some(json!(["read:vault", "execute:*"])), "plugin_missing".into()),
        (".git/config", "read", None, "closed_folder".into()),
    ] {
        let mut arguments = json!({ "path": path, "op": op });
        if let Some(scopes) = scopes {
            arguments["scopes"] = scopes;
        }
        let told = world.told("inspect_acl", arguments.clone()).await;
        assert_eq!((&told["denied_by"], told["allowed"] == true), (&denied_by, denied_by.is_null()), "{arguments}");
    }
    let told =
        world.told("inspect_acl", json!({ "path": "Team/secret/a.md", "op": "read", "scopes": ["admin"] })).await;
    assert_eq!(
        (&told["required_scopes"], &told["missing_scopes"]),
        (&json!(["admin", "read:vault", "team:a"]), &json!(["read:vault", "team:a"]))
    );
}

#[tokio::test]
async fn a_path_is_denied_in_every_spelling() {
    let vault =
        VaultBuilder::new().note("Privé/Plan.md", "zanzibar").note("open/a.md", "x [[Plan]] [plan](../Privé/Plan.md)");
    let deployment = Deployment::of_vault(&vault).await;
    let config = json!({ "acl": { "rules": [{ "glob": "Priv\u{e9}/**", "scopes": ["team:a"] }] } }).to_string();
    let variables = [("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", SECRET), ("ATLAS_CONFIG", &config)];
    let client = deployment.set_up(&variables).await;
    let headers = [bearer(&token("agent", &ALL, None))];
    let get = async |uri: &str| send(&client, "GET", uri, &headers, &Value::Null).await;
    for path in [
        "Priv%C3%A9/Plan.md",
        "%50riv%C3%A9/Plan%2Emd",
        "Prive%CC%81/Plan.md",
        "priv%C3%A9/plan.MD",
        "PRIV%C3%89/PLAN.MD",
        "Priv%C3%A9./Plan.md",
        "Priv%C3%A9%20/Plan.md",
        "Priv%C3%A9/Plan.md.",
        "Priv%C3%A9/Plan.md/",
        "Priv%C3%A9//Plan.md",
        "./Priv%C3%A9/Plan.md",
        "open/../Priv%C3%A9/Plan.md",
        "Priv%C3%A9%2FPlan.md",
        "Priv%25C3%25A9/Plan.md",
        "vault/Priv%C3%A9/Plan.md",
        "Plan.md",
        "Plan",
    ] {
        for uri in [
            format!("/notes/{path}"),
            format!("/notes?path={path}"),
            format!("/history/{path}"),
            format!("/notes/{path}?generation=1"),
        ] {
            let reply = get(&uri).await;
            assert!([400, 403, 404].contains(&reply.status.as_u16()), "{uri}: {reply:?}");
            assert!(!String::from_utf8_lossy(&reply.body).contains("zanzibar"), "{uri}");
        }
    }
    for uri in [
        "/notes/Priv%C3%A9/Plan.md",
        "/notes/Prive%CC%81/Plan.md",
        "/notes/PRIV%C3%89/Plan.md",
        "/notes/Priv%C3%A9/None.md",
    ] {
        assert_eq!(get(uri).await.error(403).1, "acl_denied", "{uri}");
    }
    let team = [bearer(&token_of("agent", "read:vault team:a", None))];
    assert!(send(&client, "GET", "/notes/Priv%C3%A9/Plan.md", &team, &Value::Null).await.ok()["content"] == "zanzibar");
}

#[tokio::test]
async fn what_is_in_closed_folders_affects_no_result() {
    let vault = VaultBuilder::new()
        .note("planning/now.md", "# Now\n\n[[.trash/gone]] [[gone]] [[.obsidian/app.json]]\n")
        .note("gone.md", "# Zanzibar\n\nzanzibar e #gonetag\n")
        .note(".obsidian/app.json", "{\"zanzibar\": true}");
    let deployment = Deployment::of_vault(&vault).await;
    let client = deployment.client();
    for _ in 0..2 {
        let delete = axum::http::Request::delete("/notes/gone.md").body(axum::body::Body::empty()).unwrap();
        client.send(delete).await.ok();
        client.post("/notes/gone.md", json!({ "content": "zanzibar again e\n" })).await;
    }
    let delete = axum::http::Request::delete("/notes/gone.md").body(axum::body::Body::empty()).unwrap();
    client.send(delete).await.ok();
    let include = json!([".trash/gone.md", ".obsidian/app.json", "gone"]);
    for (path, body) in [
        ("/context/current", json!({ "include": include })),
        ("/context/current", json!({})),
        ("/find", json!({ "term": "gone" })),
        ("/find", json!({ "term": "zanzibar" })),
        ("/find", json!({ "term": "e" })),
        ("/search", json!({ "query": "zanzibar" })),
        ("/search", json!({ "query": "tag:gonetag" })),
        ("/search", json!({ "query": "e", "mode": "literal" })),
        ("/search", json!({ "query": "path:trash" })),
    ] {
        let reply = client.post(path, body.clone()).await;
        let told = reply.json();
        let results = told["results"].as_array().cloned().unwrap_or_default();
        let is_closed = |found: &Value| found["path"].as_str().unwrap().starts_with('.');
        assert!(!results.iter().any(is_closed), "{path} {body}: {told}");
        assert!(path != "/context/current" || !told.to_string().contains("zanzibar"), "{body}: {told}");
    }
    assert!(!client.get("/notes").await.ok().to_string().contains("trash"));
}

#[tokio::test]
async fn history_tells_nothing_of_other_notes() {
    let notes = [("Private/plan.md", "x"), ("Public/index.md", "[[plan]]")];
    let notes: BTreeMap<String, String> =
        notes.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let acl = json!({ "rules": [{ "glob": "Private/**", "scopes": ["team:a"] }] });
    let mut world = World::of(&[notes], &acl, Caller::trusted("alice")).await;
    let moved = world.told("move_note", json!({ "path": "Private/plan.md", "to": "Private/merger.md" })).await;
    assert_eq!(moved["notes"], 1, "{moved}");
    let edit =
        json!({ "path": "Public/index.md", "edits": [{ "op": "append", "text": "y" }], "message": "told to all" });
    world.told("edit_note", edit).await;
    let history = json!({ "path": "Public/index.md" });
    assert_eq!(
        world.told("note_history", history.clone()).await["versions"][1]["message"],
        "moved from Private/plan.md"
    );
    world.caller = caller(&[]);
    let told = world.told("note_history", history).await;
    assert!(!told.to_string().contains("Private"), "{told}");
    assert_eq!(told["versions"][0]["message"], "told to all");
}

#[tokio::test]
async fn who_may_only_write_learns_nothing_of_what_is_there() {
    let notes = BTreeMap::from([("a.md".to_owned(), "secret".to_owned())]);
    let mut world = World::of(&[notes], &json!({}), caller(&[])).await;
    world.caller = Caller::of_scopes("agent", Scopes::named(["write:vault", "delete:vault"]));
    for (name, arguments) in [
        ("write_note", json!({ "path": "a.md", "content": "x" })),
        ("write_note", json!({ "path": "a.md", "content": "x", "if_match": "0" })),
        (
            "edit_note",
            json!({ "path": "a.md", "edits": [{ "op": "replace_text", "find": "s", "replace": "s", "count": 9 }] }),
        ),
        ("delete_note", json!({ "path": "a.md", "if_match": "0" })),
        ("move_note", json!({ "path": "a.md", "to": "b.md", "if_match": "0" })),
    ] {
        let told = world.told(name, arguments).await;
        assert!(told["code"].is_string() && told["details"]["sha256"].is_null(), "{name}: {told}");
        assert!(!told.to_string().contains("secret"), "{name}: {told}");
    }
}
