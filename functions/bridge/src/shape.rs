//! The protocol's form of responses: errors, and the headers for web pages.

use atlas_ops::Reason;
use atlas_web::App;
use atlas_web::response::Failure;
use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_LENGTH,
};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::json;

use crate::tools;

/// The CORS headers for permitted pages.
const LEAVE: [(HeaderName, &str); 3] = [
    (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, OPTIONS"),
    (ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type"),
];

/// Converts errors to the protocol's form, and adds CORS headers for all pages where permitted.
pub(crate) fn finish(app: &App, path: &str, mut response: Response) -> Response {
    if let Some(failure) = response.extensions_mut().remove::<Failure>() {
        let Failure { message, reason } = failure;
        let error = error(response.status(), &reason);
        let body = json!({ "details": reason, "error": error, "message": message });
        *response.body_mut() = Body::from(body.to_string());
        response.headers_mut().remove(CONTENT_LENGTH);
    }
    if tools::is_for_all_pages(app, path) {
        for (name, value) in LEAVE {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
    }
    response
}

/// The protocol's name of an error.
fn error(status: StatusCode, reason: &str) -> &'static str {
    match status {
        StatusCode::BAD_REQUEST => "Invalid request body",
        StatusCode::NOT_FOUND if reason == Reason::ToolNotFound.as_str() => "Tool not found",
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::METHOD_NOT_ALLOWED => "Method not allowed",
        StatusCode::PAYLOAD_TOO_LARGE => "Request body too large",
        StatusCode::INTERNAL_SERVER_ERROR => "Internal server error",
        // The protocol does not define these.
        StatusCode::UNAUTHORIZED => "Unauthorized",
        StatusCode::FORBIDDEN => "Forbidden",
        StatusCode::TOO_MANY_REQUESTS => "Too many requests",
        StatusCode::SERVICE_UNAVAILABLE => "Service unavailable",
        _ => "Error",
    }
}
