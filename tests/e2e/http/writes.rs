//! Writing notes: nobody's text is lost, and everyone sees a write at once.

use atlas_mirror::{Store, StoreOptions};
use atlas_testkit::notes::contents;
use atlas_testkit::{Fault, FaultStore, Op, VaultBuilder};
use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::json;

use crate::support::deployment::{Client, Deployment};
use crate::support::note_calls::{create, delete, put, read, send};

#[tokio::test]
async fn a_note_is_created_once_and_replaced_by_who_has_seen_it() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client();
    let created = create(&client, "vault/new note.md", "# New\n\nfirst words\r\n").await;
    assert_eq!(created.status, 201);
    let first = created.header("etag").unwrap().to_owned();
    assert_eq!(created.json()["sha256"].as_str(), Some(first.trim_matches('"')));
    assert_eq!((created.json()["generation"].as_u64(), created.header("x-atlas-generation")), (Some(2), Some("2")));
    assert_eq!(read(&client, "vault/new note.md").await, "# New\n\nfirst words\r\n");

    let again = create(&client, "vault/new note.md", "other").await;
    assert_eq!((again.error(412).1.as_str(), again.header("etag")), ("note_exists", Some(first.as_str())));
    let blind = put(&client, "vault/new note.md", &[], json!({ "content": "other" })).await;
    assert_eq!((blind.error(428).0.as_str(), blind.header("etag")), ("PRECONDITION_REQUIRED", Some(first.as_str())));
    let replaced =
        put(&client, "vault/new note.md", &[("if-match", &first)], json!({ "content": "second words" })).await;
    assert_eq!((replaced.status.as_u16(), replaced.json()["created"].as_bool()), (200, Some(false)));
    let stale = put(&client, "vault/new note.md", &[("if-match", &first)], json!({ "content": "third" })).await;
    let second = replaced.header("etag").unwrap();
    assert_eq!((stale.error(412).1.as_str(), stale.header("etag")), ("note_changed", Some(second)));
    let weak =
        put(&client, "vault/new note.md", &[("if-match", &format!("W/{second}"))], json!({ "content": "x" })).await;
    assert_eq!(weak.error(412).1, "note_changed");
    let listed = format!("\"0000\", {second}");
    let same = put(&client, "vault/new note.md", &[("if-match", &listed)], json!({ "content": "second words" })).await;
    assert_eq!(same.ok()["generation"], 3, "what is the same already is no new generation");
    let missing = put(&client, "vault/none.md", &[("if-match", "*")], json!({ "content": "x" })).await;
    assert_eq!((missing.error(412).1.as_str(), missing.header("etag")), ("note_not_found", None));
    assert_eq!(put(&client, "vault/free.md", &[], json!({ "content": "x", "message": "why not" })).await.status, 201);

    let raw = Request::builder()
        .method(Method::PUT)
        .uri("/notes?path=vault/raw.md")
        .header("content-type", "text/markdown; charset=utf-8");
    assert_eq!(client.send(raw.body(Body::from("*raw* words")).unwrap()).await.status, 201);
    assert_eq!(read(&client, "vault/raw.md").await, "*raw* words");
    let head = deployment.mirror().head().await.unwrap();
    assert_eq!((head.manifest().operation.as_str(), head.manifest().changes.added), ("write_note", 1));
}

#[tokio::test]
async fn what_cannot_be_written_is_refused_before_the_store_is_asked() {
    let client = Deployment::of_demo().await.client();
    for (path, reason) in [
        ("vault/note.txt", "path_invalid"),
        (".obsidian/app.md", "path_invalid"),
        ("a/.trash/x.md", "path_invalid"),
        ("../out.md", "path_invalid"),
        ("vault/.md", "path_invalid"),
    ] {
        assert_eq!(create(&client, path, "x").await.error(400).1, reason, "{path}");
    }
    for (headers, body) in [
        (&[][..], json!({})),
        (&[], json!({ "content": 7 })),
        (&[], json!({ "content": "x", "path": "other.md" })),
        (&[], json!({ "content": "x", "more": 1 })),
        (&[("if-match", "*"), ("if-none-match", "*")], json!({ "content": "x" })),
        (&[("if-none-match", "\"abc\"")], json!({ "content": "x" })),
    ] {
        assert_eq!(put(&client, "vault/a.md", headers, body.clone()).await.error(400).1, "validation_error", "{body}");
    }
    // Requests that a page on another site could make a browser send.
    let posted =
        Request::builder().method(Method::POST).uri("/notes?path=vault/a.md&content=x").body(Body::empty()).unwrap();
    assert_eq!(client.send(posted).await.error(400).1, "validation_error");
    assert_eq!(client.requests.take().count(), 0);
}

#[tokio::test]
async fn everyone_sees_a_write_at_once() {
    let deployment = Deployment::of_demo().await;
    let (writer, reader) = (deployment.client(), deployment.client());
    reader.found("zanzibar").await;
    for (round, word) in ["zanzibar", "mombasa", "lamu"].into_iter().enumerate() {
        let text = format!("# The road to {word}\n\nship {round} in {word} harbour, [[Home]] #travel\n");
        let path = format!("vault/routes/{word}.md");
        create(&writer, &path, &text).await;
        assert_eq!(reader.found(&format!("in {word} harbour")).await, std::slice::from_ref(&path));
        for body in [
            json!({ "query": word }),
            json!({ "query": format!("^ship . in {word}"), "mode": "regex" }),
            json!({ "query": "tag:travel" }),
        ] {
            let page = reader.post("/search", body.clone()).await.ok();
            let found: Vec<&str> =
                page["results"].as_array().unwrap().iter().map(|found| found["path"].as_str().unwrap()).collect();
            assert!(found.contains(&path.as_str()), "{body}: {page}");
        }
        assert_eq!(read(&reader, &path).await, text);
        let listed = reader.get("/notes?prefix=vault/routes/").await.ok();
        assert_eq!(listed["items"].as_array().unwrap().len(), round + 1);
    }
    // The text before a replacement is not found any more.
    let etag = reader.get("/notes/vault/routes/lamu.md").await.header("etag").unwrap().to_owned();
    put(&writer, "vault/routes/lamu.md", &[("if-match", &etag)], json!({ "content": "nothing" })).await.ok();
    assert!(reader.found("in lamu harbour").await.is_empty());
    assert_eq!(
        reader.post("/search", json!({ "query": "lamu" })).await.ok()["results"].as_array().unwrap().len(),
        1,
        "its name"
    );
}

#[tokio::test]
async fn nothing_is_written_to_a_store_that_loses_writes() {
    let deployment = Deployment::of_demo().await;
    let store = FaultStore::new(deployment.objects.clone());
    store.always(Op::Create, "", Fault::Careless);
    let client = Client::over(&Store::new(store.clone(), "", StoreOptions::default()).unwrap());
    let refused = create(&client, "a.md", "x").await;
    assert_eq!(refused.error(503).1, "store_unsafe");
    client.found("harbour").await;
    store.heal();
    assert_eq!(create(&client, "a.md", "x").await.status, 201);
    assert_eq!(deployment.mirror().head().await.unwrap().generation(), 2);
}

#[tokio::test]
async fn a_deleted_note_is_nowhere_but_in_the_trash_and_in_history() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client();
    let created = create(&client, "vault/gone.md", "# Gone\n\nunique zanzibar words #gonetag\n").await;
    let etag = created.header("etag").unwrap().to_owned();
    let before = deployment.mirror().head().await.unwrap().manifest().totals;
    assert_eq!(delete(&client, "vault/gone.md", &[("if-match", "\"00\"")]).await.error(412).1, "note_changed");
    let deleted = delete(&client, "vault/gone.md?message=too%20old", &[("if-match", &etag)]).await.ok();
    assert_eq!(
        (deleted["trash"].as_str(), deleted["last_generation"].as_u64()),
        (Some(".trash/vault/gone.md"), Some(2))
    );
    assert_eq!(delete(&client, "vault/gone.md", &[]).await.error(404).1, "note_not_found");

    assert_eq!(client.get("/notes/vault/gone.md").await.error(404).1, "note_not_found");
    assert_eq!(client.get("/notes/.trash/vault/gone.md").await.error(403).1, "acl_denied");
    assert!(client.found("zanzibar").await.is_empty());
    for body in [
        json!({ "query": "zanzibar" }),
        json!({ "query": "tag:gonetag" }),
        json!({ "query": "zanzibar", "mode": "literal" }),
        json!({ "query": "path:gone" }),
    ] {
        let page = client.post("/search", body.clone()).await.ok();
        assert_eq!(page["results"], json!([]), "{body}");
    }
    assert_eq!(client.get("/notes?prefix=.trash").await.ok()["items"], json!([]));
    let head = deployment.mirror().head().await.unwrap();
    assert_eq!(head.manifest().totals.documents, before.documents - 1);
    assert_eq!(
        (head.manifest().operation.as_str(), head.manifest().message.as_deref()),
        ("delete_note", Some("too old"))
    );
    let old = client.get("/notes/vault/gone.md?generation=2").await.ok();
    assert!(old["content"].as_str().unwrap().contains("zanzibar"));
    assert_eq!(client.get("/notes/vault/gone.md?generation=9").await.error(404).1, "generation_not_found");

    // It can be created again, deleted again, and deleted permanently.
    create(&client, "vault/gone.md", "second").await;
    delete(&client, "vault/gone.md", &[]).await.ok();
    create(&client, "vault/gone.md", "third").await;
    assert!(delete(&client, "vault/gone.md?hard=true", &[]).await.ok().get("trash").is_none());
    assert_eq!(delete(&client, "vault/gone.md?hard=perhaps", &[]).await.error(400).1, "validation_error");
}

#[tokio::test]
async fn an_edit_changes_what_it_names_and_nothing_else() {
    let text = "---\r\ntitle: \"One\"   # a remark\r\ntags: [a,  b]\r\n---\r\n# Log  \r\n\r\nfirst\r\n\r\n## Later\r\n\r\nlast ^end";
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("log.md", text)).await;
    let client = deployment.client();
    let edits = json!({ "edits": [
        { "op": "append_to_section", "target": { "heading": ["Log"] }, "text": "second" },
        { "op": "set_property", "name": "status", "value": "done" },
        { "op": "replace_text", "find": "first", "replace": "1st" },
        { "op": "append", "text": "more" },
    ], "message": "as was asked" });
    let edited = send(&client, Method::PATCH, "log.md", &[], edits).await;
    assert_eq!(edited.ok()["generation"], 2);
    let expected = "---\r\ntitle: \"One\"   # a remark\r\ntags: [a,  b]\r\nstatus: done\r\n---\r\n# Log  \r\n\r\n1st\r\n\r\n## Later\r\n\r\nlast ^end\r\nsecond\r\nmore";
    assert_eq!(read(&client, "log.md").await, expected);
    assert_eq!(edited.header("etag"), client.get("/notes/log.md").await.header("etag"));

    for (edits, reason) in [
        (
            json!([{ "op": "append", "text": "x" }, { "op": "replace_text", "find": "nowhere", "replace": "y" }]),
            "target_not_found",
        ),
        (json!([{ "op": "insert_after", "target": { "heading": ["Lager"] }, "text": "x" }]), "target_not_found"),
        (json!([{ "op": "replace_text", "find": "t", "replace": "y" }]), "target_ambiguous"),
        (json!([]), "validation_error"),
        (json!([{ "op": "burn" }]), "validation_error"),
    ] {
        let refused = send(&client, Method::PATCH, "log.md", &[], json!({ "edits": edits })).await;
        assert_eq!(refused.error(400).1, reason, "{edits}");
        let candidates = refused.json()["error"]["details"]["candidates"].to_string();
        let names = if edits.to_string().contains("Lager") { "Later" } else { "\"line\"" };
        assert_eq!(candidates.contains(names), reason == "target_ambiguous" || names == "Later", "{candidates}");
    }
    assert_eq!(read(&client, "log.md").await, expected);
    let edit = json!({ "edits": [{ "op": "append", "text": "x" }] });
    assert_eq!(send(&client, Method::PATCH, "none.md", &[], edit.clone()).await.error(404).1, "note_not_found");
    assert_eq!(
        send(&client, Method::PATCH, "log.md", &[("if-match", "\"00\"")], edit).await.error(412).1,
        "note_changed"
    );
}

#[tokio::test]
async fn a_note_too_large_for_its_text_to_be_at_hand_is_not_taken_for_empty() {
    let vault = VaultBuilder::new()
        .file("big.md", &vec![b'x'; (64 << 20) + 1])
        .file("large.md", "large\n".repeat((8 << 20) / 6 + 1).as_bytes());
    let deployment = Deployment::of_vault(&vault).await;
    let client = deployment.client();
    let edit = json!({ "edits": [{ "op": "append", "text": "x" }] });
    for path in ["big.md", "large.md"] {
        for reply in [
            send(&client, Method::POST, path, &[], json!({ "content": "x" })).await,
            send(&client, Method::PATCH, path, &[], edit.clone()).await,
            delete(&client, path, &[]).await,
        ] {
            assert_eq!(reply.error(413).1, "note_too_large");
            let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains("8388608"), "{message}");
        }
    }
    assert_eq!(deployment.mirror().head().await.unwrap().generation(), 1);
    // Nor can a function restore it after it was replaced.
    put(&client, "big.md", &[("if-match", "*")], json!({ "content": "small" })).await.ok();
    let restored = client.post("/restore/big.md", json!({ "generation": 1, "if_match": "*" })).await;
    assert_eq!(restored.error(413).1, "note_too_large");
}

#[tokio::test]
async fn history_says_who_wrote_what() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "one\n").note("b.md", "other\n")).await;
    let client = deployment.client();
    for n in 2..=13 {
        let etag = client.get("/notes/a.md").await.header("etag").unwrap().to_owned();
        let body = json!({ "content": format!("text {n}\n"), "message": format!("round {n}") });
        put(&client, "a.md", &[("if-match", &etag)], body).await.ok();
        create(&client, &format!("more {n}.md"), "x").await;
    }
    let mut versions = Vec::new();
    let mut query = "limit=5".to_owned();
    loop {
        let page = client.get(&format!("/history/a.md?{query}")).await.ok();
        versions.extend(page["versions"].as_array().unwrap().clone());
        let Some(before) = page.get("before") else { break };
        query = format!("limit=5&before={before}");
    }
    assert_eq!(versions.len(), 13);
    for (version, n) in versions.iter().zip((2..=13).rev()) {
        assert_eq!(
            (version["operation"].as_str(), version["message"].as_str()),
            (Some("write_note"), Some(&*format!("round {n}")))
        );
        let old = client.get(&format!("/notes?path=a.md&generation={}", version["generation"])).await.ok();
        assert_eq!((&old["content"], &old["sha256"]), (&json!(format!("text {n}\n")), &version["sha256"]));
    }
    assert_eq!((versions[12]["operation"].as_str(), versions[12]["generation"].as_u64()), (Some("sync"), Some(1)));
    assert_eq!(client.get("/history/none.md").await.error(404).1, "note_not_found");
}

#[tokio::test]
async fn many_small_writes_become_few_segments() {
    let vault = (0..40).fold(VaultBuilder::new(), |vault, n| vault.note(&format!("old/{n}.md"), &format!("old {n}\n")));
    let deployment = Deployment::of_vault(&vault).await;
    let client = deployment.client();
    let mut most = 0;
    for n in 0..150 {
        let path = format!("new/{}.md", n % 60);
        let etag = client.get(&format!("/notes/{path}")).await.header("etag").map(str::to_owned);
        let headers = etag.iter().map(|etag| ("if-match", etag.as_str())).collect::<Vec<_>>();
        let reply = put(&client, &path, &headers, json!({ "content": format!("# Note {n}\n\nwords of {n}\n") })).await;
        assert!(reply.status.is_success(), "{reply:?}");
        most = most.max(deployment.mirror().head().await.unwrap().segments().len());
    }
    assert!((6..=18).contains(&most), "{most} segments");
    let head = deployment.mirror().head().await.unwrap();
    let held = contents(&head).await.unwrap();
    assert_eq!(held.len(), 100);
    for n in 90..150 {
        assert_eq!(held[&format!("new/{}.md", n % 60)], format!("# Note {n}\n\nwords of {n}\n"));
    }
    assert!((0..40).all(|n| held[&format!("old/{n}.md")] == format!("old {n}\n")));
    assert_eq!((head.manifest().totals.notes, head.manifest().totals.documents), (100, 100));
    let found = client.post("/search", json!({ "query": "^words of", "mode": "regex", "limit": 1000 })).await.ok();
    assert_eq!(found["results"].as_array().unwrap().len(), 60);
    // The log of a note continues through merges.
    let note = client.get("/notes/new/3.md").await.ok();
    assert_eq!(note["generation"], 1 + 124);
    let history = client.get("/history/new/3.md").await.ok();
    let generations = history["versions"].as_array().unwrap().iter().map(|version| version["generation"].as_u64());
    assert_eq!(generations.collect::<Vec<_>>(), [Some(125), Some(65), Some(5)]);
}

#[tokio::test]
async fn what_agents_write_comes_to_the_folder_and_a_person_s_version_stays_beside_it() {
    let vault = VaultBuilder::new().note("a.md", "one\n").note("b.md", "two\n").note("c.md", "see [[b]]\n");
    let deployment = Deployment::empty();
    let state = tempfile::tempdir().unwrap();
    let sync = async || crate::support::publish::publish(vault.root(), &deployment.mirror(), state.path()).await;
    sync().await;
    let client = deployment.client();
    create(&client, "agent.md", "by an agent").await;
    let etag = client.get("/notes/a.md").await.header("etag").unwrap().to_owned();
    put(&client, "a.md", &[("if-match", &etag)], json!({ "content": "one, by an agent" })).await.ok();
    client.post("/move/b.md", json!({ "to": "moved/d.md" })).await.ok();
    vault.write("a.md", b"one, by a person\n");
    vault.write("person.md", b"three, by a person\n");
    let summary = sync().await;
    let copy = summary.conflicts[0].copy.clone().unwrap();
    let texts = [
        ("agent.md", "by an agent"),
        ("a.md", "one, by a person\n"),
        (copy.as_str(), "one, by an agent"),
        ("moved/d.md", "two\n"),
        ("c.md", "see [[d]]\n"),
        ("person.md", "three, by a person\n"),
    ];
    for (path, text) in texts {
        assert_eq!(read(&client, path).await, text, "{path}");
        assert_eq!(vault.read(path), text.as_bytes(), "{path}");
    }
    assert_eq!(client.get("/notes/b.md").await.error(404).1, "note_not_found");
    assert!(!vault.path("b.md").exists());
    let summary = sync().await;
    assert_eq!((summary.pushed, summary.pulled), Default::default());
}
