//! The handling of requests by every service, whatever the operation.

use atlas_mirror::{Heartbeat, Store, StoreOptions};
use atlas_testkit::Op;
use atlas_testkit::faults::{Fault, FaultStore};
use atlas_web::App;
use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::json;

use crate::support::agent::{Agent, ERAS};
use crate::support::deployment::{Client, Deployment, Reply};

async fn post_raw(client: &Client, content_type: &str, body: impl Into<Body>) -> Reply {
    let request = Request::builder().method(Method::POST).uri("/find").header("content-type", content_type);
    client.send(request.body(body.into()).unwrap()).await
}

#[tokio::test]
async fn a_server_on_a_host_answers_for_no_other_name() {
    let client = Deployment::of_demo().await.client_with(App::for_its_hosts);
    for (uri, host, status) in [
        ("/health", "localhost:3737", 200),
        ("http://localhost:3737/health", "localhost:3737", 200),
        ("http://[::1]:3737/health", "[::1]:3737", 200),
        ("/health", "[::1]evil.example", 403),
        ("/health", "localhost:foo@evil.example:80", 403),
        ("/health", "localhost@evil.example", 403),
        ("http://evil.example/health", "localhost:3737", 403),
        ("http://localhost@evil.example/health", "localhost", 403),
    ] {
        let request = Request::builder().uri(uri).header("host", host).body(Body::empty()).unwrap();
        assert_eq!(client.send(request).await.status, status, "{uri} {host}");
    }
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

#[tokio::test(start_paused = true)]
async fn answers_of_every_door_say_when_the_vault_was_synced() {
    let deployment = Deployment::of_demo().await;
    let time: jiff::Timestamp = "2026-11-21T14:03:00Z".parse().unwrap();
    deployment.mirror().record_sync(&Heartbeat { time, generation: 1 }).await.unwrap();
    let check = |what: &str, reply: &Reply, client: &Client| {
        assert_eq!(
            (reply.status.as_u16(), reply.header("x-atlas-synced")),
            (200, Some("2026-11-21T14:03:00Z")),
            "{what}"
        );
        let cold = client.requests.take();
        assert_eq!(cold.0.iter().filter(|one| one.key.ends_with("state/synced")).count(), 1, "{what}\n{cold}");
        assert_eq!(cold.waves(), cold.without("state/synced").waves(), "{what}\n{cold}");
    };
    for (path, body) in [
        ("/find", json!({ "term": "harbour" })),
        ("/search", json!({ "query": "harbour" })),
        ("/query", json!({ "question": "components" })),
        ("/context/current", json!({})),
        ("/bridge/v1/tools/find/call", json!({ "arguments": { "term": "harbour" } })),
    ] {
        let client = deployment.client();
        check(path, &client.post(path, body).await, &client);
    }
    let client = deployment.client();
    let call = json!({ "name": "find", "arguments": { "term": "harbour" } });
    check("/mcp", &Agent::new(&client, ERAS[0]).ask("tools/call", call).await, &client);
    let client = deployment.client();
    assert_eq!(client.get("/notes/vault/Home.md").await.header("x-atlas-synced"), Some("2026-11-21T14:03:00Z"));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_the_last_sync_is_kept_for_a_minute_and_never_fails_a_call() {
    let deployment = Deployment::of_demo().await;
    let store = FaultStore::new(deployment.objects.clone());
    let client = Client::over(&Store::new(store.clone(), "", StoreOptions::default()).unwrap());
    let synced = async || {
        let reply = client.get("/notes/vault/Home.md").await;
        reply.ok();
        let asked = client.requests.take().0.iter().filter(|request| request.key.ends_with("state/synced")).count();
        (reply.header("x-atlas-synced").map(str::to_owned), asked)
    };
    let beat = async |hour: i8| {
        let time =
            jiff::civil::date(2026, 11, 21).at(hour, 0, 0, 0).to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp();
        deployment.mirror().record_sync(&Heartbeat { time, generation: 1 }).await.unwrap();
        Some(time.to_string())
    };
    assert_eq!(synced().await, (None, 1), "no sync was recorded");
    let first = beat(1).await;
    assert_eq!(synced().await, (None, 0), "that is kept too");
    tokio::time::advance(std::time::Duration::from_secs(61)).await;
    assert_eq!(synced().await, (first.clone(), 1));
    let second = beat(2).await;
    tokio::time::advance(std::time::Duration::from_secs(50)).await;
    assert_eq!(synced().await, (first, 0));
    tokio::time::advance(std::time::Duration::from_secs(11)).await;
    assert_eq!(synced().await, (second, 1));
    // A heartbeat that cannot be read, or comes late, is left out.
    for fault in [Fault::Refused, Fault::Silence, Fault::Truncated] {
        tokio::time::advance(std::time::Duration::from_secs(61)).await;
        store.always(Op::Get, "state/synced", fault);
        assert_eq!(synced().await.0, None, "{fault:?}");
        store.heal();
    }
}

#[tokio::test]
async fn a_call_that_is_refused_asks_for_no_time_of_a_sync() {
    let client = Deployment::of_demo().await.client();
    assert_eq!(client.get("/notes/..%2Fx.md").await.error(400).0, "BAD_REQUEST");
    assert_eq!(client.requests.take().count(), 0);
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
