//! Pages of other origins: configured ones may call and read every answer, others nothing.

use atlas_access::Scope;
use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::Value;

use crate::support::deployment::{Client, Deployment, Reply};
use crate::support::tokens::{SECRET, bearer, send, token};

const PAGE: &str = "https://notes.example.org";

fn origin(origin: &str) -> (String, String) {
    ("origin".to_owned(), origin.to_owned())
}

/// A browser's preflight request.
async fn preflight(client: &Client, path: &str, page: &str, method: &str) -> Reply {
    let request = Request::builder().method(Method::OPTIONS).uri(path).header("origin", page);
    let request = request.header("access-control-request-method", method);
    let request = request.header("access-control-request-headers", "authorization,if-match,x-atlas-confirmation");
    client.send(request.body(Body::empty()).unwrap()).await
}

async fn named() -> Client {
    let deployment = Deployment::of_demo().await;
    let variables = [("ATLAS_AUTH", "jwt"), ("ATLAS_JWT_SECRET", SECRET), ("ATLAS_ALLOWED_ORIGINS", PAGE)];
    deployment.set_up(&variables).await
}

/// Requests that browsers send without a preflight, and whether a page could learn or change something with them.
const SIMPLE: [(&str, &str, &str); 8] = [
    ("GET", "/notes?limit=1", ""),
    ("GET", "/notes/vault/Home.md", ""),
    ("GET", "/health", ""),
    ("GET", "/openapi.json", ""),
    ("GET", "/bridge/v1/tools", ""),
    ("POST", "/find", r#"{"term":"berth"}"#),
    ("POST", "/bridge/v1/tools/note_read/call", r#"{"arguments":{"path":"vault/Home.md"}}"#),
    ("POST", "/bridge/v1/tools/note_upsert/call", r#"{"arguments":{"path":"page.md","content":"x"}}"#),
];

async fn simple(client: &Client, (method, path, body): (&str, &str, &str), page: &str) -> Reply {
    let request = Request::builder().method(method).uri(path).header("host", "localhost:3737").header("origin", page);
    client.send(request.header("content-type", "text/plain").body(Body::from(body.to_owned())).unwrap()).await
}

#[tokio::test]
async fn where_callers_are_not_told_apart_pages_of_other_origins_get_no_answer() {
    let client = Deployment::of_demo().await.client();
    client.requests.take();
    for page in [PAGE, "null", "", "http://localhost:5000", "http://localhost"] {
        for request in SIMPLE {
            let told = simple(&client, request, page).await;
            assert_eq!(told.status.as_u16(), 403, "{page:?} {request:?}");
            assert!(String::from_utf8_lossy(&told.body).contains("origin_not_allowed"));
            assert!(!told.headers.keys().any(|name| name.as_str().starts_with("access-control-")), "{told:?}");
        }
        let asked = preflight(&client, "/find", page, "POST").await;
        assert_eq!((asked.status.as_u16(), asked.header("access-control-allow-origin")), (403, None));
    }
    assert_eq!(client.requests.take().count(), 0, "the store was asked");
    for request in SIMPLE {
        assert_ne!(simple(&client, request, "http://localhost:3737").await.status.as_u16(), 403, "its own page");
    }
}

#[tokio::test]
async fn a_named_page_may_call_and_read_refusals_too() {
    let client = named().await;
    let reads = bearer(&token("agent", &[Scope::ReadVault], None));
    for (headers, path, status) in [
        (vec![origin(PAGE), reads.clone()], "/notes?limit=1", 200),
        (vec![origin(PAGE)], "/notes", 401),
        (vec![origin(PAGE), reads.clone()], "/nothing", 404),
        (vec![origin(PAGE), reads], "/notes/absent.md", 404),
        (vec![origin(PAGE)], "/health", 200),
    ] {
        let told = send(&client, "GET", path, &headers, &Value::Null).await;
        assert_eq!(told.status.as_u16(), status, "{path}");
        assert_eq!(told.header("access-control-allow-origin"), Some(PAGE), "{path}");
        assert_eq!(told.header("access-control-allow-credentials"), None, "cookies mean nothing here");
        let exposed = told.header("access-control-expose-headers").unwrap();
        for name in [
            "etag",
            "www-authenticate",
            "retry-after",
            "x-request-id",
            "x-atlas-generation",
            "x-atlas-synced",
            "x-atlas-next-offset",
        ] {
            assert!(exposed.split(',').any(|one| one.trim() == name), "{name} is not among {exposed}");
        }
        assert!(told.header("vary").is_some_and(|vary| vary.contains("origin")), "caches must tell pages apart");
    }
}

#[tokio::test]
async fn a_browsers_question_needs_no_token_and_is_told_nothing_of_the_vault() {
    let client = named().await;
    let mut answers = Vec::new();
    for path in ["/find", "/notes/vault/Home.md", "/nothing", "/health"] {
        for method in ["GET", "DELETE"] {
            let told = preflight(&client, path, PAGE, method).await;
            assert_eq!((told.status.as_u16(), told.body.len()), (200, 0), "{path}");
            let mut headers = told.headers.clone();
            headers.remove("x-request-id");
            answers.push(headers);
        }
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "paths can be told apart: {answers:?}");
    let allowed = answers[0]["access-control-allow-headers"].to_str().unwrap();
    for name in [
        "authorization",
        "content-type",
        "if-match",
        "if-none-match",
        "idempotency-key",
        "x-atlas-vault",
        "x-atlas-confirmation",
    ] {
        assert!(allowed.split(',').any(|one| one.trim() == name), "{name} is not among {allowed}");
    }
    assert_eq!(client.requests.take().count(), 0, "the store was asked");
}

#[tokio::test]
async fn a_page_that_is_not_named_gets_no_leave() {
    let client = named().await;
    for page in [
        "https://evil.example.org",
        "https://notes.example.org.evil",
        "http://notes.example.org",
        "https://notes.example.org:8443",
        "null",
    ] {
        assert_eq!(
            preflight(&client, "/find", page, "POST").await.header("access-control-allow-origin"),
            None,
            "{page}"
        );
        let told = send(&client, "GET", "/health", &[origin(page)], &Value::Null).await;
        assert_eq!(told.header("access-control-allow-origin"), None, "{page}");
    }
}
