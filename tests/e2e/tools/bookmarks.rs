//! obsidian-tc's tools for bookmarks.

use std::collections::BTreeMap;

use atlas_testkit::VaultBuilder;
use serde_json::json;

use crate::support::deployment::Deployment;
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
    assert_eq!(targets, ["Open/b.md", "Open/b.md#Tides", "tag:#port"], "{told}");
    assert!(!told.to_string().contains("Deep"), "{told}");
}
