//! Requests as API Gateway's HTTP APIs, Lambda function URLs and load balancers hand them to a function (`tests/events`).

use atlas_web::{App, lambda};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::deployment::{Deployment, all_functions};

async fn answer(app: &App, event: &str) -> (u16, Value) {
    let path = format!("{}/events/{event}.json", env!("CARGO_MANIFEST_DIR"));
    let request = lambda_http::request::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let service = lambda::service(all_functions().into_router(app.clone()));
    let response = service.oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn events_of_every_kind_reach_the_operation_that_the_client_meant() {
    let deployment = Deployment::of_demo().await;
    let app = deployment.app();
    let checklist = "vault/reference/🌊 Storm surge checklist.md";
    let stuck = "vault/incidents/Gauge #2 reads 100% \"stuck\".md";
    for (event, pointer, expected) in [
        ("http-api-find", "/results/0/path", checklist),
        ("http-api-find-base64", "/results/0/path", checklist),
        ("http-api-stage-find", "/results/0/path", checklist),
        ("http-api-stage-note", "/path", "vault/Home.md"),
        ("http-api-decoded-note", "/path", stuck),
        ("http-api-decoded-cjk", "/path", "vault/international/潮見港との連携.md"),
        ("http-api-path-parameter", "/path", stuck),
        ("function-url-note", "/path", stuck),
        ("function-url-no-headers", "/version", env!("CARGO_PKG_VERSION")),
        ("alb-find", "/results/0/path", checklist),
        ("alb-find-base64", "/results/0/path", checklist),
        ("alb-note", "/path", checklist),
        ("alb-list", "/notes/1/path", "vault/adr/ADR-002-append-only-ledger.md"),
    ] {
        let (status, body) = answer(&app, event).await;
        assert_eq!((status, body.pointer(pointer).and_then(Value::as_str)), (200, Some(expected)), "{event}: {body}");
    }
}

#[tokio::test]
async fn events_that_are_wrong_are_refused_in_the_usual_shape() {
    let app = Deployment::of_demo().await.app();
    for (event, reason) in [
        ("http-api-no-content-type", "content_type_invalid"),
        ("http-api-traversal", "path_invalid"),
        ("function-url-traversal", "path_invalid"),
    ] {
        let (status, body) = answer(&app, event).await;
        assert_eq!((status, &body["error"]["details"]["reason"]), (400, &Value::from(reason)), "{event}: {body}");
    }
}
