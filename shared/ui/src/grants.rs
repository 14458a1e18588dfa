//! The grants of clients: their list, and their end.

use atlas_oauth::grant::{self, Listed};
use atlas_ops::{Code, Error, Reason};
use atlas_vault::visible::visible;
use axum::response::Response;
use maud::{Markup, html};

use crate::response;
use crate::visit::{Form, Visit};

/// The section of the access page, for the person of a deployment that has an authorization server.
pub(crate) async fn section(visit: &Visit) -> Markup {
    let app = visit.app();
    if !app.gate.has_issuer() || !visit.visitor.is_person {
        return html! {};
    }
    let listed = match app.atlas.vault(None) {
        Ok(vault) => grant::grants(&vault.mirror, (app.clock)()).await.map_err(Error::from),
        Err(error) => Err(error),
    };
    html! {
        h2 { "Clients that you allowed" }
        @match listed {
            Err(error) => p.problem role="alert" { (error.message) },
            Ok(grants) if grants.is_empty() => p { "None. A client that supports OAuth asks you when you give it the address of this service." },
            Ok(grants) => ul.rows { @for grant in &grants { (row(visit, grant)) } },
        }
    }
}

fn row(visit: &Visit, listed: &Listed) -> Markup {
    let grant = &listed.grant;
    html! {
        li {
            div.row {
                h2 {
                    @if listed.is_ended { span.status.gone { "Ended" } } @else { span.status.done { "Active" } }
                    " " (grant.client_place) @if !grant.client_name.is_empty() { ", which calls itself " (visible(&grant.client_name)) }
                }
                @if !listed.is_ended {
                    form method="post" action="/ui/access/revoke" {
                        (visit.form_token())
                        input type="hidden" name="grant" value=(listed.id);
                        button type="submit" { "Revoke" }
                    }
                }
            }
            p.facts {
                code { (grant.scope) } " in the vault " (grant.vault)
                @if let Some(folders) = &grant.folders { ", only in " (folders.join(", ")) }
                "; from " time { (grant.made.strftime("%Y-%m-%d %H:%M").to_string()) }
                " to " time { (grant.expires.strftime("%Y-%m-%d %H:%M UTC").to_string()) }
            }
        }
    }
}

/// Ends a grant.
pub(crate) async fn revoke(form: Form) -> Response {
    let visit = &form.visit;
    let app = visit.app();
    if !visit.visitor.is_person {
        let message = "only the person revokes what they allowed: sign in as yourself, not with a token";
        return visit.failed(&Error::new(Code::Forbidden, Reason::ScopeMissing, message));
    }
    let Ok(id) = form.text("grant").parse() else {
        return visit.failed(&Error::bad_request(Reason::ValidationError, "this is no grant"));
    };
    let ended = async { Ok::<_, Error>(grant::end(&app.atlas.vault(None)?.mirror, id, (app.clock)()).await?) };
    match ended.await {
        Ok(()) => response::see("/ui/access"),
        Err(error) => visit.failed(&error),
    }
}
