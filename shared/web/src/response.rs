//! Answers and errors as HTTP.

use atlas_ops::{Answer, Code, Error};
use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::{Value, json};

/// The response header with the vault's generation of the answer.
pub const GENERATION: &str = "x-atlas-generation";
/// The response header with the time of the last sync of the vault with its folder.
pub const SYNCED: &str = "x-atlas-synced";

/// An answer as JSON.
pub fn ok(answer: &Answer<Value>) -> Response {
    with_generation(json_response(StatusCode::OK, &answer.value), answer.generation)
}

/// An error in the form `{"error": {"code", "message", "details"}}`.
pub fn error(error: &Error) -> Response {
    log(error);
    let mut response =
        failure(status(error.code), error.code.as_str(), &error.message, &Value::Object((*error.details).clone()));
    if let Some(seconds) = error.details.get("retry_after_seconds").and_then(Value::as_u64) {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    // RFC 6750, section 3.1: the required scopes.
    if let Some(scopes) = error.details.get("required").and_then(Value::as_array) {
        let scopes: Vec<&str> = scopes.iter().filter_map(Value::as_str).collect();
        let challenge =
            format!("Bearer realm=\"atlas-mirror\", error=\"insufficient_scope\", scope=\"{}\"", scopes.join(" "));
        if let Ok(challenge) = HeaderValue::from_str(&challenge) {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
    }
    // The current version, for a caller that named another.
    if let Some(sha256) = error.details.get("sha256").and_then(Value::as_str) {
        insert_etag(&mut response, sha256);
    }
    response
}

/// Logs the facts of an error for the operator.
pub fn log(error: &Error) {
    if let Some(internal) = &error.internal {
        tracing::error!(code = error.code.as_str(), reason = error.reason(), internal, "{}", error.message);
    }
}

/// The status of an error's class.
#[must_use]
pub const fn status(code: Code) -> StatusCode {
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

/// Sets `ETag` to the version of a note, the SHA-256 of its bytes.
pub fn insert_etag(response: &mut Response, sha256: &str) {
    if let Ok(etag) = HeaderValue::from_str(&format!("\"{sha256}\"")) {
        response.headers_mut().insert(ETAG, etag);
    }
}

/// An error, attached to the response for doors with another format of errors.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The message for people.
    pub message: String,
    /// The exact reason.
    pub reason: String,
}

/// An error of HTTP itself: an unknown route, a wrong method.
pub(crate) fn failure(status: StatusCode, code: &str, message: &str, details: &Value) -> Response {
    let mut response =
        json_response(status, &json!({ "error": { "code": code, "details": details, "message": message } }));
    let reason = details.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned();
    response.extensions_mut().insert(Failure { message: message.to_owned(), reason });
    response
}

/// Whether the caller has the version with this entity tag: `If-None-Match` contains it (RFC 9110, section 13.1.2; weak
/// comparison).
pub fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    let listed = headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    listed.map(str::trim).any(|listed| listed == "*" || listed.strip_prefix("W/").unwrap_or(listed) == etag)
}

/// JSON.
pub fn json_response(status: StatusCode, value: &Value) -> Response {
    let mut response = Response::new(Body::from(value.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The response with the generation in its header.
pub fn with_generation(mut response: Response, generation: Option<u64>) -> Response {
    if let Some(generation) = generation {
        response.headers_mut().insert(GENERATION, HeaderValue::from(generation));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_tag_is_matched_in_every_spelling() {
        let headers = |value| HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_static(value))]);
        for (value, expected) in
            [("\"a\"", true), ("W/\"a\"", true), ("\"b\", \"a\"", true), ("*", true), ("\"b\"", false), ("a", false)]
        {
            assert_eq!(is_known(&headers(value), "\"a\""), expected, "{value}");
        }
        assert!(!is_known(&HeaderMap::new(), "\"a\""));
    }
}
