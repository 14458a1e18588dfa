//! Calls with an idempotency key: executed once, even if their answers are lost.

use std::time::Duration;

use atlas_mirror::{Store, StoreOptions};
use atlas_testkit::{Fault, FaultStore, Op, VaultBuilder};
use axum::http::Method;
use serde_json::{Value, json};

use crate::support::clock;
use crate::support::deployment::{Client, Deployment, Reply};
use crate::support::note_calls::{create, read, send};
use crate::support::world::World;

/// A call that changes `log.md`, which has the one line "first".
struct Call {
    method: Method,
    path: &'static str,
    body: Value,
    status: u16,
}

impl Call {
    async fn send(&self, client: &Client, key: &str) -> Reply {
        send(client, self.method.clone(), self.path, &[("idempotency-key", key)], self.body.clone()).await
    }
}

fn append() -> Call {
    Call { method: Method::POST, path: "log.md", body: json!({ "content": "added" }), status: 200 }
}

fn calls() -> [Call; 5] {
    let edit = json!({ "edits": [{ "op": "append", "text": "added" }] });
    [
        append(),
        Call { method: Method::PATCH, path: "log.md", body: edit, status: 200 },
        Call { method: Method::POST, path: "new.md", body: json!({ "content": "new" }), status: 201 },
        Call { method: Method::PUT, path: "new.md", body: json!({ "content": "new" }), status: 201 },
        Call { method: Method::DELETE, path: "log.md", body: Value::Null, status: 200 },
    ]
}

/// A deployment with one note, a store in front of it that fails on demand, and a function over that.
async fn failing() -> (Deployment, std::sync::Arc<FaultStore>, Client) {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("log.md", "first\n")).await;
    let store = FaultStore::new(deployment.objects.clone());
    let client = Client::over(&Store::new(store.clone(), "", StoreOptions::default()).unwrap());
    (deployment, store, client)
}

#[tokio::test(start_paused = true)]
async fn a_keyed_call_is_executed_once_whatever_becomes_of_its_answer() {
    for fault in [
        Fault::ErrorAfter,
        Fault::OwnSuccess,
        Fault::SilenceAfter,
        Fault::Error,
        Fault::Silence,
        Fault::Late(Duration::from_secs(5)),
        Fault::Slow(Duration::from_millis(1200)),
    ] {
        for call in calls() {
            let what = format!("{fault:?}: {} {}", call.method, call.path);
            let (deployment, store, client) = failing().await;
            store.once(Op::Create, "/manifests/", fault);
            // The caller gives up, and the function ends with the connection.
            let first = tokio::time::timeout(Duration::from_secs(1), call.send(&client, "k-1")).await;
            let other = deployment.client();
            create(&other, "other.md", "written in between").await;
            let second = call.send(&deployment.client(), "k-1").await;
            tokio::time::sleep(Duration::from_secs(10)).await;
            create(&other, "more.md", "written after it").await;
            let third = call.send(&deployment.client(), "k-1").await;

            assert_eq!(second.status.as_u16(), call.status, "{what}: {second:?}");
            assert_eq!((third.status, third.json()), (second.status, second.json()), "{what}");
            assert_eq!(third.header("x-atlas-generation"), second.header("x-atlas-generation"), "{what}");
            if let Ok(first) = first {
                assert_eq!((first.status, first.json()), (second.status, second.json()), "{what}");
            }
            assert_eq!(deployment.mirror().head().await.unwrap().generation(), 4, "{what}");
            if call.path == "log.md" && call.method != Method::DELETE {
                assert_eq!(read(&other, "log.md").await.matches("added").count(), 1, "{what}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_is_lost_is_still_the_callers() {
    for fault in [Fault::Error, Fault::ErrorAfter, Fault::OwnSuccess, Fault::Silence, Fault::SilenceAfter] {
        let (deployment, store, client) = failing().await;
        store.once(Op::Create, "/state/claims/", fault);
        append().send(&client, "k").await.ok();
        append().send(&deployment.client(), "k").await.ok();
        assert_eq!(read(&client, "log.md").await, "first\n\nadded", "{fault:?}");
    }
}

#[tokio::test]
async fn of_many_who_send_one_keyed_append_at_once_one_appends() {
    let (deployment, _, client) = failing().await;
    for round in 0..5 {
        let key = format!("round-{round}");
        let clients: Vec<Client> = (0..8).map(|_| deployment.client()).collect();
        let call = append();
        let replies = futures::future::join_all(clients.iter().map(|client| call.send(client, &key)));
        let path = format!("bystander {round}.md");
        let (replies, _) = futures::join!(replies, create(&client, &path, "x"));
        let first = replies[0].ok();
        assert!(replies.iter().all(|reply| reply.ok() == first), "{replies:?}");
        assert_eq!(read(&client, "log.md").await.matches("added").count(), round + 1);
    }
}

#[tokio::test]
async fn a_key_is_for_one_call() {
    let (deployment, _, client) = failing().await;
    let first = append().send(&client, "k").await.ok();
    let other = Call { body: json!({ "content": "other" }), ..append() };
    let refused = other.send(&deployment.client(), "k").await;
    assert_eq!(refused.error(409).0, "CONFLICT");
    assert_eq!(refused.error(409).1, "idempotency_key_mismatch");
    assert_eq!(append().send(&deployment.client(), "k").await.ok(), first);
    other.send(&client, "k2").await.ok();
    // A call of another operation is another call. The same through another door is the same.
    let put = Call { method: Method::PUT, path: "new.md", body: json!({ "content": "x" }), status: 201 };
    for client in [&client, &deployment.client()] {
        assert_eq!(put.send(client, "k").await.error(409).1, "idempotency_key_mismatch");
        let again = json!({ "arguments": { "path": "log.md", "content": "added", "idempotency_key": "k" } });
        let again = client.post("/bridge/v1/tools/upsert_note/call", again).await.ok();
        let again: Value = serde_json::from_str(again["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(again["generation"], first["generation"]);
    }
    assert_eq!(put.send(&client, "k3").await.status, 201);
    assert_eq!(read(&client, "log.md").await, "first\n\nadded\nother");

    client.requests.take();
    for bad in ["", "two words", &"x".repeat(257), "ä"] {
        assert_eq!(append().send(&client, bad).await.error(400).1, "validation_error", "{bad:?}");
    }
    let twice = [("idempotency-key", "a"), ("idempotency-key", "b")];
    let body = append().body;
    assert_eq!(send(&client, Method::POST, "log.md", &twice, body).await.error(400).1, "validation_error");
    assert_eq!(client.requests.take().count(), 0);
    // Calls that change nothing ignore it.
    client.get_with("/notes/log.md", &[("idempotency-key", "two words")]).await.ok();
}

#[tokio::test]
async fn a_key_stands_for_a_day() {
    clock::stop();
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("log.md", "first\n")).await;
    let client = || deployment.client_with(|app| app.with_clock(clock::now));
    let first = append().send(&client(), "k").await.ok();
    clock::pass(Duration::from_secs(24 * 3600 - 1));
    assert_eq!(append().send(&client(), "k").await.ok(), first);
    clock::pass(Duration::from_secs(1));
    // Also in an idle vault, whose newest generation has the key's result.
    let other = Call { body: json!({ "content": "other" }), ..append() };
    assert_eq!(other.send(&client(), "k").await.ok()["generation"], 3);
    assert_eq!(append().send(&client(), "k").await.error(409).1, "idempotency_key_mismatch");
    clock::pass(Duration::from_secs(24 * 3600));
    let again = append().send(&client(), "k").await.ok();
    assert_eq!(append().send(&client(), "k").await.ok(), again);
    assert_eq!(read(&client(), "log.md").await, "first\n\nadded\nother\nadded");
}

#[tokio::test]
async fn what_came_to_nothing_is_decided_again() {
    let (deployment, _, client) = failing().await;
    let fresh = [("if-none-match", "*"), ("idempotency-key", "k")];
    let put = async || send(&deployment.client(), Method::PUT, "log.md", &fresh, json!({ "content": "again" })).await;
    assert_eq!(put().await.error(412).1, "note_exists");
    assert_eq!(put().await.error(412).1, "note_exists");
    send(&client, Method::DELETE, "log.md", &[], Value::Null).await.ok();
    let created = put().await;
    assert_eq!(created.status, 201);
    assert_eq!((put().await.status, put().await.json()), (created.status, created.json()));
    assert_eq!(deployment.mirror().head().await.unwrap().generation(), 3);

    let same = [("if-match", "*"), ("idempotency-key", "same")];
    for _ in 0..2 {
        let reply = send(&deployment.client(), Method::PUT, "log.md", &same, json!({ "content": "again" })).await;
        assert_eq!((reply.ok()["generation"].as_u64(), reply.ok()["created"].as_bool()), (Some(3), Some(false)));
    }
}

#[tokio::test]
async fn what_is_repeated_is_not_prepared_again() {
    let deployment = Deployment::of_vault(&VaultBuilder::new().note("log.md", "first\n")).await;
    let client = deployment.client();
    let first = append().send(&client, "k").await.ok();
    client.requests.take();
    for client in [client, deployment.client()] {
        assert_eq!(append().send(&client, "k").await.ok(), first);
        let asked = client.requests.take();
        let written: Vec<_> =
            asked.of(Op::Create).chain(asked.of(Op::Put)).map(|request| request.key.clone()).collect();
        assert!(written.iter().all(|key| key.contains("/state/") || key.starts_with("probes/")), "{written:?}");
    }
}

#[tokio::test]
async fn a_dry_run_takes_no_key() {
    let world = World::open(&[("a.md", "x"), ("b.md", "[[a]]")]).await;
    let moved = |dry_run: bool| json!({ "moves": [{ "from": "a.md", "to": "deep/a.md" }], "dry_run": dry_run, "idempotency_key": "one" });
    assert_eq!(world.ok("bulk_move_notes", moved(true)).await["dry_run"], true);
    let done = world.ok("bulk_move_notes", moved(false)).await;
    assert_eq!((&done["dry_run"], &done["succeeded"]), (&json!(false), &json!(1)));
    assert_eq!(world.ok("bulk_move_notes", moved(false)).await, done);
}

/// An earlier call with the same key may commit between this one's search for its answer and its own commit.
#[tokio::test]
async fn a_call_beside_the_one_that_it_repeats_tells_what_that_tells() {
    let world = World::open(&[("a.md", "---\nstatus: open\n---\nx\n")]).await;
    let set = json!({ "path": "a.md", "mode": "set", "key": "status", "value": "done", "idempotency_key": "k" });
    let calls = (0..6).map(|_| world.call("update_frontmatter", set.clone()));
    for told in futures::future::join_all(calls).await {
        assert_eq!(told.unwrap()["prev_value"], "open");
    }
}
