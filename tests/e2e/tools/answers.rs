//! The fields of answers of obsidian-tc's tools, and their order.

use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::tools::Tools;
use crate::support::world::World;

fn places(answer: &Value) -> Vec<String> {
    let items = answer["items"].as_array().unwrap();
    items.iter().map(|item| format!("{}:{}", item["path"].as_str().unwrap(), item["line"])).collect()
}

#[tokio::test]
async fn lines_with_a_text_come_best_first_on_whatever_pages() {
    let long = format!("a tide once\n{}", "other words\n".repeat(400));
    let world = World::open(&[
        ("a long.md", &long),
        ("b often.md", "the tide\nlow tide\n"),
        ("c Tide.md", "# About\n\nthe tide\n"),
        ("d head.md", "# Tide\n\nnothing more\n"),
        ("e part.md", "tidetable\n"),
        ("f none.md", "nothing\n"),
    ])
    .await;
    let all = world.ok("search_text", json!({ "query": "tide" })).await;
    let found = places(&all);
    assert_eq!((found.len(), &all["total_count"]), (6, &json!(6)), "{all}");
    assert_eq!(found[0], "c Tide.md:3", "the note is named so: {all}");
    let at = |place: &str| found.iter().position(|found| found == place).unwrap();
    assert!(at("d head.md:1") < at("e part.md:1"), "a heading says more: {all}");
    assert!(at("b often.md:1") < at("e part.md:1"), "a word of its own says more: {all}");
    assert_eq!(found.last().unwrap(), "a long.md:1", "once in a long note says little: {all}");
    let scores: Vec<f64> =
        all["items"].as_array().unwrap().iter().map(|item| item["score"].as_f64().unwrap()).collect();
    assert!(scores.windows(2).all(|pair| pair[0] >= pair[1]), "{scores:?}");
    for limit in 1..7 {
        let paged = world.pages("search_text", json!({ "query": "tide", "limit": limit }), "items").await;
        assert_eq!(json!(paged), all["items"], "{limit}");
    }
}

#[tokio::test]
async fn more_lines_than_are_put_in_order_together_are_all_found_once() {
    let many: Vec<(String, String)> =
        (0..12).map(|note| (format!("{note:02}.md"), "a tide here\n".repeat(1_000))).collect();
    let notes: Vec<(&str, &str)> = many.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let world = World::open(&notes).await;
    let found = world.pages("search_text", json!({ "query": "tide", "limit": 1000 }), "items").await;
    let mut found = places(&json!({ "items": found }));
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 12_000);
    let first = world.ok("search_text", json!({ "query": "tide" })).await;
    assert!(first["partial"].as_str().unwrap().contains("very many") && first.get("total_count").is_none(), "{first}");
}

#[tokio::test]
async fn lists_tell_how_many_there_are() {
    let paths = ["a.md", "b.md", "d/c.md", "d/e/f.md", "d/e/g.md", "h/i.md", "h/pic.png"];
    let notes: Vec<(&str, &str)> = paths.iter().map(|path| (*path, "tide")).collect();
    let world = World::open(&notes).await;
    for (arguments, total) in [
        (json!({}), 6),
        (json!({ "extensions": [] }), 7),
        (json!({ "include_folders": true }), 9),
        (json!({ "recursive": false }), 2),
        (json!({ "recursive": false, "include_folders": true }), 4),
        (json!({ "root": "d", "include_folders": true }), 4),
        (json!({ "prefix": "d/e", "include_folders": true }), 3),
        (json!({ "prefix": "d/e", "recursive": false, "include_folders": true }), 0),
        (json!({ "prefix": "nothing" }), 0),
    ] {
        let mut arguments = arguments;
        for limit in [1, 3, 100] {
            arguments["limit"] = limit.into();
            let found = world.pages("list_notes", arguments.clone(), "items").await;
            let page = world.ok("list_notes", arguments.clone()).await;
            assert_eq!((found.len(), &page["total_count"]), (total, &json!(total)), "{arguments}");
            if let Some(cursor) = page.get("cursor") {
                let mut next = arguments.clone();
                next["cursor"] = cursor.clone();
                assert_eq!(world.ok("list_notes", next).await["total_count"], total, "{arguments}");
            }
        }
    }
    for (tool, arguments, total) in [
        ("search_text", json!({ "query": "tide" }), json!(6)),
        ("search_regex", json!({ "pattern": "t.de" }), json!(6)),
        ("search_vault", json!({ "query": "tide" }), json!(6)),
        ("search_vault", json!({ "query": "tide", "limit": 2 }), Value::Null),
    ] {
        assert_eq!(world.ok(tool, arguments.clone()).await["total_count"], total, "{tool} {arguments}");
    }
}

#[tokio::test]
async fn a_list_has_what_changed_last_or_since_then() {
    let at = |time: &str| time.parse().unwrap();
    let vault = VaultBuilder::new()
        .note("a.md", "a")
        .note("d/b.md", "b")
        .note("d/e/c.md", "c")
        .note("d/f.md", "f")
        .modified("a.md", at("2026-03-03T00:00:00Z"))
        .modified("d/b.md", at("2026-01-01T10:00:00Z"))
        .modified("d/e/c.md", at("2026-02-02T23:59:59Z"))
        .modified("d/f.md", at("2026-03-03T00:00:00Z"));
    let client = Deployment::of_vault(&vault).await.client();
    let tools = Tools::of(&client);
    for (arguments, expected) in [
        (json!({ "sort": "newest" }), &["a.md", "d/f.md", "d/e/c.md", "d/b.md"][..]),
        (json!({ "sort": "newest", "root": "d", "recursive": false, "include_folders": true }), &["d/f.md", "d/b.md"]),
        (json!({ "modified_after": "2026-02-02" }), &["a.md", "d/e/c.md", "d/f.md"]),
        (json!({ "modified_after": "2026-02-02T23:59:59Z", "prefix": "d/" }), &["d/e/c.md", "d/f.md"]),
        (json!({ "modified_after": "2026-02-03", "sort": "newest" }), &["a.md", "d/f.md"]),
        (json!({ "modified_after": "2027-01-01" }), &[]),
    ] {
        for limit in [1, 2, 100] {
            let mut next = arguments.clone();
            next["limit"] = limit.into();
            let mut found = Vec::new();
            loop {
                let page = tools.good("list_notes", next.clone()).await;
                assert_eq!(page["total_count"], expected.len(), "{next}");
                found.extend(
                    page["items"].as_array().unwrap().iter().map(|item| item["path"].as_str().unwrap().to_owned()),
                );
                match page.get("cursor") {
                    Some(cursor) => next["cursor"] = cursor.clone(),
                    None => break,
                }
            }
            assert_eq!(found, expected, "{arguments} {limit}");
        }
    }
    let refused = tools.bad("list_notes", json!({ "modified_after": "last week" }), "validation_error").await;
    assert!(refused["message"].as_str().unwrap().contains("write a date as 2026-01-31"), "{refused}");
}

#[tokio::test]
async fn a_hit_says_of_which_section_it_is_and_a_file_that_it_is_whole() {
    let vault =
        VaultBuilder::new().note("a.md", "# Tides\n\nneap\n").note("b.md", "spring\n").file("p.png", b"\x89PNG");
    let client = Deployment::of_vault(&vault).await.client();
    let tools = Tools::of(&client);
    for (query, chunk) in [("neap", json!("a.md#tides")), ("spring", json!("b.md")), ("/neap/", Value::Null)] {
        assert_eq!(
            tools.good("search_vault", json!({ "query": query })).await["items"][0]["chunk_id"],
            chunk,
            "{query}"
        );
    }
    let file = tools.good("get_attachment", json!({ "path": "p.png", "include_data": true })).await;
    assert_eq!(file["truncated"], false);
    assert_eq!(tools.good("get_attachment", json!({ "path": "p.png" })).await.get("truncated"), None);
}

#[tokio::test]
async fn the_index_counts_chunks_and_what_changed_in_a_folder() {
    let vault = VaultBuilder::new()
        .note("log/long.md", &"a line of some text\n".repeat(2_000))
        .note("log/b.md", "b")
        .note("log/c.md", "c")
        .note("else/d.md", "d");
    let deployment = Deployment::of_vault(&vault).await;
    let client = deployment.client();
    let tools = Tools::of(&client);
    let listed = tools.good("list_vaults", json!({})).await;
    let chunks = listed["vaults"][0]["chunk_count"].as_u64().unwrap();
    assert!((9..=12).contains(&chunks), "40 kB are some ten chunks of 4 kB: {chunks}");
    assert_eq!(tools.good("get_vault", json!({})).await["cache"]["chunk_count"], chunks);
    let counts = async |folder: &str| {
        let told = tools.good("index_vault", json!({ "folder": folder })).await;
        ["upserted", "deleted", "unchanged"].map(|count| told[count].as_u64().unwrap())
    };
    assert_eq!((counts("log").await, counts("else").await, counts("no").await), ([3, 0, 0], [1, 0, 0], [0, 0, 0]));
    tools.good("append_note", json!({ "path": "log/b.md", "content": "more", "idempotency_key": "k1" })).await;
    assert_eq!((counts("log").await, counts("else").await), ([1, 0, 2], [0, 0, 1]));
    tools.good("delete_note", json!({ "path": "log/c.md", "hard": true })).await;
    assert_eq!((counts("log").await, counts("else").await), ([0, 1, 2], [0, 0, 1]));
}
