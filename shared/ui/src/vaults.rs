//! The vault that a visitor looks at, where they may look at several.

use atlas_ops::{Error, Reason};
use axum::http::header::SET_COOKIE;
use axum::response::Response;
use maud::{Markup, html};

use crate::frame::OTHER_VAULT;
use crate::session::cookie;
use crate::visit::{Form, PARAMETER, Visit};
use crate::{links, response};

/// Keeps the choice of a form. What it names does not matter to what the visitor may do: every call is checked.
pub(crate) async fn choose(form: Form) -> Response {
    let vault = form.given(OTHER_VAULT).unwrap_or(form.text("vault"));
    if !form.visit.may_look_at(vault).await {
        return form.visit.failed(&Error::not_found(Reason::VaultNotFound, "there is no such vault"));
    }
    let mut response = response::see(&match form.text("approval") {
        "" => "/ui".to_owned(),
        approval => links::approval(approval),
    });
    if let Some(header) = cookie::vault_header(&form.visit.headers, vault) {
        response.headers_mut().append(SET_COOKIE, header);
    }
    response
}

/// The page about a call that waits in another vault: leads there, if the visitor may look at it.
pub(crate) fn other(visit: &Visit, approval: &str, problem: &str) -> Markup {
    let named = visit.parameter(PARAMETER);
    let other = visit.vaults().iter().find(|(id, _)| id == named && id != visit.vault());
    html! {
        h1 { "Not in this vault" }
        @if let Some((id, name)) = other {
            p { "This call would change the vault " strong { (name) } "." }
            form method="post" action="/ui/vault" {
                (visit.form_token())
                input type="hidden" name="vault" value=(id);
                input type="hidden" name="approval" value=(approval);
                button.primary type="submit" { "Look there" }
            }
        } @else {
            p { (problem) ". Calls wait in the vault that they would change: switch to it above." }
        }
    }
}
