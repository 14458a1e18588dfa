//! Answers and errors as HTTP.

use atlas_ops::{Answer, Code, Error};
use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, ETAG, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::{Value, json};

/// The response header with the generation of the vault that an answer is from.
pub const GENERATION: &str = "x-atlas-generation";

/// An answer as JSON.
pub fn ok(answer: &Answer<Value>) -> Response {
    with_generation(json_response(StatusCode::OK, &answer.value), answer.generation)
}

/// An error in the shape `{"error": {"code", "message", "details"}}`.
pub fn error(error: &Error) -> Response {
    log(error);
    let mut response =
        failure(status(error.code), error.code.as_str(), &error.message, &Value::Object(error.details.clone()));
    if let Some(seconds) = error.details.get("retry_after_seconds").and_then(Value::as_u64) {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    // The version that is there, for a caller that named another.
    if let Some(sha256) = error.details.get("sha256").and_then(Value::as_str) {
        insert_etag(&mut response, sha256);
    }
    response
}

/// Tells the log what only the operator is told of an error.
pub fn log(error: &Error) {
    if let Some(internal) = &error.internal {
        tracing::error!(code = error.code.as_str(), reason = error.reason(), internal, "{}", error.message);
    }
}

/// The status of an error's class.
const fn status(code: Code) -> StatusCode {
    match code {
        Code::BadRequest => StatusCode::BAD_REQUEST,
        Code::Unauthorized => StatusCode::UNAUTHORIZED,
        Code::Forbidden => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::Conflict => StatusCode::CONFLICT,
        Code::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
        Code::PreconditionRequired => StatusCode::PRECONDITION_REQUIRED,
        Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Names the version of a note, by the SHA-256 of its bytes, in `ETag`.
pub fn insert_etag(response: &mut Response, sha256: &str) {
    if let Ok(etag) = HeaderValue::from_str(&format!("\"{sha256}\"")) {
        response.headers_mut().insert(ETAG, etag);
    }
}

/// An error that is HTTP's own: no such route, a wrong method.
pub(crate) fn failure(status: StatusCode, code: &str, message: &str, details: &Value) -> Response {
    json_response(status, &json!({ "error": { "code": code, "message": message, "details": details } }))
}

pub(crate) fn json_response(status: StatusCode, value: &Value) -> Response {
    let mut response = Response::new(Body::from(value.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// `response`, saying which generation of the vault it is from.
pub fn with_generation(mut response: Response, generation: Option<u64>) -> Response {
    if let Some(generation) = generation {
        response.headers_mut().insert(GENERATION, HeaderValue::from(generation));
    }
    response
}
