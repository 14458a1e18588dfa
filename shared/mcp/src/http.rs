//! `POST /mcp`: each request on its own, without sessions, and nothing runs after its answer.

use std::sync::Arc;

use atlas_web::request::{self, MAX_BODY_BYTES};
use atlas_web::response;
use atlas_web::routes::{Door, Routes};
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::post;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::message;
use crate::server::Server;

/// The route.
pub const PATH: &str = "/mcp";

/// The door's routes.
#[must_use]
pub fn routes() -> Routes {
    Routes::default().serve(PATH, &[], post(answer))
}

async fn answer(door: Door, request: Request) -> Response {
    if let Err(error) = door.app.origins.check(request.headers()) {
        return response::error(&error);
    }
    let (head, body) = request.into_parts();
    let bytes = match request::bytes(body).await {
        Ok(bytes) => bytes,
        Err(error) => return response::error(&error),
    };
    let server = Server::new(door);
    let answering = server.clone();
    let service = StreamableHttpService::new(
        move || Ok(answering.clone()),
        Arc::new(NeverSessionManager::default()),
        // Hosts and origins are checked before.
        StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_sse_keep_alive(None)
            .disable_allowed_hosts()
            .with_max_request_body_bytes(MAX_BODY_BYTES),
    );
    let request = Request::from_parts(head, Body::from(bytes.clone()));
    let mut response = service.handle(request).await.map(Body::new);
    if response.status().is_client_error()
        && let Err(unread) = message::read(&bytes)
    {
        return malformed(unread.answer);
    }
    if let Some(called) = server.last() {
        response = response::with_generation(response, called.generation);
        response.extensions_mut().insert(called.cost);
    }
    response
}

/// The answer to a body that is not a message of the protocol.
fn malformed(answer: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(answer));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
