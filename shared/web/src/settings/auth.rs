//! How callers authenticate, and the form of addresses.

use serde::{Deserialize, Serialize};

/// How callers authenticate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auth {
    /// They do not: only for listeners that nobody else can reach.
    None,
    /// By a signed token.
    Jwt,
}

/// Whether `text` is a web address that can be quoted in a header.
pub(crate) fn is_address(text: &str) -> bool {
    let parsed = text.parse::<axum::http::Uri>().ok();
    let is_url = parsed.is_some_and(|uri| matches!(uri.scheme_str(), Some("https" | "http")) && uri.host().is_some());
    is_url && !text.contains(['"', '\\'])
}
