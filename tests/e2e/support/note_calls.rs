//! Calls that write and read notes over REST.

use std::collections::BTreeMap;

use atlas_testkit::notes::contents;
use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};

use crate::support::deployment::{Client, Deployment, Reply, encoded};

pub async fn put(client: &Client, path: &str, headers: &[(&str, &str)], body: Value) -> Reply {
    send(client, Method::PUT, path, headers, body).await
}

pub async fn send(client: &Client, method: Method, path: &str, headers: &[(&str, &str)], body: Value) -> Reply {
    let mut request = Request::builder()
        .method(method)
        .uri(format!("/notes/{}", encoded(path)))
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    client.send(request.body(Body::from(body.to_string())).unwrap()).await
}

pub async fn create(client: &Client, path: &str, content: &str) -> Reply {
    put(client, path, &[("if-none-match", "*")], json!({ "content": content })).await
}

pub async fn read(client: &Client, path: &str) -> String {
    client.get(&format!("/notes/{}", encoded(path))).await.ok()["content"].as_str().unwrap().to_owned()
}

pub async fn delete(client: &Client, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut request = Request::builder().method(Method::DELETE).uri(format!("/notes/{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    client.send(request.body(Body::empty()).unwrap()).await
}

pub async fn move_note(client: &Client, path: &str, body: Value) -> Reply {
    client.post(&format!("/move/{}", encoded(path)), body).await
}

/// All notes, as a new process reads them.
pub async fn notes(deployment: &Deployment) -> BTreeMap<String, String> {
    contents(&deployment.mirror().head().await.unwrap()).await.unwrap()
}
