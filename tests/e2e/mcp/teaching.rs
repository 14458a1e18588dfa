//! Errors that help the agent to correct its call.

use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::agent::{Agent, ERAS};
use crate::support::deployment::Deployment;

fn suggestions(error: &Value) -> Vec<&str> {
    let suggestions = error["details"]["suggestions"].as_array().into_iter().flatten();
    suggestions.filter_map(Value::as_str).collect()
}

fn vault() -> VaultBuilder {
    VaultBuilder::new()
        .note("projects/Tide engine.md", "# Tide engine\n")
        .note("projects/Tide engines.md", "links to [[Tide engine]]\n")
        .note("a/Same.md", "one")
        .note("b/Same.md", "other")
        .note("secret/Tide englne.md", "hidden")
        .note("Zebra.md", "no match")
}

#[tokio::test]
async fn a_read_takes_a_name_for_the_one_note_that_has_it() {
    let deployment = Deployment::of_vault(&vault()).await;
    let client = deployment.client();
    let agent = Agent::new(&client, ERAS[0]);
    for name in ["Tide engine", "tide engine.md", "projects/Tide engine", "Tide Engine.md"] {
        let note = agent.answer("read_note", json!({ "path": name })).await;
        assert_eq!(note["path"], "projects/Tide engine.md", "{name}");
        let links = agent.answer("get_backlinks", json!({ "path": name })).await;
        assert!(links.to_string().contains("projects/Tide engines.md"), "{links}");
        let several = agent.answer("read_notes", json!({ "paths": [name, "Zebr.md", "Zebra", name] })).await;
        let results = several["results"].as_array().unwrap();
        for (at, path) in [(0, "projects/Tide engine.md"), (2, "Zebra.md"), (3, "projects/Tide engine.md")] {
            assert_eq!(results[at]["path"], path, "{several}");
        }
        assert_eq!(suggestions(&results[1]["error"]), ["Zebra.md"]);
    }
    assert_eq!(client.get("/notes/Tide%20engine").await.ok()["path"], "projects/Tide engine.md");
    // Two notes have the name, or it contains a folder without such a note.
    for name in ["Same", "Same.md", "other/Zebra.md", "Zebr"] {
        assert_eq!(agent.refused("read_note", json!({ "path": name })).await, "note_not_found", "{name}");
    }
    let both = agent.failure("read_note", json!({ "path": "Same" })).await;
    assert_eq!(suggestions(&both), ["a/Same.md", "b/Same.md"]);
}

#[tokio::test]
async fn what_is_not_there_is_told_with_what_is_like_it() {
    let deployment = Deployment::of_vault(&vault()).await;
    let config = json!({ "vaults": [{ "id": "main", "acl": { "readPaths": ["projects/**", "a/**", "b/**", "Zebr*.md", "Tide*.md"] } }] });
    let client = deployment.set_up(&[("ATLAS_CONFIG", &config.to_string())]).await;
    let agent = Agent::new(&client, ERAS[0]);
    for (tool, arguments) in [
        ("read_note", json!({ "path": "projects/Tide-engine.md" })),
        ("append_note", json!({ "path": "Tide engin.md", "content": "x" })),
        ("move_note", json!({ "from": "Tide engin.md", "to": "a/x.md" })),
        ("delete_note", json!({ "path": "projects/tide engine .md" })),
    ] {
        let error = agent.failure(tool, arguments).await;
        assert_eq!(error["code"], "note_not_found", "{tool}: {error}");
        let suggested = suggestions(&error);
        assert!(suggested.starts_with(&["projects/Tide engine.md"]), "{tool}: {error}");
        assert!(!suggested.contains(&"Zebra.md") && !error.to_string().contains("secret"), "{tool}: {error}");
        assert!(error["recovery"].as_str().unwrap().contains("suggestions"), "{error}");
    }
    // A write is never redirected.
    let error = agent.failure("append_note", json!({ "path": "Zebr.md", "content": "x" })).await;
    assert_eq!(suggestions(&error), ["Zebra.md"]);
    let error = agent.failure("append_note", json!({ "path": "projects/Zebra.md", "content": "x" })).await;
    assert_eq!(suggestions(&error), ["Zebra.md"]);
    assert_eq!(agent.answer("read_note", json!({ "path": "Zebra.md" })).await["content"], "no match");
    let call = json!({ "arguments": { "path": "Zebr.md", "content": "x" } });
    let reply = client.post("/bridge/v1/tools/append_note/call", call).await.ok();
    assert!(reply["content"][0]["text"].as_str().unwrap().contains("Nearest: Zebra.md"), "{reply}");
}

#[tokio::test]
async fn an_argument_in_a_wrong_form_is_shown_in_the_right_one() {
    let deployment = Deployment::of_vault(&vault()).await;
    let client = deployment.client();
    let section = |heading: Value| json!([{ "op": "replace_section", "target": { "heading": heading }, "text": "x" }]);
    for (tool, arguments, written) in [
        ("list_tasks", json!({ "tags": "urgent" }), r#"write it as "tags": ["urgent"]"#),
        ("list_tasks", json!({ "status": "todo" }), r#"write it as "status": ["todo"]"#),
        ("search", json!({ "query": 7 }), r#"write it as "query": "7""#),
        ("search", json!({ "query": "a", "limit": null }), "; leave it out"),
        ("search", json!({ "query": "a", "path_filter": null }), "; leave it out"),
        ("edit_note", json!({ "path": "Zebra.md", "edits": section(json!("Hi")) }), r#""heading":["Hi"]"#),
        ("patch_note", json!({ "path": "Zebra.md", "anchor": "Hi", "operation": "append" }), r#""type":"heading""#),
    ] {
        for era in ERAS {
            let error = Agent::new(&client, era).failure(tool, arguments.clone()).await;
            assert_eq!(error["code"], "validation_error", "{error}");
            assert!(error["message"].as_str().unwrap().contains(written), "{tool}: {error}");
        }
        let reply = client.post(&format!("/bridge/v1/tools/{tool}/call"), json!({ "arguments": arguments })).await.ok();
        assert!(reply["content"][0]["text"].as_str().unwrap().contains(written), "{reply}");
    }
}
