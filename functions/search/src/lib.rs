//! `POST /search`: the lines that match, as ripgrep finds them. `GET /tables`: the rows of a query as CSV or JSON Lines, in pages.

use atlas_ops::{Answer, Error, Reason};
use atlas_tools::queries::lines::{Format, lines};
use atlas_tools::queries::query_notes::QueryNotes;
use atlas_tools::search::Search;
use atlas_web::accept::preferred;
use atlas_web::openapi::{JSON, MARKDOWN, ParameterPlace, Route, RouteAnswer, RouteParameter};
use atlas_web::routes::call;
use atlas_web::{Door, Routes, request, response};
use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::response::Response;
use axum::routing::get;
use serde_json::Value;

/// The response header with the cursor of the next page.
const NEXT_CURSOR: &str = "x-atlas-next-cursor";
/// The response header with the number of warnings, which lines of text have no place for.
const WARNINGS: &str = "x-atlas-warnings";

const TABLES: Route = Route::get("/tables", atlas_tools::entry::<QueryNotes>())
    .with(&[RouteParameter {
        name: "format",
        place: ParameterPlace::Query,
        description: "`csv`, `jsonl` or `json`; else what `Accept` says, and CSV if it says nothing of these. Columns are named on the first page of CSV alone.",
    }])
    .answering(&[RouteAnswer {
        description: "The rows; the header `x-atlas-next-cursor` is the cursor of the next page.",
        media_types: &["text/csv", "application/jsonl", MARKDOWN, JSON],
        ..RouteAnswer::OK
    }]);

/// The function's routes.
#[must_use]
pub fn routes() -> Routes {
    Routes::default().post("/search", atlas_tools::entry::<Search>()).describe(TABLES).serve(
        "/tables",
        &[atlas_tools::entry::<QueryNotes>()],
        get(table),
    )
}

async fn table(door: Door, uri: Uri) -> Response {
    let mut parameters = match request::parameters(&uri) {
        Ok(parameters) => parameters,
        Err(error) => return response::error(&error),
    };
    request::number(&mut parameters, "limit");
    let format = match format(parameters.remove("format").as_ref().and_then(Value::as_str), &door.headers) {
        Ok(format) => format,
        Err(error) => return response::error(&error),
    };
    let is_first = !parameters.contains_key("cursor");
    let called = call(&door, atlas_tools::entry::<QueryNotes>(), Value::Object(parameters)).await;
    called.respond(|answer| {
        let mut response = shown(answer, format, is_first);
        let headers = response.headers_mut();
        headers.insert(VARY, HeaderValue::from_static("Accept"));
        let next = answer.value.get("cursor").and_then(Value::as_str);
        if let Some(next) = next.and_then(|next| HeaderValue::from_str(next).ok()) {
            headers.insert(NEXT_CURSOR, next);
        }
        if let Some(warnings) = answer.value.get("warnings").and_then(Value::as_array) {
            headers.insert(WARNINGS, warnings.len().into());
        }
        response
    })
}

/// The rows in that format; as the operation gives them, if it is none.
fn shown(answer: &Answer<Value>, format: Option<Format>, is_first: bool) -> Response {
    let Some(format) = format else { return response::ok(answer) };
    let mut response = Response::new(Body::from(lines(&answer.value, format, is_first)));
    let media_type = match format {
        Format::Csv => "text/csv; charset=utf-8",
        Format::JsonLines => "application/jsonl; charset=utf-8",
        Format::Markdown => "text/markdown; charset=utf-8",
    };
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response::with_generation(response, answer.generation)
}

/// The format that is asked for; [`None`] for JSON.
fn format(parameter: Option<&str>, headers: &HeaderMap) -> Result<Option<Format>, Error> {
    match parameter {
        Some("csv") => return Ok(Some(Format::Csv)),
        Some("jsonl") => return Ok(Some(Format::JsonLines)),
        Some("json") => return Ok(None),
        Some(_) => {
            let message = "format: write csv, jsonl or json";
            return Err(Error::bad_request(Reason::ValidationError, message).with("field", "format"));
        }
        None => {}
    }
    let offered = [
        ("text/csv", Some(Format::Csv)),
        ("application/jsonl", Some(Format::JsonLines)),
        ("application/x-ndjson", Some(Format::JsonLines)),
        (MARKDOWN, Some(Format::Markdown)),
        (JSON, None),
    ];
    Ok(preferred(headers, &offered).unwrap_or(Some(Format::Csv)))
}
