//! The answers for unknown routes.

use atlas_ops::Reason;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::response;

pub(crate) async fn no_route(request: Request) -> Response {
    let message = format!("there is nothing at {}; /openapi.json lists what there is", cut(request.uri().path()));
    response::failure(
        StatusCode::NOT_FOUND,
        "NOT_FOUND",
        &message,
        &json!({ "reason": Reason::RouteNotFound.as_str() }),
    )
}

pub(crate) async fn no_method(request: Request) -> Response {
    let message =
        format!("{} does not take {}; /openapi.json lists what it takes", cut(request.uri().path()), request.method());
    response::failure(
        StatusCode::METHOD_NOT_ALLOWED,
        "BAD_REQUEST",
        &message,
        &json!({ "reason": Reason::MethodNotAllowed.as_str() }),
    )
}

fn cut(path: &str) -> &str {
    path.get(..path.floor_char_boundary(200)).unwrap_or_default()
}
