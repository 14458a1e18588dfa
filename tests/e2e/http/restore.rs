//! Restoring: a note returns to an earlier version, from history or from the trash, and nothing is lost.

use atlas_testkit::VaultBuilder;
use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};

use crate::support::deployment::{Client, Deployment, Reply, encoded};
use crate::support::note_calls::{create, delete, read, send};
use crate::support::programs::{Place, json_of, refusal_of};
use crate::support::publish::exported;

async fn restore(client: &Client, path: &str, headers: &[(&str, &str)], body: Value) -> Reply {
    let mut request = Request::post(format!("/restore/{}", encoded(path))).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    client.send(request.body(Body::from(body.to_string())).unwrap()).await
}

#[tokio::test]
async fn a_note_becomes_what_it_was_at_a_generation() {
    let text = "# One\r\n\r\nfirst zanzibar words  \r\n";
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a b.md", text)).await;
    let client = deployment.client();
    let second = send(&client, Method::PUT, "a b.md", &[("if-match", "*")], json!({ "content": "second" })).await;
    let etag = second.header("etag").unwrap().to_owned();
    let first = json!({ "generation": 1, "message": "it was better" });

    let blind = restore(&client, "a b.md", &[], first.clone()).await;
    assert_eq!((blind.error(428).1.as_str(), blind.header("etag")), ("note_exists", Some(etag.as_str())));
    assert_eq!(restore(&client, "a b.md", &[("if-match", "\"00\"")], first.clone()).await.error(412).1, "note_changed");
    let headers = [("if-match", etag.as_str()), ("idempotency-key", "k")];
    let restored = restore(&client, "a b.md", &headers, first.clone()).await;
    assert_eq!((restored.ok()["generation"].as_u64(), restored.ok()["created"].as_bool()), (Some(3), Some(false)));
    assert_eq!(restore(&deployment.client(), "a b.md", &headers, first.clone()).await.ok(), restored.ok());
    assert_eq!(read(&client, "a b.md").await, text);
    assert_eq!(client.found("zanzibar").await, ["a b.md"]);
    let history = client.get("/history/a%20b.md").await.ok();
    let of = |field: &str| -> Vec<Value> {
        history["versions"].as_array().unwrap().iter().map(|version| version[field].clone()).collect()
    };
    assert_eq!(of("operation"), ["restore_note", "write_note", "sync"]);
    assert_eq!(of("message")[0], "it was better");
    assert_eq!(of("sha256")[0], of("sha256")[2]);
    // It already has that text, so nobody's change is lost.
    assert_eq!(restore(&client, "a b.md", &[], first.clone()).await.ok()["generation"], 3);
    assert_eq!(deployment.mirror().head().await.unwrap().generation(), 3);

    // A deleted note is restored as well.
    delete(&client, "a%20b.md", &[]).await.ok();
    let history = client.get("/history/a%20b.md").await.ok();
    assert_eq!((&history["deleted_at_generation"], &history["versions"][0]["generation"]), (&json!(4), &json!(3)));
    assert_eq!(history["versions"].as_array().unwrap().len(), 3, "{history}");
    let back = restore(&client, "a b.md", &[], json!({ "generation": 2 })).await;
    assert_eq!((back.status.as_u16(), read(&client, "a b.md").await.as_str()), (201, "second"));

    assert_eq!(client.get("/history/a%20b.md").await.ok().get("deleted_at_generation"), None);

    for (path, body, reason) in [
        ("a b.md", json!({ "generation": 99 }), "generation_not_found"),
        ("a b.md", json!({ "generation": 4 }), "note_not_found"),
        ("never.md", json!({ "generation": 1 }), "note_not_found"),
    ] {
        assert_eq!(restore(&client, path, &[("if-match", "*")], body.clone()).await.error(404).1, reason, "{body}");
    }
}

#[tokio::test]
async fn a_deleted_note_comes_out_of_the_trash() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("other.md", "other")).await;
    let client = deployment.client();
    create(&client, "notes/gone.md", "# Gone\n\nzanzibar words #gonetag\n").await;
    let totals = deployment.mirror().head().await.unwrap().manifest().totals;
    delete(&client, "notes/gone.md", &[]).await.ok();
    let at_parameter = Request::post("/restore?path=notes/gone.md").header("content-type", "application/json");
    let restored = client.send(at_parameter.body(Body::empty()).unwrap()).await;
    assert_eq!((restored.status.as_u16(), restored.json()["generation"].as_u64()), (201, Some(4)));
    assert_eq!(read(&client, "notes/gone.md").await, "# Gone\n\nzanzibar words #gonetag\n");
    assert_eq!(client.found("zanzibar").await, ["notes/gone.md"]);
    let head = deployment.mirror().head().await.unwrap();
    assert_eq!((head.manifest().totals, head.manifest().changes.added), (totals, 1));

    // It is not in the trash any more, so a later note at the path is not replaced.
    delete(&client, "notes/gone.md?hard=true", &[]).await.ok();
    assert_eq!(restore(&client, "notes/gone.md", &[], json!({})).await.error(404).1, "note_not_found");

    create(&client, "b.md", "first").await;
    delete(&client, "b.md", &[]).await.ok();
    let etag = create(&client, "b.md", "second").await.header("etag").unwrap().to_owned();
    assert_eq!(restore(&client, "b.md", &[], json!({})).await.error(428).1, "note_exists");
    let one = deployment.client();
    let other = deployment.client();
    let headers = [("if-match", etag.as_str())];
    let replies =
        futures::join!(restore(&one, "b.md", &headers, json!({})), restore(&other, "b.md", &headers, json!({})));
    let mut statuses = [replies.0.status.as_u16(), replies.1.status.as_u16()];
    statuses.sort_unstable();
    assert!(statuses == [200, 404] || statuses == [200, 412], "{statuses:?}");
    assert_eq!(read(&client, "b.md").await, "first");
}

#[tokio::test]
async fn a_page_on_another_site_cannot_restore_anything() {
    let client = Deployment::of_demo().await.client();
    for content_type in ["", "text/plain", "application/x-www-form-urlencoded"] {
        let request = Request::post("/restore/vault/Home.md").header("content-type", content_type);
        assert_eq!(client.send(request.body(Body::empty()).unwrap()).await.error(400).1, "content_type_invalid");
    }
    assert_eq!(client.requests.take().count(), 0);
}

#[test]
fn the_host_restores_over_whatever_is_there() {
    let place = Place::new();
    let vault = VaultBuilder::new().note("a.md", "first\n").note("b.md", "b\n");
    assert!(place.sync(vault.root()).status().unwrap().success());
    vault.write("a.md", b"second\n");
    assert!(place.sync(vault.root()).status().unwrap().success());
    let restore = |arguments: &[&str]| {
        let mut command = place.atlas("restore");
        command.args(arguments).arg("--json").env("USER", "maeve");
        command
    };
    let restored = json_of(&mut restore(&["a.md", "--generation", "1", "--message", "it was better"]));
    assert_eq!((restored["generation"].as_u64(), restored["path"].as_str()), (Some(3), Some("a.md")));
    vault.write("a.md", b"first\n");
    assert_eq!(place.exports(vault.root()), 3);
    let log = json_of(place.atlas("log").arg("--json"));
    assert_eq!(log[0]["author"], "maeve");
    assert_eq!((&log[0]["operation"], &log[0]["message"]), (&json!("restore_note"), &json!("it was better")));
    assert!(refusal_of(&mut restore(&["b.md"])).contains("in the trash"));
}

#[tokio::test]
async fn the_trash_keeps_what_was_deleted_at_one_path_again() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("a.md", "first\n")).await;
    let client = deployment.client();
    delete(&client, "a.md", &[]).await.ok();
    for text in ["second\n", "second\n"] {
        create(&client, "a.md", text).await;
        delete(&client, "a.md", &[]).await.ok();
    }
    let (files, _) = exported(&deployment.mirror(), None).await;
    let kept: Vec<(&str, &[u8])> = files.iter().map(|(path, text)| (path.as_str(), text.as_slice())).collect();
    let first = format!(".trash/a ({}).md", &atlas_mirror::Hash::of(b"first\n").to_string()[..8]);
    assert_eq!(kept, [(first.as_str(), &b"first\n"[..]), (".trash/a.md", b"second\n")]);
    assert_eq!(restore(&client, "a.md", &[], json!({})).await.status.as_u16(), 201);
    assert_eq!(client.get("/notes/a.md").await.ok()["content"], "second\n");
}
