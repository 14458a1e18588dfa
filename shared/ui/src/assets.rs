//! The style sheet, the script and the icon. Their addresses change with their content, so browsers keep them.

use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use crate::response;

/// A file of the page.
pub(crate) struct Asset {
    name: &'static str,
    kind: &'static str,
    content: &'static str,
}

pub(crate) const STYLE: usize = 0;
pub(crate) const SCRIPT: usize = 1;
pub(crate) const ICON: usize = 2;

static ALL: [Asset; 3] = [
    Asset { name: "style.css", kind: "text/css; charset=utf-8", content: include_str!("../assets/style.css") },
    Asset { name: "script.js", kind: "text/javascript; charset=utf-8", content: include_str!("../assets/script.js") },
    Asset { name: "icon.svg", kind: "image/svg+xml", content: include_str!("../assets/icon.svg") },
];

/// Their addresses, in the same order.
static ADDRESSES: LazyLock<[String; 3]> = LazyLock::new(|| {
    ALL.each_ref().map(|asset| {
        let tag = response::tag(asset.content);
        format!("/ui/assets/{}?v={}", asset.name, tag.get(..12).unwrap_or_default())
    })
});

/// The address of one.
pub(crate) fn address(asset: usize) -> &'static str {
    ADDRESSES.get(asset).map_or("", String::as_str)
}

/// `GET` of one. It needs no session, since it is the same for all.
pub(crate) async fn asset(Path(name): Path<String>) -> Response {
    let found = ALL.iter().find(|asset| asset.name == name);
    let mut response = Response::new(Body::from(found.map_or("", |asset| asset.content)));
    let headers = response.headers_mut();
    if let Some(asset) = found {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.kind));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    }
    response::guard(headers);
    if found.is_none() {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_small() {
        assert!(ALL[SCRIPT].content.len() <= 15_000);
        assert!(ALL.iter().map(|asset| asset.content.len()).sum::<usize>() <= 45_000);
        assert!(address(STYLE).starts_with("/ui/assets/style.css?v=") && address(STYLE) != address(SCRIPT));
    }
}
