//! The page to sign in, for visitors without a session.

use atlas_oauth::passphrase::MAX_PASSPHRASE;
use atlas_web::App;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use maud::html;

use crate::frame::{self, Section};
use crate::response;
use crate::session::MAX_TOKEN;

/// The first page.
pub(crate) const HOME: &str = "/ui";

/// The answer to a request without a session.
pub(crate) fn needed(app: &App, parts: &Parts) -> Response {
    let of_site = parts.headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    let is_followed = parts.headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate");
    // A browser that follows a link of another site leaves the cookie out. It does not where this site leads there itself.
    if only_looks(&parts.method) && of_site == Some("cross-site") && is_followed {
        let address = parts.uri.path_and_query().map_or(HOME, |address| address.as_str());
        return response::page(StatusCode::OK, frame::onward(address));
    }
    let next = parts.uri.path_and_query().filter(|_| only_looks(&parts.method)).map(|address| address.as_str());
    sign_in(app, StatusCode::UNAUTHORIZED, next.unwrap_or(HOME), None)
}

/// The page to sign in, which then leads to `next`.
pub(crate) fn sign_in(app: &App, status: StatusCode, next: &str, problem: Option<&str>) -> Response {
    let (by_token, issuer) = (app.gate.takes_signed(), app.gate.issuer());
    let upstream = issuer.and_then(|issuer| issuer.upstream.as_ref());
    let by_passphrase = issuer.is_some_and(|issuer| issuer.authority.passphrase.is_some());
    let content = html! {
        div.narrow {
            h1 { "Sign in" }
            @if let Some(problem) = problem { p.problem role="alert" { (problem) } }
            @if app.is_on_host() {
                p { "Run this in the folder of your notes, and open the link that it prints:" }
                pre.command { code { "atlas ui" } }
                p.hint { "The link works once. It makes you the person at this machine: you can approve what agents want to do, and take it back." }
            }
            @if let Some(upstream) = upstream {
                form.stack method="post" action=(atlas_oauth::upstream::BEGIN) {
                    input type="hidden" name="next" value=(next);
                    button.primary type="submit" { "Sign in with " (upstream.document.shown()) }
                }
            }
            @if let (true, Some(issuer)) = (by_passphrase, issuer) {
                @if upstream.is_some() { h2 { "Or with your passphrase" } }
                form.stack method="post" action="/ui/sign-in" {
                    input type="hidden" name="next" value=(next);
                    // For password managers, which keep a passphrase by a name; the person's own is told to nobody.
                    input.hidden type="text" name="username" value="atlas" autocomplete="username" aria-label="Account" tabindex="-1" readonly;
                    label for="passphrase" { "Your passphrase" }
                    input #passphrase type="password" name="passphrase" required maxlength=(MAX_PASSPHRASE) autocomplete="current-password";
                    @if issuer.authority.totp.is_some() {
                        label for="one-time" { "The code that your app shows" }
                        input #one-time name="code" required maxlength="10" inputmode="numeric" autocomplete="one-time-code" spellcheck="false";
                    }
                    button.primary type="submit" { "Sign in" }
                }
            }
            @if issuer.is_some() { h2 { "Or with a token" } }
            @if by_token {
                form.stack method="post" action="/ui/sign-in" {
                    input type="hidden" name="next" value=(next);
                    label for="token" { "Your token" }
                    input #token type="password" name="token" required maxlength=(MAX_TOKEN) autocomplete="off" spellcheck="false";
                    p.hint { "You can do here what the token grants. To decide on calls, it needs the scopes read:vault and approve:vault. It is kept in a cookie of your browser, for at most 12 hours." }
                    button.primary type="submit" { "Sign in" }
                }
            }
            @if !by_token && !app.is_on_host() { p { "Nobody can sign in here: this service takes no signed tokens." } }
        }
    };
    response::page(status, frame::page(None, Section::Other, "Sign in", content))
}

/// Whether the request is one that only looks.
fn only_looks(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}
