//! Requests as API Gateway's HTTP APIs, Lambda function URLs and load balancers hand them to a function (`tests/events`).

use std::cell::RefCell;
use std::io;
use std::sync::Once;

use atlas_web::{App, lambda};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::support::deployment::{Deployment, all_functions};

async fn answer(app: &App, event: &str) -> (u16, Value) {
    answer_text(app, &text_of(event)).await
}

fn text_of(event: &str) -> String {
    std::fs::read_to_string(format!("{}/events/{event}.json", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

async fn answer_text(app: &App, event: &str) -> (u16, Value) {
    let request = lambda_http::request::from_str(event).unwrap();
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
        ("alb-list", "/items/1/path", "vault/adr/ADR-002-append-only-ledger.md"),
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

thread_local! {
    /// The log of this thread, which is one test.
    static LOG: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

struct Log;

impl Log {
    /// Writes the log of this process. A subscriber per test would miss lines: the interest in a line is cached for all
    /// threads.
    fn start() {
        static STARTED: Once = Once::new();
        STARTED.call_once(|| tracing_subscriber::fmt().json().with_writer(|| Self).init());
    }

    /// The lines since the last call.
    fn lines() -> Vec<String> {
        String::from_utf8(LOG.take()).unwrap().lines().map(str::to_owned).collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.with_borrow_mut(|log| log.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_request_is_one_line_of_the_log_that_tells_callers_apart_and_names_none() {
    let app = Deployment::of_demo().await.app();
    Log::start();
    Log::lines();
    let line_of = async |event: &str| {
        let (status, _) = answer_text(&app, event).await;
        let lines = Log::lines();
        assert!(status == 200 && lines.len() == 1, "{lines:?}");
        assert!(!lines[0].contains("192.0.2.") && !lines[0].contains("surge"), "{}", lines[0]);
        serde_json::from_str::<Value>(&lines[0]).unwrap()["fields"].clone()
    };
    let caller_of = async |event: &str| line_of(event).await["caller"].as_str().map(str::to_owned);

    let here = text_of("http-api-find");
    let line = line_of(&here).await;
    assert_eq!((&line["operation"], &line["status"], &line["generation"]), (&"find".into(), &200.into(), &"1".into()));
    assert!(line["waves"].is_u64() && line["bytes_read"].is_u64() && line["milliseconds"].is_f64(), "{line}");
    let caller = line["caller"].as_str().unwrap().to_owned();
    assert!(caller.len() == 12 && caller.bytes().all(|byte| byte.is_ascii_hexdigit()), "{caller}");

    assert_eq!(caller_of(&here.replace("KpQ2xjO6DoEEPBQ=", "another request")).await, Some(caller.clone()));
    let elsewhere = here.replace("\"sourceIp\": \"192.0.2.7\"", "\"sourceIp\": \"192.0.2.8\"");
    assert_ne!(caller_of(&elsewhere).await, Some(caller.clone()));
    let balancer = text_of("alb-find");
    assert_eq!(caller_of(&balancer).await, None);
    // The client's own claim comes first, and is ignored.
    let forwarded = "\"x-forwarded-for\": \"192.0.2.99, 192.0.2.7\", \"x-forwarded-proto\"";
    assert_eq!(caller_of(&balancer.replace("\"x-forwarded-proto\"", forwarded)).await, Some(caller));
}
