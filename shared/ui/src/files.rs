//! Attachments: shown within a page, or saved. None of them runs.

use atlas_ops::{Code, Error, Reason};
use atlas_tools::attachments::get_attachment::GetAttachment;
use atlas_tools::entry;
use atlas_web::response::is_known;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use crate::answer::Answered as _;
use crate::markdown::is_shown;
use crate::response;
use crate::visit::Visit;

/// Most bytes of an answer: on a host, and in a function, whose platform takes 6 MB.
const ROOM: usize = 24 << 20;
const ROOM_OF_FUNCTION: usize = 5 << 20;
/// The policy of an answer that a browser opens by itself: it may do nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";

/// `GET` of a file's bytes.
pub(crate) async fn file(visit: Visit) -> Response {
    let room = if visit.app().is_on_host() { ROOM } else { ROOM_OF_FUNCTION };
    let visit = visit.with_room(room);
    let path = visit.parameter("path");
    let call = json!({ "path": path, "include_data": true, "max_bytes": room });
    let file = match visit.call(entry::<GetAttachment>(), call).await {
        Ok(file) => file,
        Err(error) => return visit.failed(&error),
    };
    let tag = format!("\"{}\"", file.text("content_hash"));
    let Ok(data) = BASE64.decode(file.text("data_base64")) else {
        return visit.failed(&Error::new(Code::Internal, Reason::Internal, "the file cannot be read"));
    };
    let mut response = Response::new(Body::empty());
    if is_known(&visit.headers, &tag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        *response.body_mut() = Body::from(data);
    }
    let kind =
        if is_shown(path) { file.given("data_mime").unwrap_or(file.text("mime")) } else { "application/octet-stream" };
    let name = path.rsplit('/').next().unwrap_or_default();
    let disposition = format!("attachment; filename*=UTF-8''{}", utf8_percent_encode(name, NON_ALPHANUMERIC));
    let headers = response.headers_mut();
    for (name, value) in [(CONTENT_TYPE, kind), (CONTENT_DISPOSITION, disposition.as_str()), (ETAG, tag.as_str())] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response::guard(headers);
    visit.told(response)
}
