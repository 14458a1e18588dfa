//! Operations that a deployment does not offer: hidden ones can be called by name, disabled ones do not exist.

use atlas_ops::{Call, Caller, dispatch};
use atlas_tools::bridge::find::Find;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::deployment::{Client, Deployment};

const PAGE: &str = "https://notes.example.org";

async fn offering(visibility: Value) -> Client {
    let document = json!({ "toolVisibility": visibility, "transports": { "http": { "allowedOrigins": [PAGE] } } });
    Deployment::of_demo().await.set_up(&[("ATLAS_CONFIG", &document.to_string())]).await
}

/// All that a client sees of an answer, except its id and repeated parts of the request.
async fn seen(client: &Client, method: &str, path: &str) -> (u16, HeaderMap, String) {
    let request = Request::builder().method(Method::from_bytes(method.as_bytes()).unwrap()).uri(path);
    let request = request.header("origin", PAGE).header("content-type", "application/json");
    let reply = client.send(request.body(Body::from("{}")).unwrap()).await;
    let mut headers = reply.headers.clone();
    // It depends on the path's length.
    headers.remove("content-length");
    headers.remove("x-request-id");
    let body = String::from_utf8(reply.body.to_vec()).unwrap();
    let plain = path.split('?').next().unwrap();
    (reply.status.as_u16(), headers, body.replace(plain, "PATH").replace(&format!("take {method}"), "take METHOD"))
}

#[tokio::test]
async fn a_disabled_operation_answers_as_what_never_was() {
    let disabled = ["find", "write_note", "note_history", "move_note", "delete_note"];
    let client = offering(json!({ "disabled": disabled })).await;
    for (own, absent) in [
        (("POST", "/find"), ("POST", "/nothing")),
        (("GET", "/find"), ("GET", "/nothing")),
        (("OPTIONS", "/find"), ("OPTIONS", "/nothing")),
        (("GET", "/history"), ("GET", "/nothing")),
        (("GET", "/history/vault/Home.md"), ("GET", "/nothing/vault/Home.md")),
        (("POST", "/history/vault/Home.md"), ("POST", "/nothing/vault/Home.md")),
        (("POST", "/move/vault/Home.md"), ("POST", "/nothing/vault/Home.md")),
        // Its path has other methods.
        (("PUT", "/notes"), ("BREW", "/notes")),
        (("PUT", "/notes/vault/Home.md"), ("BREW", "/notes/vault/Home.md")),
        (("DELETE", "/notes/vault/Home.md"), ("BREW", "/notes/vault/Home.md")),
        (("OPTIONS", "/notes/vault/Home.md"), ("OPTIONS", "/nothing")),
    ] {
        assert_eq!(seen(&client, own.0, own.1).await, seen(&client, absent.0, absent.1).await, "{own:?}");
    }
    let (_, headers, _) = seen(&client, "PUT", "/notes/vault/Home.md").await;
    assert_eq!(headers["allow"], "GET,HEAD,PATCH,POST");
    let described = client.get("/openapi.json").await.ok();
    let paths = described["paths"].as_object().unwrap().values();
    let methods = paths.flat_map(|path| path.as_object().unwrap().values());
    let names: Vec<&str> = methods.filter_map(|method| method["operationId"].as_str()).collect();
    assert!(names.contains(&"query") && disabled.iter().all(|name| !names.contains(name)), "{names:?}");
    assert_eq!(described["components"]["schemas"].get("write_note_body"), None);
    assert_eq!(described["paths"].get("/find"), None);
    client.get("/notes/vault/Home.md").await.ok();
    client.post("/search", json!({ "query": "berth" })).await.ok();
}

#[tokio::test]
async fn two_operations_at_one_route_are_disabled_one_by_one() {
    let list = offering(json!({ "disabled": ["read_note"] })).await;
    list.get("/notes?limit=1").await.ok();
    let (unknown, path) = (list.get("/notes?paht=vault/Home.md").await, list.get("/notes?path=vault/Home.md").await);
    let as_unknown = String::from_utf8_lossy(&unknown.body).replace("paht", "path");
    assert_eq!((path.status, String::from_utf8_lossy(&path.body).into_owned()), (unknown.status, as_unknown));
    let read = offering(json!({ "disabled": ["list_notes"] })).await;
    read.get("/notes?path=vault/Home.md").await.ok();
    assert_eq!(read.get("/notes").await.error(400).1, "validation_error");
    let neither = offering(json!({ "disabled": ["list_notes", "read_note"] })).await;
    assert_eq!(seen(&neither, "GET", "/notes").await, seen(&neither, "BREW", "/notes").await);
}

#[tokio::test]
async fn a_hidden_operation_answers_and_is_not_described() {
    for visibility in
        [json!({ "hidden": ["find"] }), json!({ "hiddenTags": ["search"] }), json!({ "allowed": ["health"] })]
    {
        let client = offering(visibility).await;
        client.post("/find", json!({ "term": "berth" })).await.ok();
        assert_eq!(client.get("/openapi.json").await.ok()["paths"].get("/find"), None);
    }
    let client = offering(json!({ "requireReadOnly": true })).await;
    let described = client.get("/openapi.json").await.ok();
    let methods = described["paths"]["/notes/{path}"].as_object().unwrap().keys().collect::<Vec<_>>();
    assert_eq!(methods, ["get"]);
}

#[tokio::test]
async fn dispatch_knows_no_disabled_operation() {
    let document = json!({ "toolVisibility": { "disabledTags": ["search"] } }).to_string();
    let app = Deployment::of_demo().await.app_of(&[("ATLAS_CONFIG", &document)]).await;
    let call =
        Call::new(atlas_tools::entry::<Find>(), json!({ "term": "berth" }), Caller::trusted("test"), Timestamp::now);
    assert_eq!(dispatch(&app.atlas, call).await.unwrap_err().reason(), "operation_not_found");
}
