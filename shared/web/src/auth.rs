//! Authenticates requests, or responds that a token is needed.

use std::sync::Arc;

use atlas_access::{Caller, Refused};
use atlas_ops::{Error, Vault};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use serde_json::Value;

use crate::gate::Challenge;
pub use crate::gate::Gate;
pub(crate) use crate::gate::METADATA;
use crate::issuer::ended;
use crate::response;
use crate::state::App;
use crate::unrouted::no_route;

/// Whether a request, by its path and headers, is for a page, which knows its visitors by a session: it passes without a token, and nobody is
/// its caller.
pub type Pages = fn(&str, &HeaderMap) -> bool;

/// The requests that pass without a token.
#[derive(Clone, Default)]
pub(crate) struct Unguarded {
    pub(crate) pages: Vec<Pages>,
    pub(crate) paths: Vec<&'static str>,
}

/// The vault of the caller, in the extensions of a request, if the configuration itself does not list it.
#[derive(Clone)]
pub(crate) struct FurtherVault(pub(crate) Vault);

/// The path that is answered without a token.
pub(crate) const OPEN: &str = "/health";

/// Passes requests on with their [`Caller`]. The operation decides whether the caller may run it.
///
/// Requests for `open` pages and paths pass as nobody's: a token in a header means nothing there, as a cookie means nothing elsewhere.
pub(crate) async fn authenticate(
    State((app, open)): State<(App, Arc<Unguarded>)>,
    mut request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    if open.pages.iter().any(|pages| pages(path, request.headers())) || open.paths.contains(&path) {
        request.extensions_mut().insert(Caller::nobody());
        return next.run(request).await;
    }
    if METADATA.contains(&path) {
        return next.run(request).await;
    }
    let caller = match app.gate.caller(request.headers(), (app.clock)()) {
        Ok(caller) => caller,
        Err(Challenge::Missing) if path == OPEN => Caller::nobody(),
        Err(challenge) => return challenge.response(app.gate.metadata(path, request.headers()).as_deref()),
    };
    match is_revoked(&app, &caller).await {
        Ok(false) => {}
        Ok(true) => {
            let metadata = app.gate.metadata(path, request.headers());
            return Challenge::Refused(Refused::Invalid).response(metadata.as_deref());
        }
        Err(error) => return response::error(&error),
    }
    match app.further_vault(&caller).await {
        Ok(Some(vault)) => drop(request.extensions_mut().insert(FurtherVault(vault))),
        Ok(None) => {}
        Err(error) => return response::error(&error),
    }
    let known = app.gate.named(&caller);
    request.extensions_mut().insert(caller);
    let mut response = next.run(request).await;
    if let Some(known) = known {
        response.extensions_mut().insert(known);
    }
    response
}

/// Whether the grant of the caller's token was ended, where the deployment looks that up: one request to the store.
///
/// # Errors
/// When the store fails.
pub async fn is_revoked(app: &App, caller: &Caller) -> Result<bool, Error> {
    let Some(grant) = app.gate.revocable(caller) else { return Ok(false) };
    let mirror = &app.atlas.vault(None)?.mirror;
    Ok(mirror.get_state::<Value>(&ended(grant)).await?.is_some())
}

/// `GET` of the protected resource's metadata.
pub(crate) async fn metadata(State(app): State<App>, request: Request) -> Response {
    match app.gate.description(request.uri().path(), request.headers()) {
        Some(description) => response::json_response(StatusCode::OK, &description),
        None => no_route(request).await,
    }
}
