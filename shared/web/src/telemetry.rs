//! One log line a request, and the setup of logging.

use std::time::Instant;

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument as _;
use tracing_subscriber::EnvFilter;

use crate::response::GENERATION;

/// The header that ties a response to its line in the log.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Logs to standard error: as JSON where a machine reads it, as text where a person does.
pub fn start(filter: &str, json: bool) {
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A second start, in tests, changes nothing.
    let _ = if json { subscriber.json().without_time().try_init() } else { subscriber.try_init() };
}

/// Runs a request within a span that has its id, and logs how it went. Neither queries nor bodies are logged.
pub(crate) async fn log(request: Request, next: Next) -> Response {
    let id = request_id(&request);
    let span = tracing::info_span!("request", id = %id.to_str().unwrap_or_default(), method = %request.method(), path = request.uri().path());
    async move {
        let begun = Instant::now();
        let mut response = next.run(request).await;
        let generation = response.headers().get(GENERATION).and_then(|value| value.to_str().ok());
        let milliseconds = begun.elapsed().as_secs_f64() * 1000.0;
        tracing::info!(status = response.status().as_u16(), generation, milliseconds, "answered");
        response.headers_mut().insert(REQUEST_ID, id);
        response
    }
    .instrument(span)
    .await
}

/// The caller's request id if it is a plain one, else a new one.
fn request_id(request: &Request) -> HeaderValue {
    let is_plain = |value: &&HeaderValue| {
        value.len() <= 64 && value.as_bytes().iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
    };
    if let Some(id) = request.headers().get(REQUEST_ID).filter(is_plain) {
        return id.clone();
    }
    let id = atlas_mirror::Id::random().map(|id| id.to_string()).unwrap_or_default();
    HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("-"))
}
