//! How callers are told apart, and what an address is.

use serde::{Deserialize, Serialize};

/// How callers are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auth {
    /// They are not: only for listeners that nobody else can reach.
    None,
    /// By a signed token.
    Jwt,
}

/// Whether `text` is an address of the web, which can stand in a header's quotes.
pub(crate) fn is_address(text: &str) -> bool {
    let parsed = text.parse::<axum::http::Uri>().ok();
    let is_url = parsed.is_some_and(|uri| matches!(uri.scheme_str(), Some("https" | "http")) && uri.host().is_some());
    is_url && !text.contains(['"', '\\'])
}
