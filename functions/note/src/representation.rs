//! The representation of a note: JSON, or the markdown itself; or none, if the caller already has it.

use atlas_ops::Answer;
use atlas_web::accept::preferred;
use atlas_web::response::{GENERATION, insert_etag, is_known, ok};
use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::Value;

/// The response header with the first byte of the next page of a long note.
const NEXT_OFFSET: &str = "x-atlas-next-offset";

/// The response to a read. The entity tag is the SHA-256 of the note; there is none if the answer depends on other notes too.
pub(crate) fn of(headers: &HeaderMap, answer: &Answer<Value>) -> Response {
    let is_rendered = answer.value.get("rendered").is_some();
    let sha256 = answer.value.get("sha256").and_then(Value::as_str).filter(|_| !is_rendered).unwrap_or_default();
    let etag = format!("\"{sha256}\"");
    let mut response = if !is_rendered && is_known(headers, &etag) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else if wants_markdown(headers) {
        markdown(answer)
    } else {
        ok(answer)
    };
    if !is_rendered {
        insert_etag(&mut response, sha256);
    }
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    if let Some(generation) = answer.generation {
        headers.insert(GENERATION, HeaderValue::from(generation));
    }
    response
}

fn markdown(answer: &Answer<Value>) -> Response {
    let text = |name: &str| answer.value.get(name).and_then(Value::as_str);
    let content = text("rendered").or_else(|| text("content")).unwrap_or_default();
    let mut response = Response::new(Body::from(content.to_owned()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/markdown; charset=utf-8"));
    if let Some(next) = answer.value.get("next_offset").and_then(Value::as_u64) {
        response.headers_mut().insert(NEXT_OFFSET, HeaderValue::from(next));
    }
    response
}

fn wants_markdown(headers: &HeaderMap) -> bool {
    preferred(headers, &[("application/json", false), ("text/markdown", true)]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header::ACCEPT;

    fn headers(name: axum::http::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn markdown_is_given_to_those_who_ask_for_it() {
        for (value, expected) in [
            ("text/markdown", true),
            ("application/json;q=0.5, text/markdown;q=1", true),
            ("*/*", false),
            ("application/json", false),
            ("text/markdown;q=0, application/json", false),
            ("text/markdown;q=0.5, application/json", false),
            ("image/png", false),
        ] {
            assert_eq!(wants_markdown(&headers(ACCEPT, value)), expected, "{value}");
        }
    }
}
