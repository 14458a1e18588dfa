//! Signing in, by a link of the host, by a passphrase or by a token, and out. `upstream` is another way.

use atlas_oauth::person::Outcome;
use atlas_oauth::{OAuthError, Server};
use atlas_ops::{Code, Error, Reason};
use atlas_web::caller::Caller;
use atlas_web::{App, Door};
use axum::extract::{Path, Request, State};
use axum::http::header::{CACHE_CONTROL, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::Response;
use jiff::Timestamp;

use crate::entrance::{HOME, sign_in};
use crate::response;
use crate::session::cookie::{self, Cookie};
use crate::session::{self, MAX_TOKEN};
use crate::visit::{Fields, Form, failed};

/// Leads to the first page.
pub(crate) async fn home() -> Response {
    response::see(HOME)
}

/// The page to sign in.
pub(crate) async fn page(door: Door) -> Response {
    sign_in(&door.app, StatusCode::OK, HOME, None)
}

/// Begins a session by a link of the host. A look at the link alone, as by a checker of links, does not use it up.
pub(crate) async fn open(
    State(app): State<App>,
    Path(code): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    if method == Method::HEAD {
        return response::see(HOME);
    }
    let now = (app.clock)();
    let begun = async {
        if !app.is_on_host() {
            return Ok(None);
        }
        session::by_link(&app.atlas.vault(None)?.mirror, &code, now).await
    };
    match begun.await {
        Ok(Some((cookie, expires))) => begin(&app, &headers, &cookie, expires, HOME).await,
        // Reloaded, or opened twice.
        Ok(None) if matches!(session::visitor(&app, &headers, now).await, Ok(Some(_))) => response::see(HOME),
        Ok(None) => {
            let problem = "This link was used before, or is too old.";
            sign_in(&app, StatusCode::FORBIDDEN, HOME, Some(problem))
        }
        Err(error) => failed(&error),
    }
}

/// Begins a session by a passphrase or a token, whichever the form has.
pub(crate) async fn by_form(State(app): State<App>, request: Request) -> Response {
    let headers = request.headers().clone();
    let from = request.extensions().get::<Caller>().map_or_else(|| "unknown".to_owned(), Caller::to_string);
    let fields = match Fields::read(request).await {
        Ok(fields) => fields,
        Err(error) => return failed(&error),
    };
    let next = place(fields.text("next"));
    if !fields.text("passphrase").is_empty() {
        return by_passphrase(&app, &headers, &fields, &next, &from).await;
    }
    let token = fields.text("token").trim();
    if token.len() > MAX_TOKEN {
        return failed(&Error::new(
            Code::TooLarge,
            Reason::TokenInvalid,
            format!("a token has at most {MAX_TOKEN} bytes here"),
        ));
    }
    match session::by_token(&app, token, (app.clock)()).await {
        Ok(Some((cookie, expires))) => begin(&app, &headers, &cookie, expires, &next).await,
        Ok(None) => sign_in(&app, StatusCode::FORBIDDEN, &next, Some("This token is not valid here.")),
        Err(error) => failed(&error),
    }
}

/// Begins a session by the person's passphrase. `from` is where the request comes from, a pseudonym.
async fn by_passphrase(app: &App, headers: &HeaderMap, fields: &Fields, next: &str, from: &str) -> Response {
    let Some(server) = Server::of(app) else {
        return sign_in(app, StatusCode::FORBIDDEN, next, Some("Nobody signs in with a passphrase here."));
    };
    let shown = cookie::browser(headers);
    let is_known = shown.is_some_and(|shown| server.known_browser(shown).is_some());
    let tried = server.sign_in(fields.text("passphrase"), fields.text("code"), from, shown).await;
    let waits = |seconds: i64| format!("There were too many tries. Wait {seconds} seconds, then try again.");
    let problem = match tried.map_err(told) {
        Ok(Outcome::SignedIn) => None,
        Ok(Outcome::Wrong) => Some((StatusCode::FORBIDDEN, "The passphrase or the code is wrong.".to_owned())),
        Ok(Outcome::Wait(seconds)) => Some((StatusCode::TOO_MANY_REQUESTS, waits(seconds))),
        Err(error) => return failed(&error),
    };
    match problem {
        Some((status, problem)) => sign_in(app, status, next, Some(&problem)),
        None => as_person(app, &server, headers, is_known, next).await,
    }
}

/// Begins a session of the person, and has the browser known from now on, unless it `is_known`.
pub(crate) async fn as_person(
    app: &App,
    server: &Server<'_>,
    headers: &HeaderMap,
    is_known: bool,
    next: &str,
) -> Response {
    let begun = session::of_person(server.mirror, &server.issuer.authority.person, server.now).await;
    let (session, expires) = match begun {
        Ok(begun) => begun,
        Err(error) => return failed(&error),
    };
    let response = begin(app, headers, &session, expires, next).await;
    match server.new_browser() {
        Ok(shown) if !is_known => with_cookie(response, cookie::browser_header(headers, &shown)),
        _ => response,
    }
}

/// The error of a call, for an error of the authorization server.
pub(crate) fn told(error: OAuthError) -> Error {
    let code = match error.code {
        atlas_oauth::error::Code::TemporarilyUnavailable => Code::Unavailable,
        atlas_oauth::error::Code::ServerError => Code::Internal,
        _ => Code::BadRequest,
    };
    let reason = if code == Code::BadRequest { Reason::ValidationError } else { Reason::StoreUnavailable };
    Error { internal: error.internal, ..Error::new(code, reason, error.description) }
}

/// Sets the cookie of a new session. The one before ends.
async fn begin(app: &App, headers: &HeaderMap, cookie: &Cookie, expires: Timestamp, next: &str) -> Response {
    let now = (app.clock)();
    if let Ok(Some(before)) = session::visitor(app, headers, now).await
        && let Ok(app) = app.for_caller(&before.caller).await
        && let Ok(vault) = app.atlas.vault(before.caller.vault())
        && let Err(error) = session::end(&vault.mirror, &before).await
    {
        return failed(&error);
    }
    let seconds = u64::try_from(expires.duration_since(now).as_secs()).unwrap_or(0);
    with_cookie(response::see(next), cookie::header(headers, Some(cookie), seconds))
}

/// Ends the session.
pub(crate) async fn sign_out(form: Form) -> Response {
    let visit = &form.visit;
    let ended = async { session::end(visit.mirror()?, &visit.visitor).await };
    match ended.await {
        Ok(()) => with_cookie(response::see("/ui/sign-in"), cookie::header(&visit.headers, None, 0)),
        Err(error) => visit.failed(&error),
    }
}

pub(crate) fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Response {
    if let Some(cookie) = cookie {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A page of this site; the first one for anything else.
pub(crate) fn place(next: &str) -> String {
    let is_own = next.starts_with("/ui/") && next.bytes().all(|byte| byte.is_ascii_graphic()) && !next.contains('\\');
    if is_own { next.to_owned() } else { HOME.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_in_ends_on_a_page_of_this_site() {
        assert_eq!(place("/ui/note?path=a%20b.md"), "/ui/note?path=a%20b.md");
        for other in [
            "",
            "//evil.example",
            "https://evil.example",
            "/ui",
            "/uix",
            "/ui/\\evil",
            "/ui/a b",
            "/ui/a\r\nX: y",
            "/notes",
        ] {
            assert_eq!(place(other), HOME, "{other}");
        }
    }
}
