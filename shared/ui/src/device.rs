//! A terminal asks for tokens: the person types in the code that it shows.

use atlas_mirror::Hash;
use atlas_oauth::device::DeviceRequest;
use atlas_oauth::{Server, client_of};
use atlas_vault::visible::visible;
use axum::response::Response;
use maud::html;

use crate::authorize::{TITLE, refused, server_of};
use crate::consent;
use crate::frame::Section;
use crate::sign_in::told;
use crate::visit::{Form, Visit};

const CODE: &str = "user_code";
const NOT_KNOWN: &str = "This code is not known, or is older than ten minutes. Begin again in the terminal.";

/// The page to type in a code, and the one that asks about it.
pub(crate) async fn page(visit: Visit) -> Response {
    let server = match server_of(&visit) {
        Ok(server) => server,
        Err(response) => return *response,
    };
    let typed = visit.parameter(CODE).to_owned();
    if typed.is_empty() {
        return entry(&visit, None);
    }
    match found(&visit, &server, &typed).await {
        Ok((_, request)) => shown(&visit, &request, &typed, None),
        Err(response) => *response,
    }
}

/// The request that a code, as somebody typed it, leads to, with the name that its client has now.
async fn found(visit: &Visit, server: &Server<'_>, typed: &str) -> Result<(Hash, DeviceRequest), Box<Response>> {
    let request = server.device_of(typed).await.map_err(|error| Box::new(visit.failed(&told(error))))?;
    let (device, request) = request.ok_or_else(|| Box::new(entry(visit, Some(NOT_KNOWN))))?;
    let client = client_of(visit.app(), server, &request.client).await;
    let client = client.map_err(|error| Box::new(refused(visit, &error.description)))?;
    Ok((device, DeviceRequest { client_name: client.name, ..request }))
}

/// Keeps what the person decided.
pub(crate) async fn decide(form: Form) -> Response {
    let visit = &form.visit;
    match server_of(visit) {
        Ok(server) => decided(&form, server).await,
        Err(response) => *response,
    }
}

async fn decided(form: &Form, server: Server<'_>) -> Response {
    let (visit, typed) = (&form.visit, form.text(CODE));
    let (device, request) = match found(visit, &server, typed).await {
        Ok(found) => found,
        Err(response) => return *response,
    };
    let choice = match consent::choice(form, &request.scopes()).await {
        Ok(choice) => choice,
        Err(problem) => return shown(visit, &request, typed, Some((form, &problem))),
    };
    match server.decide_device(device, &request, choice.as_ref()).await {
        Ok(true) => {
            let said = if choice.is_some() { "Allowed. Go on in the terminal." } else { "Not allowed." };
            visit.page(Section::Other, TITLE, html! { h1 { (TITLE) } p.said role="status" { (said) } })
        }
        Ok(false) => refused(visit, "This was decided before."),
        Err(error) => visit.failed(&told(error)),
    }
}

fn entry(visit: &Visit, problem: Option<&str>) -> Response {
    let content = html! {
        div.narrow {
            h1 { (TITLE) }
            @if let Some(problem) = problem { p.problem role="alert" { (problem) } }
            form.stack action="/ui/device" {
                label for="user-code" { "The code that the terminal shows" }
                input #user-code name=(CODE) required maxlength="20" autocomplete="off" autocapitalize="characters" spellcheck="false";
                button.primary type="submit" { "Go on" }
            }
        }
    };
    visit.page(Section::Other, TITLE, content)
}

fn shown(visit: &Visit, request: &DeviceRequest, typed: &str, sent: Option<(&Form, &str)>) -> Response {
    let content = html! {
        div.narrow {
            h1 { (TITLE) }
            p.lead { strong { "A program in a terminal" } " wants to use your notes." }
            p.hint {
                @if !request.client_name.is_empty() { "It calls itself " q { (visible(&request.client_name)) } ", which nobody has verified. " }
                "Go on only if you have just begun this in your own terminal, and it shows " strong { (typed) }
                ": who sent you a code or a link to this page would get your notes."
            }
            (consent::form(visit, "/ui/device", &[(CODE, typed)], &request.scopes(), sent))
        }
    };
    visit.page(Section::Other, TITLE, content)
}
