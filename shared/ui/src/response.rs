//! The headers of pages. A page may show, load and run only what this service sends, stands in no frame, and tells no other site from where it was left.

use atlas_web::accept::preferred;
use atlas_web::response::is_known;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, LOCATION, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use maud::Markup;
use sha2::{Digest as _, Sha256};

/// The policy of a page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// The same, and pictures of other sites, which the visitor asked for.
const POLICY_WITH_PICTURES: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https:; media-src 'self'; \
                                    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const OTHERS: [(HeaderName, &str); 5] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    // Not `no-referrer`: browsers then say of no form where it comes from.
    (REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// A page.
pub(crate) fn page(status: StatusCode, page: Markup) -> Response {
    let mut response = Response::new(Body::from(page.into_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    guard(headers);
    response
}

/// The same page, which may load pictures of other sites.
pub(crate) fn with_pictures(mut response: Response) -> Response {
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY_WITH_PICTURES));
    response
}

/// The answer to a form that leads to another site, by a `page` that sends the browser there. A redirect would not do: browsers hold every further hop of one against the policy of the
/// form's page, and where that site leads next is not known here.
pub(crate) fn onward(page: Markup) -> Response {
    let mut response = self::page(StatusCode::OK, page);
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// Adds the headers that all answers have.
pub(crate) fn guard(headers: &mut HeaderMap) {
    for (name, value) in OTHERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// A part of a page, which the script asks for again and again: nothing, if it is as it was.
pub(crate) fn part(headers: &HeaderMap, tag: &str, markup: Markup) -> Response {
    let known = unchanged(headers, tag);
    if let Some(response) = known {
        return response;
    }
    let mut response = page(StatusCode::OK, markup);
    tagged(&mut response, tag);
    response
}

/// The answer to a request whose sender has what has this tag.
pub(crate) fn unchanged(headers: &HeaderMap, tag: &str) -> Option<Response> {
    if !is_known(headers, &format!("\"{tag}\"")) {
        return None;
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    tagged(&mut response, tag);
    Some(response)
}

fn tagged(response: &mut Response, tag: &str) {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{tag}\"")) {
        response.headers_mut().insert(ETAG, tag);
    }
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
}

/// The tag of a content.
pub(crate) fn tag(content: &str) -> String {
    Sha256::digest(content).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Leads to another page of the service.
pub(crate) fn see(address: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    if let Ok(address) = HeaderValue::from_str(address) {
        response.headers_mut().insert(LOCATION, address);
    }
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    guard(response.headers_mut());
    response
}

/// Whether a request is of a browser that wants a page.
pub(crate) fn takes_html(headers: &HeaderMap) -> bool {
    preferred(headers, &[("application/json", false), ("text/html", true)]).unwrap_or_default()
}
