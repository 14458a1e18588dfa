//! The handling of requests by every service, whatever the operation.

use atlas_mirror::{Heartbeat, Store, StoreOptions};
use atlas_testkit::Op;
use atlas_testkit::faults::{Fault, FaultStore};
use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::json;

use crate::support::deployment::{Client, Deployment};

async fn post_raw(client: &Client, content_type: &str, body: impl Into<Body>) -> crate::support::deployment::Reply {
    let request = Request::builder().method(Method::POST).uri("/find").header("content-type", content_type);
    client.send(request.body(body.into()).unwrap()).await
}

#[tokio::test]
async fn health_says_version_and_generation_also_of_an_empty_store() {
    let deployment = Deployment::empty();
    assert_eq!(
        deployment.client().get("/health").await.ok(),
        json!({ "ok": true, "version": env!("CARGO_PKG_VERSION"), "generation": null })
    );
    let deployment = Deployment::of_demo().await;
    let health = deployment.client().get("/health").await;
    assert_eq!((health.ok()["generation"].as_u64(), health.header("x-atlas-generation")), (Some(1), Some("1")));
}

#[tokio::test]
async fn health_says_when_the_vault_was_synced_and_stays_well_while_its_host_sleeps() {
    let deployment = Deployment::of_demo().await;
    let client = deployment.client();
    client.get("/health").await.ok();
    client.requests.take();
    client.get("/health").await.ok();
    let without = client.requests.take().count();
    for (hours, stale) in [(0, false), (30, true)] {
        let time = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(hours);
        deployment.mirror().record_sync(&Heartbeat { time, generation: 1 }).await.unwrap();
        client.requests.take();
        let health = client.get("/health").await.ok();
        let sync = json!({ "time": time.to_string(), "generation": 1, "stale": stale });
        assert_eq!((&health["ok"], &health["sync"]), (&json!(true), &sync));
        assert_eq!(client.requests.take().count(), without, "one request, whether or not it is told");
    }
}

#[tokio::test]
async fn health_is_not_well_while_reads_fail() {
    let deployment = Deployment::of_demo().await;
    let store = FaultStore::new(deployment.objects.clone());
    let client = Client::over(&Store::new(store.clone(), "", StoreOptions::default()).unwrap());
    client.get("/health").await.ok();
    store.always(Op::Get, "", Fault::Refused);
    assert!(client.get("/notes").await.status.is_server_error());
    let health = client.get("/health").await;
    assert_eq!((health.status.as_u16(), &health.json()["ok"]), (503, &json!(false)));
    store.heal();
    assert_eq!(client.get("/health").await.ok()["ok"], true);
}

#[tokio::test]
async fn an_unpublished_vault_says_what_to_do() {
    let client = Deployment::empty().client();
    for (path, body) in [
        ("/find", json!({ "term": "x" })),
        ("/query", json!({ "question": "components" })),
        ("/context/current", json!({})),
    ] {
        let (code, reason, message) = client.post(path, body).await.error(404);
        assert_eq!((code.as_str(), reason.as_str()), ("NOT_FOUND", "vault_not_published"));
        assert!(message.contains("atlas sync"), "{message}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_json_is_refused() {
    let client = Deployment::of_demo().await.client();
    for (content_type, body, reason) in [
        ("application/json", "{", "json_invalid"),
        ("application/json", "{\"term\": \"x\",}", "json_invalid"),
        ("application/json", "\u{feff}{}", "json_invalid"),
        ("text/plain", "{\"term\": \"x\"}", "content_type_invalid"),
        ("application/x-www-form-urlencoded", "term=x", "content_type_invalid"),
    ] {
        assert_eq!(post_raw(&client, content_type, body).await.error(400).1, reason, "{body}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(post_raw(&client, "application/json", deep).await.error(400).1, "json_invalid");
    assert_eq!(post_raw(&client, "application/json", vec![0xff, 0xfe]).await.error(400).1, "json_invalid");
    let large = json!({ "term": "x".repeat(1 << 20) }).to_string();
    assert_eq!(post_raw(&client, "application/json", large).await.error(413).0, "TOO_LARGE");
    post_raw(&client, "application/json; charset=utf-8", "{\"term\": \"now\"}").await.ok();
}

#[tokio::test]
async fn what_is_no_route_is_answered_in_the_same_shape() {
    let client = Deployment::of_demo().await.client();
    assert_eq!(client.get("/nothing").await.error(404).1, "route_not_found");
    let request = Request::builder().method(Method::DELETE).uri("/find").body(Body::empty()).unwrap();
    let reply = client.send(request).await;
    assert_eq!(reply.error(405).1, "method_not_allowed");
    assert_eq!(reply.header("allow"), Some("POST"));
}

#[tokio::test]
async fn a_vault_that_is_not_served_is_not_found() {
    let client = Deployment::of_demo().await.client();
    assert_eq!(client.get_with("/notes", &[("x-atlas-vault", "other")]).await.error(404).1, "vault_not_found");
    client.get_with("/notes", &[("x-atlas-vault", "main")]).await.ok();
}

#[tokio::test]
async fn every_response_has_a_request_id() {
    let client = Deployment::of_demo().await.client();
    let own = client.get_with("/health", &[("x-request-id", "abc-123")]).await;
    assert_eq!(own.header("x-request-id"), Some("abc-123"));
    let odd = client.get_with("/nothing", &[("x-request-id", "a b")]).await;
    assert_eq!(odd.header("x-request-id").map(str::len), Some(32));
}
