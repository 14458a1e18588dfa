//! obsidian-tc's tools for properties.

use atlas_testkit::VaultBuilder;
use axum::http::Method;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::note_calls::{put, read, send};
use crate::support::tools::{Tools, guarded};

const NOTE: &str = "---\n# kept\nstatus:   open # why\ncount: 1\n---\n# A\n";

async fn vault() -> Deployment {
    Deployment::of_vault(
        &VaultBuilder::new().note("a.md", NOTE).note("b.md", "text\n").note("c.md", "---\na: [\n---\n"),
    )
    .await
}

#[tokio::test]
async fn properties_change_and_every_other_byte_stays() {
    let client = vault().await.client();
    let tools = Tools::of(&client);
    let set = json!({ "path": "a.md", "mode": "set", "key": "status", "value": ["x"], "idempotency_key": "1" });
    let answer = tools.good("update_frontmatter", set.clone()).await;
    assert_eq!((&answer["mode_used"], &answer["prev_value"]), (&json!("set"), &json!("open")));
    assert_eq!(tools.text("a.md").await, NOTE.replace("   open # why", " # why\n  - x"));
    // Repeated, it returns the same report.
    let again = tools.good("update_frontmatter", set).await;
    assert_eq!((&again["prev_value"], &again["content_hash"]), (&json!("open"), &answer["content_hash"]));

    let merge =
        json!({ "path": "a.md", "mode": "merge", "patch": { "count": 2, "status": null, "gone": null, "new": true } });
    let answer = tools.good("update_frontmatter", merge).await;
    assert_eq!((&answer["applied"], &answer["removed"]), (&json!({ "count": 2, "new": true }), &json!(["status"])));
    assert_eq!(tools.text("a.md").await, "---\n# kept\ncount: 2\nnew: true\n---\n# A\n");

    let remove = json!({ "path": "a.md", "mode": "remove", "key": "new" });
    let first = tools.good("update_frontmatter", remove.clone()).await;
    assert_eq!(first["prev_value"], true);
    let second = tools.good("update_frontmatter", remove).await;
    assert_eq!((second.get("prev_value"), &second["updated_at"]), (None, &first["updated_at"]), "nothing is written");

    let replace = json!({ "path": "a.md", "mode": "replace", "frontmatter": { "only": null } });
    let answer = tools.good("update_frontmatter", replace).await;
    assert_eq!(answer["prev_frontmatter"], json!({ "count": 2 }));
    assert_eq!(tools.text("a.md").await, "---\nonly: null\n---\n# A\n");
}

#[tokio::test]
async fn frontmatter_keeps_the_order_given_through_every_door() {
    let client = vault().await.client();
    let tools = Tools::of(&client);
    let given: Value = serde_json::from_str(r#"{"zeta":1,"alpha":{"w":1,"b":2},"mid":[{"q":1,"a":2}]}"#).unwrap();
    let written = "zeta: 1\nalpha:\n  w: 1\n  b: 2\nmid:\n  - q: 1\n    a: 2\n";

    let edit = json!({ "edits": [{ "op": "merge_properties", "properties": given }] });
    send(&client, Method::PATCH, "a.md", &[], edit).await.ok();
    assert_eq!(tools.text("a.md").await, NOTE.replace("---\n# A", &format!("{written}---\n# A")), "REST");

    let write = |path: &str| json!({ "path": path, "content": "# New\n", "frontmatter": given });
    let new = format!("---\n{written}---\n# New\n");
    for (tool, arguments) in [
        ("note_upsert", write("upserted.md")),
        ("write_note", write("bridged.md")),
        ("bulk_create_notes", json!({ "items": [write("created.md")] })),
    ] {
        let body = json!({ "arguments": arguments });
        let answer = client.post(&format!("/bridge/v1/tools/{tool}/call"), body).await.ok();
        assert_eq!(answer["success"], true, "{tool}: {answer}");
    }
    tools.good("write_note", write("mcp.md")).await;
    for path in ["upserted.md", "bridged.md", "created.md", "mcp.md"] {
        assert_eq!(tools.text(path).await.trim_end(), new.trim_end(), "{path}");
    }

    // Existing ones keep their order.
    let merge =
        json!({ "path": "mcp.md", "mode": "merge", "patch": { "new": 1, "alpha": { "z": 1, "c": 2 }, "zeta": 2 } });
    tools.good("update_frontmatter", merge).await;
    let merged = "---\nzeta: 2\nalpha:\n  z: 1\n  c: 2\nmid:\n  - q: 1\n    a: 2\nnew: 1\n---\n";
    assert!(tools.text("mcp.md").await.starts_with(merged), "{}", tools.text("mcp.md").await);
    let replace =
        json!({ "path": "mcp.md", "mode": "replace", "frontmatter": { "x": 1, "b": { "q": 1, "a": 2 }, "c": 3 } });
    tools.good("update_frontmatter", replace).await;
    assert!(tools.text("mcp.md").await.starts_with("---\nx: 1\nb:\n  q: 1\n  a: 2\nc: 3\n---\n"));

    // An answer has one order, whatever the note's is.
    let read =
        client.post("/bridge/v1/tools/read_frontmatter/call", json!({ "arguments": { "path": "mcp.md" } })).await;
    let text = read.ok()["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains(r#"{"b":{"a":2,"q":1},"c":3,"x":1}"#), "{text}");
}

#[tokio::test]
async fn one_property_keeps_the_order_given_within_it_through_every_door() {
    let client = vault().await.client();
    let tools = Tools::of(&client);
    let given: Value = serde_json::from_str(r#"{"u":1,"b":{"q":1,"a":[{"p":1,"m":2}]}}"#).unwrap();
    let written = "map:\n  u: 1\n  b:\n    q: 1\n    a:\n      - p: 1\n        m: 2\n";
    let expected = NOTE.replace("---\n# A", &format!("{written}---\n# A"));
    for path in ["rest.md", "set.md", "bridged.md", "bulk.md"] {
        assert_eq!(put(&client, path, &[("if-none-match", "*")], json!({ "content": NOTE })).await.status, 201);
    }
    let edit = json!({ "edits": [{ "op": "set_property", "name": "map", "value": given }] });
    send(&client, Method::PATCH, "rest.md", &[], edit).await.ok();
    let set = |path: &str| json!({ "path": path, "mode": "set", "key": "map", "value": given });
    tools.good("update_frontmatter", set("set.md")).await;
    let body = json!({ "arguments": set("bridged.md") });
    client.post("/bridge/v1/tools/update_frontmatter/call", body).await.ok();
    tools.good("bulk_set_property", json!({ "paths": ["bulk.md"], "key": "map", "value": given })).await;
    for path in ["rest.md", "set.md", "bridged.md", "bulk.md"] {
        assert_eq!(tools.text(path).await, expected, "{path}");
    }

    let body = json!({ "content": "# New\n", "frontmatter": { "zeta": 1, "map": given } });
    assert_eq!(put(&client, "new.md", &[("if-none-match", "*")], body).await.status, 201);
    assert_eq!(tools.text("new.md").await, format!("---\nzeta: 1\n{written}---\n# New\n"));
}

#[tokio::test]
async fn the_same_properties_in_another_order_are_the_same_call() {
    let client = vault().await.client();
    let write = async |frontmatter: &str| {
        let frontmatter: Value = serde_json::from_str(frontmatter).unwrap();
        let keyed = [("if-none-match", "*"), ("idempotency-key", "k")];
        put(&client, "new.md", &keyed, json!({ "content": "# New\n", "frontmatter": frontmatter })).await
    };
    let first = write(r#"{"z":{"u":1,"b":2},"a":1}"#).await.json();
    let again = write(r#"{"a":1,"z":{"b":2,"u":1}}"#).await.json();
    assert_eq!(first, again);
    assert!(read(&client, "new.md").await.starts_with("---\nz:\n  u: 1\n  b: 2\na: 1\n---\n"));
    let (_, reason, _) = write(r#"{"a":1,"z":{"b":2,"u":3}}"#).await.error(409);
    assert_eq!(reason, "idempotency_key_mismatch");
}

#[tokio::test]
async fn what_a_mode_needs_is_named_and_what_cannot_be_written_changes_nothing() {
    let client = vault().await.client();
    let tools = Tools::of(&client);
    for (arguments, field) in [
        (json!({ "mode": "set", "key": "a" }), "value"),
        (json!({ "mode": "set", "value": 1 }), "key"),
        (json!({ "mode": "remove" }), "key"),
        (json!({ "mode": "merge" }), "patch"),
        (json!({ "mode": "merge", "patch": {}, "key": "a" }), "key"),
        (json!({ "mode": "replace" }), "frontmatter"),
        (json!({ "mode": "set", "key": "x".repeat(200), "value": 1 }), "value"),
        (json!({ "path": "c.md", "mode": "set", "key": "a", "value": 1 }), "value"),
        (json!({ "path": "c.md", "mode": "remove", "key": "a" }), "key"),
    ] {
        let mut call = arguments;
        if call.get("path").is_none() {
            call["path"] = json!("b.md");
        }
        let error = tools.bad("update_frontmatter", call, "invalid_input").await;
        assert_eq!(error["details"]["field"], field, "{error}");
    }
    let missing = json!({ "path": "no.md", "mode": "remove", "key": "a" });
    tools.bad("update_frontmatter", missing, "note_not_found").await;
    assert_eq!(tools.text("b.md").await, "text\n");
}

#[tokio::test]
async fn to_replace_all_properties_is_to_be_confirmed() {
    let deployment = vault().await;
    let client = guarded(&deployment);
    let tools = Tools::guarded(&client);
    tools.good("update_frontmatter", json!({ "path": "b.md", "mode": "set", "key": "a", "value": null })).await;
    let replace = json!({ "path": "b.md", "mode": "replace", "frontmatter": {} });
    let answer = tools.confirmed("update_frontmatter", replace).await;
    assert_eq!(answer["prev_frontmatter"], json!({ "a": null }));
    assert_eq!(tools.text("b.md").await, "text\n");
}

#[tokio::test]
async fn a_key_may_name_what_stands_within_a_property() {
    let vault = VaultBuilder::new()
        .note("a.md", "---\nauthor: {name: Ada, mail: {home: a@b.c}}\n---\n")
        .note("b.md", "---\nauthor: Ada\n---\n")
        .note("c.md", "---\nauthor: {name: [Ada, Bob]}\n\"author.name\": Cleo\n---\n");
    let client = Deployment::of_vault(&vault).await.client();
    let tools = Tools::of(&client);
    for (path, key, nested, expected) in [
        ("a.md", "author.name", true, Some(json!("Ada"))),
        ("a.md", "author.name", false, None),
        ("a.md", "author.mail.home", true, Some(json!("a@b.c"))),
        ("a.md", "author.age", true, None),
        ("b.md", "author.name", true, None),
        ("c.md", "author.name", true, Some(json!("Cleo"))),
    ] {
        let read = tools.good("read_property", json!({ "path": path, "key": key, "nested": nested })).await;
        let present = json!(expected.is_some());
        assert_eq!((&read["value"], &read["present"]), (&expected.unwrap_or_default(), &present), "{path} {key}");
    }
    let found = async |arguments: Value| {
        let found = tools.good("find_notes_by_property", arguments).await;
        let paths = found["items"].as_array().unwrap().iter().map(|note| note["path"].as_str().unwrap().to_owned());
        (paths.collect::<Vec<_>>(), found["items"][0]["matched_values"]["author.name"].clone())
    };
    let name = json!({ "key": "author.name", "nested": true });
    assert_eq!(found(name).await, (vec!["a.md".to_owned(), "c.md".to_owned()], json!("Ada")));
    let ada = json!({ "key": "author.name", "value": "Ada", "nested": true });
    assert_eq!(found(ada).await.0, ["a.md"]);
    let absent = json!({ "filter": [{ "key": "author.name", "op": "absent" }], "nested": true });
    assert_eq!(found(absent).await.0, ["b.md"]);
    assert_eq!(found(json!({ "key": "author.name" })).await.0, ["c.md"]);
}
