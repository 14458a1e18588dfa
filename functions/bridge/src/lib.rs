//! `/bridge/v1/…`: the ObsiScripta Bridge protocol, version 1. It lists the same tools as MCP, and every operation can
//! be called by its name.
//!
//! The protocol lets any web page call. Here pages of other sites are refused, unless `bridge.anyOrigin` lets them call
//! the tools that only read.

mod openapi;
mod shape;
mod tools;

use atlas_ops::pipeline::gates;
use atlas_ops::{Answer, Call, Code, Error, Reason, Sent};
use atlas_tools::facade::{Media, Resolved, take_media};
use atlas_web::response::{self, insert_etag, is_known, json_response, with_generation};
use atlas_web::routes::run;
use atlas_web::{Door, Routes, request};
use axum::body::Body;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::{Value, json};

/// The path of the protocol's endpoints.
pub(crate) const BASE: &str = "/bridge/v1";

/// The function's routes.
#[must_use]
pub fn routes() -> Routes {
    Routes::default()
        .serve("/bridge/v1/health", &[], get(health).options(preflight))
        .serve("/bridge/v1/tools", &[], get(list).options(preflight))
        .serve("/bridge/v1/tools/{name}/call", &[], post(call_tool).options(preflight))
        .describe_as("/bridge/v1/health", openapi::health)
        .describe_as("/bridge/v1/tools", openapi::tools)
        .describe_as("/bridge/v1/tools/{name}/call", openapi::call)
        .finish(BASE, shape::finish)
        .open_to_pages(tools::is_for_all_pages)
}

async fn health() -> Response {
    let health = json!({ "protocolVersion": "1", "status": "ok", "version": env!("CARGO_PKG_VERSION") });
    json_response(StatusCode::OK, &health)
}

/// Answers preflight requests. Their CORS headers are those of every response.
async fn preflight() -> StatusCode {
    StatusCode::NO_CONTENT
}

async fn list(door: Door) -> Response {
    let (tools, hash) = tools::listed(&door.toolbox());
    let mut response = if is_known(&door.headers, &format!("\"{hash}\"")) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        json_response(StatusCode::OK, &json!({ "hash": hash, "tools": tools }))
    };
    insert_etag(&mut response, &hash);
    response
}

async fn call_tool(door: Door, uri: Uri, body: Body) -> Response {
    match resolved(&door, &uri, body).await {
        Ok(Ok(Resolved::Answer(value))) => result(&Ok(Answer { value, generation: None })),
        Ok(Ok(Resolved::Call(operation, arguments))) => {
            let mut call = Call { sent: Sent::AsText, ..door.call_of(operation, arguments.into()) };
            match gates::take_vault(&mut call) {
                Ok(()) => run(&door.app, call).await.respond_to(result),
                Err(error) => result(&Err(error)),
            }
        }
        Ok(Err(error)) => result(&Err(error)),
        Err(error) => response::error(&error),
    }
}

/// The tool and arguments of a call, or why they are invalid; fails if the request violates the protocol.
async fn resolved(door: &Door, uri: &Uri, body: Body) -> Result<Result<Resolved, Error>, Error> {
    let missing = || Error::not_found(Reason::ToolNotFound, "there is no such tool; GET /bridge/v1/tools lists them");
    let name = tools::named(uri.path()).ok_or_else(missing)?;
    let toolbox = door.toolbox();
    toolbox.tool(&name).ok_or_else(missing)?;
    let bytes = request::bytes(body).await?;
    let invalid = |problem: &str| Error::bad_request(Reason::BodyInvalid, problem);
    let body: Value =
        serde_json::from_slice(&bytes).map_err(|error| invalid(&format!("the body is not JSON: {error}")))?;
    let Value::Object(mut body) = body else { return Err(invalid("the body must be a JSON object")) };
    match body.remove("arguments") {
        Some(Value::Object(arguments)) => toolbox.resolve(&name, arguments).ok_or_else(missing),
        Some(_) => Err(invalid("arguments must be a JSON object")),
        None => Err(invalid("the body must have the field arguments")),
    }
}

/// An error as text: the problem, perhaps the intended argument, and what to do.
fn told(error: &Error) -> String {
    let suggested = error.details.get("suggestions").and_then(Value::as_array).into_iter().flatten();
    let suggested: Vec<&str> = suggested.filter_map(Value::as_str).collect();
    let nearest = if suggested.is_empty() { String::new() } else { format!("\nNearest: {}", suggested.join(", ")) };
    format!("Error: {}{nearest}\n{}", error.message, error.recovery())
}

/// The response to a call. Only faults of the service are HTTP errors.
fn result(result: &Result<Answer<Value>, Error>) -> Response {
    match result {
        Ok(answer) => {
            let mut value = answer.value.clone();
            let media = take_media(&mut value);
            let mut content = vec![json!({ "text": value.to_string(), "type": "text" })];
            content.extend(media.map(|Media { is_audio, mime, data }| {
                json!({ "data": data, "mimeType": mime, "type": if is_audio { "audio" } else { "image" } })
            }));
            let body = json!({ "content": content, "success": true });
            with_generation(json_response(StatusCode::OK, &body), answer.generation)
        }
        Err(error) if error.code == Code::Internal => response::error(error),
        Err(error) => {
            if let Some(internal) = &error.internal {
                tracing::error!(reason = error.reason(), internal, "{}", error.message);
            }
            let content = json!([{ "text": told(error), "type": "text" }]);
            json_response(StatusCode::OK, &json!({ "content": content, "isError": true, "success": false }))
        }
    }
}
