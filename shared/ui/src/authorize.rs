//! A client asks for tokens: who it is, what it may do, for how long. Nothing leads back to it before the person has decided, since anybody can register
//! an address.

use atlas_oauth::{AuthorizationRequest, Client, Refusal, Server, client_of, redirect};
use atlas_vault::visible::visible;
use atlas_web::request;
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Map, Value};

use crate::consent;
use crate::entrance;
use crate::frame::{self, Section};
use crate::response;
use crate::sign_in::told;
use crate::visit::{Form, Visit};

/// The field that has the request, as the client wrote it.
const REQUEST: &str = "request";
pub(crate) const TITLE: &str = "Connect a client";

/// The page that asks the person.
pub(crate) async fn page(visit: Visit) -> Response {
    let written = visit.uri.query().unwrap_or_default().to_owned();
    match asked(&visit, visit.parameters()).await {
        Ok((_, request)) => shown(&visit, &request, &written, None),
        Err(response) => *response,
    }
}

/// Keeps what the person decided, and leads back to the client.
pub(crate) async fn decide(form: Form) -> Response {
    let visit = &form.visit;
    let written = form.text(REQUEST).to_owned();
    let parameters = match request::form(&written) {
        Ok(parameters) => parameters,
        Err(error) => return visit.failed(&error),
    };
    // The request is read again: whatever the form says, a code is for what the client may ask.
    let (server, request) = match asked(visit, &parameters).await {
        Ok(asked) => asked,
        Err(response) => return *response,
    };
    match consent::choice(&form, &request.scopes).await {
        Ok(None) => response::onward(frame::onward(&request.denied_address(&server.issuer.address))),
        Ok(Some(choice)) => match server.make_code(&request, &choice).await {
            Ok(code) => response::onward(frame::onward(&request.code_address(&code, &server.issuer.address))),
            Err(error) => visit.failed(&told(error)),
        },
        Err(problem) => shown(visit, &request, &written, Some((&form, &problem))),
    }
}

/// The server of this deployment, if the visitor is the person who may decide; the page for all others.
pub(crate) fn server_of(visit: &Visit) -> Result<Server<'_>, Box<Response>> {
    let server = Server::of(visit.app());
    let server =
        server.ok_or_else(|| Box::new(refused(visit, "This service has no authorization server of its own.")))?;
    if visit.visitor.is_person {
        return Ok(server);
    }
    let next = visit.uri.path_and_query().map_or(entrance::HOME, |address| address.as_str());
    let problem = "Only the person can connect clients: sign in as yourself, not with a token.";
    Err(Box::new(entrance::sign_in(visit.app(), StatusCode::FORBIDDEN, next, Some(problem))))
}

async fn asked<'v>(
    visit: &'v Visit,
    parameters: &Map<String, Value>,
) -> Result<(Server<'v>, AuthorizationRequest), Box<Response>> {
    let server = server_of(visit)?;
    let id = parameters.get("client_id").and_then(Value::as_str).unwrap_or_default();
    let client = client_of(visit.app(), &server, id).await;
    let client = client.map_err(|error| Box::new(refused(visit, &error.description)))?;
    let place = client.place(parameters.get("redirect_uri").and_then(Value::as_str).unwrap_or_default());
    let read = AuthorizationRequest::read(parameters, client, &server.issuer.address, &server.issuer.resources());
    match read {
        Ok(request) => Ok((server, request)),
        Err(Refusal::Here(problem)) => Err(Box::new(refused(visit, &problem))),
        Err(Refusal::There(address)) => {
            let content = html! {
                h1 { (TITLE) }
                p.problem role="alert" { "The client asks for something that this service does not do. Nothing was allowed." }
                p { a href=(address) rel="noreferrer" { "Tell it so, at " (place) } }
            };
            Err(Box::new(with_status(visit.page(Section::Other, TITLE, content))))
        }
    }
}

fn shown(visit: &Visit, request: &AuthorizationRequest, written: &str, sent: Option<(&Form, &str)>) -> Response {
    let content = html! {
        div.narrow {
            h1 { (TITLE) }
            (client(&request.client, &request.redirect_uri))
            (consent::form(visit, atlas_oauth::metadata::AUTHORIZE, &[(REQUEST, written)], &request.scopes, sent))
            p.hint { "You can revoke this at any time under Access. It then ends within ten minutes." }
        }
    };
    visit.page(Section::Other, TITLE, content)
}

/// The client that asks, and how it is known.
fn client(client: &Client, redirect_uri: &str) -> Markup {
    let place = client.place(redirect_uri);
    html! {
        p.lead { strong { (place) } " wants to use your notes." }
        @if client.host.is_some() {
            p.hint { "Its name, " q { (visible(&client.name)) } ", is in a document that " (place) " publishes. The answer goes to " strong { (redirect::place(redirect_uri)) } " and nowhere else." }
        } @else {
            p.hint {
                "The answer goes to " strong { (place) } " and nowhere else."
                @if !client.name.is_empty() { " It calls itself " q { (visible(&client.name)) } ", which nobody has verified." }
                " Go on only if you have just begun this there."
            }
        }
    }
}

pub(crate) fn refused(visit: &Visit, problem: &str) -> Response {
    let content = html! { h1 { (TITLE) } p.problem role="alert" { (problem) } };
    with_status(visit.page(Section::Other, TITLE, content))
}

fn with_status(mut response: Response) -> Response {
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response
}
