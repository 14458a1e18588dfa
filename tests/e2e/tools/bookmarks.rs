//! obsidian-tc's tools for bookmarks.

use std::collections::BTreeMap;

use atlas_testkit::VaultBuilder;
use serde_json::json;

use crate::support::deployment::Deployment;
use crate::support::publish::publish;
use crate::support::tools::Tools;
use crate::support::world::{World, caller};

const BOOKMARKS: &str = r##"{ "items": [
    { "type": "file", "ctime": 1700000000000, "path": "Open/b.md", "title": "Start" },
    { "type": "group", "title": "Harbour", "items": [
        { "type": "file", "path": "Open/b.md", "subpath": "#Tides" },
        { "type": "group", "title": "Deep", "items": [{ "type": "folder", "path": "Private" }] },
        { "type": "file", "path": "Private/a.md", "subpath": "#^high", "title": "Berth" } ] },
    { "type": "search", "query": "tag:#port" },
    { "type": "file", "path": ".obsidian/app.json" }
] }"##;

#[tokio::test]
async fn bookmarks_are_listed_by_group_and_by_page() {
    let vault = VaultBuilder::new().file(".obsidian/bookmarks.json", BOOKMARKS.as_bytes()).note("Open/b.md", "x");
    let client = Deployment::of_vault(&vault).await.client();
    let tools = Tools::of(&client);
    let all = tools.good("list_bookmarks", json!({})).await;
    let told: Vec<_> = all["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["type"], &one["title"], &one["target"], &one["group"]))
        .collect();
    let told = serde_json::to_value(told).unwrap();
    assert_eq!(
        told,
        json!([
            ["file", "Start", "Open/b.md", null],
            ["heading", "Open/b.md#Tides", "Open/b.md#Tides", "Harbour"],
            ["folder", "Private", "Private", "Harbour/Deep"],
            ["block", "Berth", "Private/a.md#^high", "Harbour"],
            ["search", "tag:#port", "tag:#port", null],
        ])
    );
    assert_eq!((&all["total_count"], &all["items"][0]["created_at"]), (&json!(5), &json!("2023-11-14T22:13:20Z")));
    let of_group = tools.good("list_bookmarks", json!({ "group": "Deep" })).await;
    assert_eq!((&of_group["total_count"], &of_group["items"][0]["target"]), (&json!(1), &json!("Private")));
    let first = tools.good("list_bookmarks", json!({ "limit": 4 })).await;
    let rest = tools.good("list_bookmarks", json!({ "limit": 4, "cursor": first["cursor"] })).await;
    assert_eq!(rest["items"].as_array().unwrap().len(), 1);
    tools.bad("list_bookmarks", json!({ "group": "Deep", "cursor": first["cursor"] }), "cursor_invalid").await;
}

#[tokio::test]
async fn a_vault_without_bookmarks_has_none_and_a_damaged_list_says_so() {
    for (file, expected) in [(None, Ok(0)), (Some("{"), Err("settings_invalid")), (Some("[]"), Ok(0))] {
        let mut vault = VaultBuilder::new().note("a.md", "x");
        if let Some(file) = file {
            vault = vault.file(".obsidian/bookmarks.json", file.as_bytes());
        }
        let client = Deployment::of_vault(&vault).await.client();
        let tools = Tools::of(&client);
        match expected {
            Ok(count) => assert_eq!(tools.good("list_bookmarks", json!({})).await["total_count"], json!(count)),
            Err(reason) => drop(tools.bad("list_bookmarks", json!({}), reason).await),
        }
    }
}

#[tokio::test]
async fn bookmarks_of_what_may_not_be_read_are_not_listed() {
    let notes = BTreeMap::from([(".obsidian/bookmarks.json".to_owned(), BOOKMARKS.to_owned())]);
    let world = World::of(&[notes], &json!({ "readPaths": ["Open/**"] }), caller(&[])).await;
    let told = world.told("list_bookmarks", json!({})).await;
    let targets: Vec<_> = told["items"].as_array().unwrap().iter().map(|one| &one["target"]).collect();
    assert_eq!(targets, ["Open/b.md", "Open/b.md#Tides"], "{told}");
    assert!(!told.to_string().contains("Deep"), "{told}");
}

#[tokio::test]
async fn bookmarks_are_added_and_removed_and_what_is_not_understood_stays() {
    let file = r##"{ "items": [ { "type": "new-kind", "x": [1, 2.50] }, { "type": "group", "title": "Work", "items": [] } ], "other": 1 }"##;
    let notes = [("Open/b.md", "# Tides\n"), ("Private/a.md", "x"), (".obsidian/bookmarks.json", file)];
    let notes = notes.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
    let world = World::of(&[notes], &json!({ "readPaths": ["Open/**"] }), caller(&[])).await;
    let heading = json!({ "type": "heading", "target": "Open/b.md#Tides", "title": "Tides", "group": "Work/Now" });
    let added = world.ok("add_bookmark", heading.clone()).await;
    assert_eq!((&added["type"], &added["existed_already"]), (&json!("heading"), &json!(false)));
    let again = world.ok("add_bookmark", heading).await;
    assert_eq!((&again["id"], &again["existed_already"]), (&added["id"], &json!(true)));
    world.ok("add_bookmark", json!({ "type": "folder", "target": "Open/" })).await;
    let listed = world.ok("list_bookmarks", json!({})).await;
    let told: Vec<_> =
        listed["items"].as_array().unwrap().iter().map(|one| (&one["title"], &one["target"], &one["group"])).collect();
    let expected = json!([["Tides", "Open/b.md#Tides", "Work/Now"], ["Open", "Open", null]]);
    assert_eq!(serde_json::to_value(told).unwrap(), expected);
    let removed = world.ok("remove_bookmark", json!({ "id": added["id"] })).await;
    assert_eq!(removed, json!({ "id": added["id"], "removed": true }));
    assert_eq!(world.ok("remove_bookmark", json!({ "id": added["id"] })).await["removed"], false);
    assert_eq!(world.ok("list_bookmarks", json!({})).await["total_count"], 1);
    for (arguments, reason) in [
        (json!({ "type": "file", "target": "Private/a.md" }), "acl_denied"),
        (json!({ "type": "search", "target": "tag:#port" }), "acl_denied"),
        (json!({ "type": "file", "target": "Open/c.md" }), "note_not_found"),
        (json!({ "type": "folder", "target": "Private" }), "acl_denied"),
        (json!({ "type": "heading", "target": "Open/b.md" }), "invalid_input"),
        (json!({ "type": "block", "target": "Open/b.md#Tides" }), "invalid_input"),
        (json!({ "type": "graph", "target": "x" }), "invalid_input"),
        (json!({ "type": "url", "target": "no url" }), "invalid_input"),
        (json!({ "type": "file", "target": ".obsidian/app.json" }), "acl_denied"),
    ] {
        assert_eq!(world.refused("add_bookmark", arguments.clone()).await, reason, "{arguments}");
    }
}

#[tokio::test]
async fn bookmarks_come_into_the_folder_and_one_that_obsidian_wrote_meanwhile_is_kept() {
    let vault = VaultBuilder::new().note("a.md", "x").note("b.md", "y");
    let deployment = Deployment::empty();
    let state = tempfile::tempdir().unwrap();
    publish(vault.root(), &deployment.mirror(), state.path()).await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let added = tools.good("add_bookmark", json!({ "type": "file", "target": "a.md" })).await;
    publish(vault.root(), &deployment.mirror(), state.path()).await;
    let path = vault.root().join(".obsidian/bookmarks.json");
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(
        written.starts_with("{\n  \"items\": [\n    {\n      \"type\": \"file\",")
            && written.contains("\"path\": \"a.md\""),
        "{written}"
    );
    // The person and an agent change it concurrently.
    std::fs::write(&path, written.replace("a.md", "b.md")).unwrap();
    tools.good("remove_bookmark", json!({ "id": added["id"] })).await;
    publish(vault.root(), &deployment.mirror(), state.path()).await;
    let files = std::fs::read_dir(vault.root().join(".obsidian")).unwrap();
    let all: Vec<String> = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    assert!(all.iter().any(|text| text.contains("b.md")), "{all:?}");
}

#[tokio::test]
async fn workspaces_are_listed_with_the_active_one() {
    let file = r#"{ "workspaces": { "Desk": { "main": {}, "mtime": "2026-03-01T08:00:00.000Z" }, "Sea": { "main": {} } }, "active": "Sea" }"#;
    let vault = VaultBuilder::new().file(".obsidian/workspaces.json", file.as_bytes()).note("a.md", "x");
    let client = Deployment::of_vault(&vault).await.client();
    let listed = Tools::of(&client).good("list_workspaces", json!({})).await;
    let expected = json!([{ "name": "Desk", "active": false, "modified_at": "2026-03-01T08:00:00Z" }, { "name": "Sea", "active": true }]);
    assert_eq!(listed["workspaces"], expected);
    let none = Deployment::of_vault(&VaultBuilder::new().note("a.md", "x")).await.client();
    assert_eq!(Tools::of(&none).good("list_workspaces", json!({})).await["workspaces"], json!([]));
}
