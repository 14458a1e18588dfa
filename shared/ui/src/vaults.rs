//! The vault that a visitor looks at, where they may look at several.

use atlas_ops::{Error, Reason};
use axum::http::header::SET_COOKIE;
use axum::response::Response;

use crate::response;
use crate::session::cookie;
use crate::visit::Form;

/// Keeps the choice of a form. What it names does not matter to what the visitor may do: every call is checked.
pub(crate) async fn choose(form: Form) -> Response {
    let vault = form.text("vault");
    if !form.visit.vaults().iter().any(|(id, _)| id == vault) {
        return form.visit.failed(&Error::not_found(Reason::VaultNotFound, "there is no such vault"));
    }
    let mut response = response::see("/ui");
    if let Some(header) = cookie::vault_header(&form.visit.headers, vault) {
        response.headers_mut().append(SET_COOKIE, header);
    }
    response
}
