//! Which web pages may call which tools.

use atlas_ops::{Code, Entry, Error};
use atlas_web::Door;
use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};

/// Refuses a page of another site that calls what does more than read, where callers are not told apart: anything on this machine may
/// call, and so every page in its browser could.
pub(crate) fn check(door: &Door, operation: &Entry) -> Result<(), Error> {
    // `find` may leave a note behind.
    let only_reads = operation.info.only_reads() && !door.app.atlas.limits.search_notes;
    if only_reads || door.app.gate.is_shut() {
        return Ok(());
    }
    let mut origins = door.headers.get_all(ORIGIN).iter().map(|origin| origin.to_str().unwrap_or_default());
    let is_known = |origin: &str| door.app.origins.iter().any(|known| known == origin) || is_own(&door.headers, origin);
    if origins.all(is_known) {
        return Ok(());
    }
    let message = "web pages of other sites may only read; name the page's origin in ATLAS_ALLOWED_ORIGINS";
    Err(Error::new(Code::Forbidden, "origin_not_allowed", message))
}

/// Whether a page was served from where it calls.
fn is_own(headers: &HeaderMap, origin: &str) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let own = origin.split_once("://").map(|(_, own)| own);
    own.is_some() && own == host
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_page_is_of_the_host_that_it_calls_or_of_another() {
        let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("127.0.0.1:3737"))]);
        assert!(is_own(&headers, "http://127.0.0.1:3737"));
        for other in ["http://127.0.0.1:80", "null", "", "https://evil.example.org", "127.0.0.1:3737"] {
            assert!(!is_own(&headers, other), "{other}");
        }
        assert!(!is_own(&HeaderMap::new(), "null"));
    }
}
