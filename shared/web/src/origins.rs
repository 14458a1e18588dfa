//! The origins whose web pages may call. Other pages cannot read an answer, and their browser sends neither a token nor
//! JSON for them. If callers are not authenticated, their requests are refused too, since browsers send some without
//! permission.
//!
//! An origin for all (`*`) is invalid: if callers are not authenticated, every open page could read the vault; if they
//! are, it is known who has tokens.

use std::time::Duration;

use atlas_ops::{Code, Error, Reason};
use axum::http::header::{
    AUTHORIZATION, CONTENT_TYPE, ETAG, HOST, IF_MATCH, IF_NONE_MATCH, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE,
};
use axum::http::uri::{Scheme, Uri};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use tower_http::cors::CorsLayer;

use crate::headers::{CONFIRMATION, KEY, REQUEST_ID, SESSION, VAULT};

/// Most origins.
const MAX_ORIGINS: usize = 100;
/// How long a browser may cache the answer to a preflight request.
const MAX_AGE: Duration = Duration::from_secs(600);
/// Response headers of Atlas Mirror's own.
const OWN: [&str; 5] = [
    crate::response::GENERATION,
    crate::response::SYNCED,
    "x-atlas-next-offset",
    "x-atlas-next-cursor",
    "x-atlas-warnings",
];

/// Request headers of MCP.
const OF_MCP: [&str; 3] = ["mcp-protocol-version", "mcp-method", "mcp-name"];

/// The origins whose pages may call; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(Vec<HeaderValue>);

impl Origins {
    /// These origins.
    ///
    /// # Errors What to write, when one is not in the form that browsers send.
    pub fn new(origins: &[String]) -> Result<Self, String> {
        if origins.len() > MAX_ORIGINS {
            return Err(format!("write at most {MAX_ORIGINS} origins"));
        }
        let value = |origin: &String| {
            HeaderValue::from_str(origin).ok().filter(|_| is_origin(origin)).ok_or_else(|| {
                "write each origin as browsers send it, as https://notes.example.org or http://localhost:8080; `*` is not supported"
                    .to_owned()
            })
        };
        origins.iter().map(value).collect::<Result<_, _>>().map(Self)
    }

    /// The origins, as they were written.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|origin| origin.to_str().ok())
    }

    /// Checks that a request is from no web page, or from a page of its own host or of one of these origins.
    ///
    /// # Errors
    /// When it is from any other page.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Error> {
        let is_known = |origin: &HeaderValue| self.0.contains(origin) || is_own(origin, headers);
        if headers.get_all(ORIGIN).iter().all(is_known) {
            return Ok(());
        }
        let message = "requests of web pages of this origin are not answered; its operator can allow it with ATLAS_ALLOWED_ORIGINS";
        Err(Error::new(Code::Forbidden, Reason::OriginNotAllowed, message))
    }

    /// The layer that answers preflight requests and adds CORS headers; [`None`] if no page may call.
    pub(crate) fn layer(&self) -> Option<CorsLayer> {
        if self.0.is_empty() {
            return None;
        }
        let methods = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
        let own = |name: &'static str| HeaderName::from_static(name);
        let asked = [
            AUTHORIZATION,
            CONTENT_TYPE,
            IF_MATCH,
            IF_NONE_MATCH,
            own(KEY),
            own(VAULT),
            own(CONFIRMATION),
            own(SESSION),
        ];
        let asked = asked.into_iter().chain(OF_MCP.map(own));
        let told = [ETAG, WWW_AUTHENTICATE, RETRY_AFTER, REQUEST_ID];
        Some(
            CorsLayer::new()
                .allow_origin(self.0.clone())
                .allow_methods(methods)
                .allow_headers(asked.collect::<Vec<_>>())
                .expose_headers(told.into_iter().chain(OWN.map(own)).collect::<Vec<_>>())
                .max_age(MAX_AGE),
        )
    }
}

/// Whether a page was served by the host that it calls.
fn is_own(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let origin = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
    let of = origin.as_ref().filter(|origin| origin.scheme().is_some()).and_then(|origin| origin.authority());
    host.is_some_and(|host| of.is_some_and(|of| of.as_str().eq_ignore_ascii_case(host)))
}

/// Whether `text` is an origin as browsers write it: in lower case, without a path, and without the default port of its
/// scheme.
fn is_origin(text: &str) -> bool {
    let Ok(uri) = text.parse::<Uri>() else { return false };
    let parts = uri.into_parts();
    let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else { return false };
    let own_port = if scheme == Scheme::HTTPS { Some(443) } else { (scheme == Scheme::HTTP).then_some(80) };
    (authority.port_u16().is_none() || authority.port_u16() != own_port)
        && !authority.as_str().contains(['@', '*'])
        && !authority.host().is_empty()
        && text == format!("{scheme}://{authority}").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_of_the_host_that_it_calls_or_of_another() {
        let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("127.0.0.1:3737"))]);
        let own = |origin: &'static str, headers: &HeaderMap| is_own(&HeaderValue::from_static(origin), headers);
        assert!(own("http://127.0.0.1:3737", &headers));
        for other in ["http://127.0.0.1:80", "null", "", "https://evil.example.org", "127.0.0.1:3737"] {
            assert!(!own(other, &headers), "{other}");
        }
        assert!(!own("null", &HeaderMap::new()));
    }

    #[test]
    fn an_origin_is_what_a_browser_sends() {
        for good in [
            "https://notes.example.org",
            "http://localhost:8080",
            "http://127.0.0.1:5173",
            "https://[::1]:8443",
            "app://obsidian.md",
        ] {
            assert!(Origins::new(&[good.to_owned()]).is_ok(), "{good}");
        }
        for bad in [
            "",
            "*",
            "null",
            "https://*",
            "https://*.example.org",
            "notes.example.org",
            "https://notes.example.org/",
            "https://notes.example.org/page",
            "https://Notes.example.org",
            "https://notes.example.org:443",
            "http://localhost:80",
            "https://me@notes.example.org",
            "https://a.org https://b.org",
        ] {
            assert!(Origins::new(&[bad.to_owned()]).is_err(), "{bad}");
        }
        assert!(Origins::new(&vec!["https://a.org".to_owned(); 101]).is_err());
    }
}
