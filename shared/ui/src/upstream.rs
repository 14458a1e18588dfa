//! Signing in through another service: there, and back.

use atlas_oauth::Server;
use atlas_oauth::upstream::{Denied, TIME};
use atlas_ops::{Code, Error, Reason};
use atlas_web::caller::Caller;
use atlas_web::{App, request};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::entrance::{HOME, sign_in};
use crate::frame;
use crate::response;
use crate::session::cookie;
use crate::sign_in::{as_person, place, told, with_cookie};
use crate::visit::{Fields, failed};

/// Leads to the service.
pub(crate) async fn begin(State(app): State<App>, request: Request) -> Response {
    let headers = request.headers().clone();
    let fields = match Fields::read(request).await {
        Ok(fields) => fields,
        Err(error) => return failed(&error),
    };
    let next = place(fields.text("next"));
    let begun = match Server::of(&app) {
        Some(server) => server.begin_upstream(&next, cookie::browser(&headers)).await,
        None => Err(Denied::None),
    };
    match begun {
        Ok(begun) => {
            let kept = cookie::upstream_header(&headers, &begun.kept, TIME.as_secs());
            with_cookie(response::onward(frame::onward(&begun.address)), kept)
        }
        Err(denied) => denied_page(&app, &denied, &next),
    }
}

/// Takes up what the service answered. The browser brings it.
pub(crate) async fn back(State(app): State<App>, request: Request) -> Response {
    let headers = request.headers();
    let from = request.extensions().get::<Caller>().map_or_else(|| "unknown".to_owned(), Caller::to_string);
    let answer = match request::parameters(request.uri()) {
        Ok(answer) => answer,
        Err(error) => return failed(&error),
    };
    let Some(server) = Server::of(&app) else { return denied_page(&app, &Denied::None, HOME) };
    let response = match server.finish_upstream(cookie::upstream(headers), &answer, &from).await {
        Ok(done) => as_person(&app, &server, headers, done.is_known, &place(&done.next)).await,
        Err(denied) => denied_page(&app, &denied, HOME),
    };
    with_cookie(response, cookie::upstream_header(headers, "", 0))
}

fn denied_page(app: &App, denied: &Denied, next: &str) -> Response {
    let status = match denied {
        Denied::Failed(error) => return failed(&told(error.clone())),
        Denied::Wait(_) => StatusCode::TOO_MANY_REQUESTS,
        Denied::Unreachable(internal) | Denied::Unproven(internal) => {
            let told = Error::new(Code::Unavailable, Reason::PluginUnreachable, "nobody signs in through the provider");
            atlas_web::response::log(&Error { internal: Some(internal.clone()), ..told });
            if matches!(denied, Denied::Unreachable(_)) { StatusCode::BAD_GATEWAY } else { StatusCode::FORBIDDEN }
        }
        Denied::None | Denied::Stale | Denied::Refused(_) | Denied::Stranger(_) => StatusCode::FORBIDDEN,
    };
    let upstream = app.gate.issuer().and_then(|issuer| issuer.upstream.as_ref());
    let name = upstream.map(|upstream| upstream.document.shown()).unwrap_or_default();
    sign_in(app, status, next, Some(&denied.remedy(&name)))
}
