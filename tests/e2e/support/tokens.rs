//! Tokens of callers, and requests with them.

use std::time::Duration;

use atlas_access::mint::Grant;
use atlas_access::{Scope, Secret, mint};
use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::Value;

use crate::support::clock;
use crate::support::deployment::{Client, Reply};

pub const SECRET: &str = "a secret that is long enough to be one";

pub fn token(subject: &str, scopes: &[Scope], vault: Option<&str>) -> String {
    let scopes: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
    token_of(subject, &scopes.join(" "), vault)
}

/// A token with scopes of any name.
pub fn token_of(subject: &str, scopes: &str, vault: Option<&str>) -> String {
    token_through(None, subject, scopes, vault)
}

/// Such a token, issued to a client.
pub fn token_through(client: Option<&str>, subject: &str, scopes: &str, vault: Option<&str>) -> String {
    let time = Duration::from_secs(600);
    let grant = Grant { subject, scopes, vault, issuer: None, audience: None, client, time };
    mint(&Secret::new(SECRET).unwrap(), &grant, clock::now()).unwrap()
}

pub fn bearer(token: &str) -> (String, String) {
    ("authorization".to_owned(), format!("Bearer {token}"))
}

pub async fn send(client: &Client, method: &str, uri: &str, headers: &[(String, String)], body: &Value) -> Reply {
    let mut request = Request::builder().method(Method::from_bytes(method.as_bytes()).unwrap()).uri(uri);
    for (name, value) in headers.iter().chain([&("content-type".to_owned(), "application/json".to_owned())]) {
        request = request.header(name.as_str(), value.as_str());
    }
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    client.send(request.body(body).unwrap()).await
}
