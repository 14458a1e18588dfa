//! The tools of obsidian-vault-mcp, as its specification has them.

use atlas_tools::operations;
use serde_json::{Value, json};

use crate::support::world::World;

async fn devlog() -> World {
    World::open(&[
        ("devlog/setup.md", "---\ntopic: setup\n---\n# Setup\n[impl] tide gauge\n"),
        ("old/devlog/setup.md", "a tide of long ago\n"),
        ("adr/ADR-001-tides.md", "Tides\nand a tide"),
    ])
    .await
}

#[tokio::test]
async fn a_note_is_read_whole_or_is_not_there() {
    let world = devlog().await;
    let read = world.ok("note_read", json!({ "path": "adr/ADR-001-tides.md" })).await;
    assert_eq!(read, json!({ "content": "Tides\nand a tide", "exists": true }));
    let absent = world.ok("note_read", json!({ "path": "adr/ADR-002.md" })).await;
    assert_eq!(absent, json!({ "content": "", "exists": false }));
    for name in ["note_read", "note_upsert", "note_delete"] {
        let mut arguments = json!({ "path": "../secret.md" });
        if name == "note_upsert" {
            arguments["content"] = "x".into();
        }
        assert_eq!(world.refused(name, arguments).await, "path_invalid", "{name}");
    }
}

#[tokio::test]
async fn a_note_that_is_too_large_is_pointed_elsewhere() {
    let world = World::open(&[("large.md", &"tide\n".repeat(60_000))]).await;
    let error = world.call("note_read", json!({ "path": "large.md" })).await.unwrap_err();
    assert_eq!(error.reason(), "note_too_large");
    assert!(error.message.contains("vault_search") && !error.message.contains("read_note"), "{error}");
    assert!(!error.recovery().contains("replace"), "{}", error.recovery());
    let lines = world.ok("vault_search", json!({ "query": "tide", "path_filter": "/large.md" })).await;
    assert_eq!(lines["results"].as_array().unwrap().len(), 1_000);
}

#[tokio::test]
async fn a_note_is_created_then_appended_to() {
    let world = devlog().await;
    let write = json!({ "path": "devlog/new/topic.md", "content": "one", "frontmatter": { "tags": ["devlog"] } });
    assert_eq!(world.ok("note_upsert", write).await, json!({ "created": true }));
    let add = json!({ "path": "devlog/new/topic.md", "content": "two", "frontmatter": { "tags": ["other"] } });
    assert_eq!(world.ok("note_upsert", add).await, json!({ "created": false }));
    let read = world.ok("note_read", json!({ "path": "devlog/new/topic.md" })).await;
    let text = read["content"].as_str().unwrap();
    assert!(text.starts_with("---\n") && text.contains("devlog") && !text.contains("other"), "{text}");
    assert!(text.trim_end().ends_with("one\ntwo"), "{text}");
    let table = "| a |\n| - |\n";
    world.ok("note_upsert", json!({ "path": "devlog/new/table.md", "content": table })).await;
    world.ok("note_upsert", json!({ "path": "devlog/new/table.md", "content": "| 1 |" })).await;
    let read = world.ok("note_read", json!({ "path": "devlog/new/table.md" })).await;
    assert!(read["content"].as_str().unwrap().trim_end().ends_with("| a |\n| - |\n| 1 |"), "{read}");
}

#[tokio::test]
async fn properties_in_the_text_and_beside_it_become_one_frontmatter() {
    let world = devlog().await;
    let content = "---\n# Mine.\ntopic: old\nrank: 1\n---\nbody\n";
    let new = json!({ "topic": "new", "tags": ["a"] });
    for (name, path) in [("note_upsert", "one.md"), ("upsert_note", "other.md")] {
        world.ok(name, json!({ "path": path, "content": content, "frontmatter": new })).await;
        let text = world.ok("note_read", json!({ "path": path })).await["content"].as_str().unwrap().to_owned();
        assert!(text.starts_with("---\n# Mine.\ntopic: new\nrank: 1\n") && text.ends_with("---\nbody\n"), "{text}");
        let note = world.ok("read_note", json!({ "path": path })).await;
        assert_eq!(note["frontmatter"], json!({ "topic": "new", "rank": 1, "tags": ["a"] }));
    }
    // A rule that another one follows is no frontmatter.
    for (path, content) in [("rule.md", "---\n\n# Intro\n\n---\ntext"), ("words.md", "---\nSome intro.\n---\ntext")] {
        world.ok("note_upsert", json!({ "path": path, "content": content, "frontmatter": new })).await;
        let text = world.ok("note_read", json!({ "path": path })).await["content"].as_str().unwrap().to_owned();
        assert!(text.starts_with("---\ntopic: new\n") && text.contains(&format!("---\n{content}")), "{text}");
    }
    let unreadable = json!({ "path": "bad.md", "content": "---\na: [\n---\nbody\n", "frontmatter": new });
    let error = world.call("note_upsert", unreadable.clone()).await.unwrap_err();
    assert_eq!((error.reason(), &error.details["field"]), ("validation_error", &json!("frontmatter")));
    assert_eq!(world.ok("note_read", json!({ "path": "bad.md" })).await["exists"], false);
    // To a note that is there they are not added.
    let mut added = unreadable;
    added["path"] = "one.md".into();
    assert_eq!(world.ok("note_upsert", added).await, json!({ "created": false }));
}

#[tokio::test]
async fn a_note_is_deleted_once_and_kept_in_the_trash() {
    let world = devlog().await;
    let path = json!({ "path": "adr/ADR-001-tides.md" });
    assert_eq!(world.ok("note_delete", path.clone()).await, json!({ "deleted": true }));
    assert_eq!(world.ok("note_delete", path.clone()).await, json!({ "deleted": false }));
    assert_eq!(world.ok("note_read", path.clone()).await["exists"], false);
    world.ok("restore_note", path.clone()).await;
    assert_eq!(world.ok("note_read", path).await["content"], "Tides\nand a tide");
}

async fn found(world: &World, arguments: Value) -> Vec<(String, u64, String)> {
    let answer = world.ok("vault_search", arguments).await;
    assert_eq!(answer.as_object().unwrap().keys().collect::<Vec<_>>(), ["results"]);
    let line = |line: &Value| {
        let text = |field: &str| line[field].as_str().unwrap().to_owned();
        (text("path"), line["line"].as_u64().unwrap(), text("text"))
    };
    answer["results"].as_array().unwrap().iter().map(line).collect()
}

#[tokio::test]
async fn lines_are_found_by_expression_and_glob() {
    let world = devlog().await;
    let all = found(&world, json!({ "query": "tides?$|tide g" })).await;
    assert_eq!(
        all,
        [
            ("adr/ADR-001-tides.md".to_owned(), 2, "and a tide".to_owned()),
            ("devlog/setup.md".to_owned(), 5, "[impl] tide gauge".to_owned()),
        ]
    );
    let paths = async |glob: &str| -> Vec<String> {
        let lines = found(&world, json!({ "query": "tide", "path_filter": glob })).await;
        lines.into_iter().map(|(path, ..)| path).collect()
    };
    assert_eq!(paths("devlog/*.md").await, ["devlog/setup.md", "old/devlog/setup.md"]);
    assert_eq!(paths("/devlog/*.md").await, ["devlog/setup.md"]);
    for glob in ["!devlog/*.md", "!devlog", "!devlog/", "!./devlog"] {
        assert_eq!(paths(glob).await, ["adr/ADR-001-tides.md"], "{glob}");
    }
    for glob in ["devlog/", "./devlog/*.md", "./devlog/"] {
        assert_eq!(paths(glob).await, ["devlog/setup.md", "old/devlog/setup.md"], "{glob}");
    }
    for glob in ["", " "] {
        assert_eq!(paths(glob).await.len(), 3, "all that there is");
        let same = json!({ "query": "tide", "mode": "regex", "path_filter": glob });
        assert_eq!(world.ok("search", same).await["results"].as_array().unwrap().len(), 3);
    }
    assert_eq!(found(&world, json!({ "query": "nowhere" })).await, []);
    assert_eq!(world.refused("vault_search", json!({ "query": "(" })).await, "pattern_invalid");
}

#[tokio::test]
async fn more_lines_than_an_answer_has_are_told_of() {
    let world = World::open(&[("many.md", &"tide\n".repeat(1_200))]).await;
    let answer = world.ok("vault_search", json!({ "query": "tide" })).await;
    assert_eq!(answer["results"].as_array().unwrap().len(), 1_000);
    let partial = answer["partial"].as_str().unwrap();
    assert!(partial.contains("path_filter") && !partial.contains("search"), "{partial}");
}

#[test]
fn only_their_own_arguments_are_taken() {
    let schema = |name: &str| {
        let operation = operations().iter().find(|operation| operation.info.name == name).unwrap();
        let schema = operation.arguments_schema();
        let names: Vec<String> = schema["properties"].as_object().unwrap().keys().cloned().collect();
        (names.join(" "), schema["required"].clone())
    };
    assert_eq!(schema("note_read"), ("path".to_owned(), json!(["path"])));
    assert_eq!(schema("note_upsert"), ("content frontmatter path".to_owned(), json!(["path", "content"])));
    assert_eq!(schema("note_delete"), ("path".to_owned(), json!(["path"])));
    assert_eq!(schema("vault_search"), ("path_filter query".to_owned(), json!(["query"])));
}
