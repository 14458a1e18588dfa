//! The limit of processor time of a call.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::deployment::Deployment;
use crate::support::tokens::send;

/// A processor on which everything takes a second.
fn slow() -> Duration {
    static TAKEN: AtomicU64 = AtomicU64::new(0);
    Duration::from_secs(TAKEN.fetch_add(1, Ordering::Relaxed))
}

#[tokio::test]
async fn a_call_that_works_too_long_says_so_and_changes_nothing() {
    let deployment = Deployment::of_demo().await.with_limits(|limits| limits.max_cpu_time = Duration::from_millis(900));
    let quick = deployment.client();
    let slow = deployment.client_with(|mut app| {
        app.atlas.about.cpu = slow;
        app
    });
    let before = quick.get("/notes/vault/Home.md").await.ok();
    let edit = json!({ "edits": [{ "op": "append", "text": "more" }] });
    let new = json!({ "content": "# New" });
    for (method, path, body) in [
        (Method::PATCH, "/notes/vault/Home.md", &edit),
        (Method::POST, "/notes/new.md", &new),
        (Method::POST, "/find", &json!({ "term": "berth" })),
        (Method::GET, "/notes/vault/Home.md", &Value::Null),
    ] {
        let refused = send(&slow, method.as_str(), path, &[], body).await;
        assert_eq!(refused.error(413).1, "too_much_work", "{path}");
    }
    assert_eq!(quick.get("/notes/vault/Home.md").await.ok(), before);
    assert_eq!(quick.get("/notes/new.md").await.status.as_u16(), 404);
    send(&quick, "PATCH", "/notes/vault/Home.md", &[], &edit).await.ok();
}

/// A processor on which a look at the clock takes a millisecond, and nothing else takes any time.
fn looked_at() -> Duration {
    static LOOKS: AtomicU64 = AtomicU64::new(0);
    Duration::from_millis(LOOKS.fetch_add(1, Ordering::Relaxed))
}

#[tokio::test]
async fn a_search_of_many_words_looks_at_the_clock_for_each() {
    let deployment = Deployment::of_demo().await.with_limits(|limits| limits.max_cpu_time = Duration::from_millis(300));
    let client = deployment.client_with(|mut app| {
        app.atlas.about.cpu = looked_at;
        app
    });
    let search = |query: String| json!({ "query": query, "mode": "text" });
    send(&client, "POST", "/search", &[], &search("the berth of boats".to_owned())).await.ok();
    let refused = send(&client, "POST", "/search", &[], &search("b.".repeat(400))).await;
    assert_eq!(refused.error(413).1, "too_much_work");
}
