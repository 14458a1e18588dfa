//! obsidian-tc's tools for notes, as agents call them.

use std::collections::BTreeSet;

use atlas_access::{Scope, scope};
use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::deployment::{Client, Deployment};
use crate::support::tool_calls::{agent, caller, confirmed, guarded};

fn items(page: &Value) -> Vec<(String, bool)> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| (item["path"].as_str().unwrap().to_owned(), item["type"] == "folder")).collect()
}

const FILES: [&str; 12] = [
    "Home.md",
    "a.md",
    "a-b.md",
    "a/one.md",
    "a/two.md",
    "a/pic.PNG",
    "a/b/three.md",
    "a/b/c/four.md",
    "a0.md",
    "only pictures/x.png",
    "z/deep/five.md",
    "é/six.md",
];

/// The expected listing of [`FILES`], computed from the definition.
fn listed(root: &str, prefix: &str, recursive: bool, folders: bool, extensions: &[&str]) -> Vec<(String, bool)> {
    let mut all = BTreeSet::new();
    for path in FILES {
        let Some(below) = path.strip_prefix(root).filter(|_| path.starts_with(prefix)) else { continue };
        let is_listed = extensions.is_empty() || extensions.iter().any(|end| path.to_lowercase().ends_with(end));
        if is_listed && (recursive || !below.contains('/')) {
            all.insert((path.to_owned(), false));
        }
        let mut parts: Vec<&str> = below.split('/').collect();
        parts.pop();
        for depth in 1..=if recursive { parts.len() } else { parts.len().min(1) } {
            let folder = format!("{root}{}/", parts[..depth].join("/"));
            if folders && folder.starts_with(prefix) {
                all.insert((folder, true));
            }
        }
    }
    all.into_iter().map(|(path, is_folder)| (path.trim_end_matches('/').to_owned(), is_folder)).collect()
}

#[tokio::test]
async fn a_folder_is_listed_as_it_is() {
    let vault = FILES.iter().fold(VaultBuilder::new(), |vault, path| vault.file(path, path.as_bytes()));
    let vault = vault.note(".obsidian/app.json", "{}");
    let deployment = Deployment::of_vault(&vault).await;
    let client = deployment.client();
    let agent = agent(&client);
    // Of several segments too.
    agent.answer("write_note", json!({ "path": "a/two.md", "mode": "upsert", "content": "2" })).await;
    for (root, prefix) in [("", ""), ("a/", ""), ("a/b/", ""), ("", "a"), ("a/", "a/b"), ("", "é")] {
        for (recursive, folders) in [(true, false), (true, true), (false, false), (false, true)] {
            for extensions in [&[".md"][..], &[".png"], &[]] {
                let expected = listed(root, prefix, recursive, folders, extensions);
                for limit in [1, 2, 1000] {
                    let mut arguments = json!({
                        "root": root, "prefix": prefix, "recursive": recursive, "include_folders": folders,
                        "extensions": extensions, "limit": limit,
                    });
                    let mut all = Vec::new();
                    for _ in 0..30 {
                        let page = agent.answer("list_notes", arguments.clone()).await;
                        all.extend(items(&page));
                        match page.get("cursor") {
                            Some(cursor) => arguments["cursor"] = cursor.clone(),
                            None => break,
                        }
                    }
                    assert_eq!(all, expected, "{arguments}");
                }
            }
        }
    }
    let page = agent.checked("list_notes", json!({ "root": "a", "include_folders": true, "limit": 5000 })).await;
    assert_eq!((&page["overflow"], &page["items"][0]["type"]), (&json!(true), &json!("folder")));
    assert_eq!(page["items"][3], client.get("/notes?root=a&recursive=true").await.ok()["items"][1]);
    let png = client.get("/notes?extensions=png,.canvas&include_folders=true&recursive=false&root=a").await.ok();
    assert_eq!(items(&png), [("a/b".to_owned(), true), ("a/pic.PNG".to_owned(), false)]);
    let first = agent.answer("list_notes", json!({ "limit": 1 })).await;
    let other = json!({ "limit": 1, "root": "a", "cursor": first["cursor"] });
    assert_eq!(agent.refused("list_notes", other).await, "cursor_invalid");
    assert_eq!(agent.refused("list_notes", json!({ "root": "../a" })).await, "path_invalid");
    assert_eq!(agent.refused("list_notes", json!({ "root": "none/" })).await, "note_not_found");
}

/// Text that does not compress well.
fn noise(bytes: usize) -> String {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + ((state >> 33) % 26) as u8)
    };
    (0..bytes).map(|_| next()).collect()
}

#[tokio::test]
async fn parts_of_a_note_are_read_without_its_text() {
    let text = format!("---\nstatus: open\n---\n{}\n", noise(200_000));
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", &text).note("b.md", "b\n")).await;
    let client = deployment.client();
    let agent = agent(&client);
    let whole = agent.checked("read_note", json!({ "path": "a.md", "include_stats": true })).await;
    assert_eq!((&whole["content"], &whole["content_hash"]), (&json!(text), &whole["sha256"]));
    assert_eq!((&whole["stats"]["size"], whole["stats"]["mtime"].is_string()), (&json!(text.len()), true));
    let properties = agent.checked("read_note", json!({ "path": "a.md", "include_content": false })).await;
    assert_eq!((&properties["frontmatter"], properties.get("content")), (&json!({ "status": "open" }), None));

    let cold = deployment.client();
    let none = json!({ "path": "a.md", "include_content": false, "include_frontmatter": false });
    let none = self::agent(&cold).checked("read_note", none).await;
    assert_eq!((none.get("frontmatter"), &none["sha256"]), (None, &whole["sha256"]));
    let without = json!({ "paths": ["a.md"], "include_content": false, "include_frontmatter": false });
    self::agent(&cold).answer("read_notes", without).await;
    self::agent(&cold).answer("note_exists", json!({ "path": "a.md" })).await;
    self::agent(&cold).answer("list_notes", json!({ "recursive": false, "include_folders": true })).await;
    assert!(cold.requests.take().bytes() < 60_000, "its text was read");
}

#[tokio::test]
async fn several_notes_are_read_at_once_each_for_itself() {
    let vault = VaultBuilder::new()
        .note("a.md", "---\nk: 1\n---\none\n")
        .note("b/c.md", "two\n")
        .note("hidden/d.md", "secret\n")
        .file("pic.png", b"\x89PNG")
        .note("long.md", &noise(300_000));
    let deployment = Deployment::of_vault(&vault).await;
    let config =
        json!({ "vaults": [{ "id": "main", "acl": { "readPaths": ["*.md", "b/**", "pic.png"] } }] }).to_string();
    let client = deployment.set_up(&[("ATLAS_CONFIG", &config)]).await;
    let agent = agent(&client);
    let paths = ["a.md", "hidden/d.md", "none.md", "b/c.md", "../x.md", "pic.png", "long.md", "a.md", "hidden/none.md"];
    let read = agent.checked("read_notes", json!({ "paths": paths })).await;
    let results = read["results"].as_array().unwrap();
    let told = |at: usize| results[at]["error"]["code"].as_str().unwrap_or("ok");
    let expected = [
        "ok",
        "acl_denied",
        "note_not_found",
        "ok",
        "path_invalid",
        "note_not_found",
        "note_too_large",
        "ok",
        "acl_denied",
    ];
    for (at, (path, expected)) in paths.iter().zip(expected).enumerate() {
        assert_eq!((&results[at]["path"], told(at)), (&json!(path), expected));
        assert_eq!(results[at]["ok"], expected == "ok");
    }
    assert_eq!(results[0]["note"], agent.answer("read_note", json!({ "path": "a.md" })).await);
    assert_eq!(results[3]["note"]["content"], "two\n");
    for paths in [vec![], vec!["a.md"; 51]] {
        assert_eq!(agent.refused("read_notes", json!({ "paths": paths })).await, "invalid_input");
    }
    for (path, expected) in [
        ("a.md", json!({ "exists": true, "type": "file" })),
        ("b", json!({ "exists": true, "type": "folder" })),
        ("b/", json!({ "exists": true, "type": "folder" })),
        ("b/c", json!({ "exists": false })),
        ("pic.png", json!({ "exists": true, "type": "file" })),
        ("hidden", json!({ "exists": false })),
        ("hidden/d.md", json!({ "exists": false })),
        (".obsidian", json!({ "exists": false })),
        ("none.md", json!({ "exists": false })),
    ] {
        assert_eq!(agent.checked("note_exists", json!({ "path": path })).await, expected, "{path}");
    }
    assert_eq!(agent.refused("note_exists", json!({ "path": "../a.md" })).await, "path_invalid");
}

#[tokio::test]
async fn a_note_is_written_in_the_mode_that_is_asked_for() {
    let vault = VaultBuilder::new().note("a.md", "one\n").note("empty.md", "");
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    let write = |path: &str, mode: &str, content: &str| json!({ "path": path, "mode": mode, "content": content });
    let created = agent.checked("write_note", write("new.md", "create", "1")).await;
    assert_eq!((&created["mode_used"], &created["was_created"]), (&json!("create"), &json!(true)));
    assert!(created["created_at"].is_string() && created.get("updated_at").is_none(), "{created}");
    assert_eq!((&created["content_hash"], created.get("prev_hash")), (&created["sha256"], None));
    assert_eq!(agent.refused("write_note", write("new.md", "create", "2")).await, "note_exists");
    assert_eq!(agent.refused("write_note", json!({ "path": "new.md", "content": "2" })).await, "note_exists");
    assert_eq!(agent.refused("write_note", write("none.md", "overwrite", "2")).await, "note_not_found");
    let clobber = json!({ "path": "new.md", "mode": "create", "if_match": "*", "content": "2" });
    assert_eq!(agent.refused("write_note", clobber).await, "invalid_input");

    let upserted = agent.checked("write_note", write("new.md", "upsert", "2")).await;
    assert_eq!((&upserted["mode_used"], &upserted["was_created"]), (&json!("upsert"), &json!(false)));
    assert_eq!(upserted["prev_hash"], created["content_hash"]);
    assert!(upserted["updated_at"].is_string() && upserted.get("created_at").is_none(), "{upserted}");
    let stale = json!({ "path": "new.md", "mode": "upsert", "expected_hash": created["sha256"], "content": "3" });
    let stale = agent.failure("write_note", stale).await;
    assert_eq!((&stale["code"], &stale["details"]["sha256"]), (&json!("concurrent_modification"), &upserted["sha256"]));

    // Only if text may be lost, a confirmation is needed.
    agent.checked("write_note", write("empty.md", "overwrite", "text")).await;
    agent.checked("write_note", write("new.md", "overwrite", "2")).await;
    let overwrite =
        json!({ "path": "new.md", "mode": "overwrite", "expected_hash": upserted["sha256"], "content": "4" });
    let overwritten = confirmed(&client, "write_note", overwrite.clone()).await;
    assert_eq!((&overwritten["mode_used"], &overwritten["prev_hash"]), (&json!("overwrite"), &upserted["sha256"]));
    assert_eq!(agent.refused("write_note", overwrite).await, "concurrent_modification");

    // A caller who may only write sees no hash of the version before.
    let blind = caller(&client, &[Scope::WriteVault]);
    assert_eq!(blind.answer("write_note", write("new.md", "upsert", "4 and 5")).await.get("prev_hash"), None);
    let blind = blind.failure("write_note", write("new.md", "create", "6")).await;
    assert_eq!((&blind["code"], blind["details"].get("sha256")), (&json!("note_exists"), None));
}

#[tokio::test]
async fn of_writers_that_expect_the_same_version_one_wins() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "0")).await;
    let clients: Vec<Client> = (0..4).map(|_| deployment.client()).collect();
    for round in 0..5 {
        let expected = agent(&clients[0]).answer("read_note", json!({ "path": "a.md" })).await["sha256"].clone();
        let writes = clients.iter().enumerate().map(|(writer, client)| {
            let content = format!("{round}.{writer}");
            let arguments =
                json!({ "path": "a.md", "mode": "overwrite", "expected_hash": expected, "content": content });
            async move { agent(client).call("write_note", arguments).await }
        });
        let answers = futures::future::join_all(writes).await;
        let (lost, won): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer["isError"] == true);
        assert_eq!((won.len(), lost.len()), (1, 3));
        for lost in lost {
            assert!(lost["content"][0]["text"].as_str().unwrap().contains("concurrent_modification"), "{lost}");
        }
        let read = agent(&clients[1]).answer("read_note", json!({ "path": "a.md" })).await;
        assert_eq!(read["sha256"], won[0]["structuredContent"]["sha256"]);
    }
}

#[tokio::test]
async fn the_links_of_a_copy_lead_where_those_of_the_note_do() {
    let text = "[[x]] [x](./x.md) ![[pic.png]] [[Note#h]] [[#h]] `[[x]]`\r\n";
    let vault = VaultBuilder::new()
        .note("a/Note.md", text)
        .note("a/x.md", "near\n")
        .note("b/x.md", "far\n")
        .note("n.md", "[[Note]]\n")
        .file("pic.png", b"\x89PNG");
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    let copied = confirmed(&client, "copy_note", json!({ "from": "a/Note.md", "to": "b/Copy.md" })).await;
    assert_eq!((&copied["links_rewritten"], copied["created_at"].is_string()), (&json!(2), true));
    let copy = agent.answer("read_note", json!({ "path": "b/Copy.md" })).await;
    assert_eq!(copy["content"], text.replace("[[x]] [x](./x.md)", "[[a/x]] [x](../a/x.md)"));
    assert_eq!(copy["sha256"], copied["content_hash"]);
    let beside = json!({ "from": "a/Note.md", "to": "a/Copy.md", "rewrite_internal_links": false });
    assert_eq!(agent.checked("copy_note", beside.clone()).await["links_rewritten"], 0);
    assert_eq!(agent.refused("copy_note", beside).await, "note_exists");
    assert_eq!(agent.refused("copy_note", json!({ "from": "none.md", "to": "m.md" })).await, "note_not_found");
    assert_eq!(agent.refused("copy_note", json!({ "from": "n.md", "to": "m.txt" })).await, "path_invalid");
    let original = agent.answer("read_note", json!({ "path": "a/Note.md" })).await;
    assert_eq!(original["content"], text);
}

#[tokio::test]
async fn a_deleted_note_says_where_it_is() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "a").note("b.md", "b")).await;
    let client = guarded(&deployment).await;
    let soft = confirmed(&client, "delete_note", json!({ "path": "a.md" })).await;
    assert_eq!((&soft["recoverable"], &soft["trash_path"]), (&json!(true), &json!(".trash/a.md")));
    assert!(soft["deleted_at"].is_string(), "{soft}");
    let hard = confirmed(&client, "delete_note", json!({ "path": "b.md", "hard": true })).await;
    assert_eq!((&hard["recoverable"], hard.get("trash_path")), (&json!(false), None));
}

#[tokio::test]
async fn a_note_that_is_moved_over_is_in_the_trash() {
    let vault = VaultBuilder::new().note("a.md", "a\n").note("x/b.md", "b\n").note("n.md", "[[a]] [[x/b]] [[b]]\n");
    let deployment = Deployment::of_vault(&vault).await;
    let client = guarded(&deployment).await;
    let agent = caller(&client, &scope::ALL);
    let over = json!({ "from": "a.md", "to": "x/b.md", "overwrite_target": true });
    let moved = confirmed(&client, "move_note", over).await;
    assert_eq!((&moved["backlinks_updated"], moved["moved_at"].is_string()), (&json!(1), true));
    assert_eq!(moved["new_hash"], moved["sha256"]);
    assert_eq!(agent.answer("read_note", json!({ "path": "n.md" })).await["content"], "[[b]] [[x/b]] [[b]]\n");
    assert_eq!(agent.answer("read_note", json!({ "path": "x/b.md" })).await["content"], "a\n");
    confirmed(&client, "restore_note", json!({ "path": "x/b.md", "if_match": "*" })).await;
    assert_eq!(agent.answer("read_note", json!({ "path": "x/b.md" })).await["content"], "b\n");
    // Without links, within a folder: only because a note is replaced.
    agent.answer("write_note", json!({ "path": "x/c.md", "content": "c" })).await;
    let quiet = |overwrite: bool| json!({ "from": "x/c.md", "to": "x/b.md", "update_backlinks": false, "overwrite_target": overwrite });
    assert_eq!(agent.refused("move_note", quiet(false)).await, "note_exists");
    confirmed(&client, "move_note", quiet(true)).await;
    assert_eq!(agent.refused("move_note", quiet(true)).await, "note_not_found");
}
