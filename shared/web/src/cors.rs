//! Decides which requests of web pages are answered.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

pub use crate::origins::Origins;
use crate::response;
use crate::state::App;

/// Whether pages of any origin may call at a path, though callers are not authenticated.
pub type Open = fn(&App, &str) -> bool;

/// Refuses pages of other sites if the caller is not authenticated: any program on this machine may call, and so could
/// every page in its browser. `open` returns whether a path is for all pages.
pub(crate) async fn check(State((app, open)): State<(App, Open)>, request: Request, next: Next) -> Response {
    if app.gate.answers_strangers(request.headers())
        && !open(&app, request.uri().path())
        && let Err(error) = app.origins.check(request.headers())
    {
        return response::error(&error);
    }
    next.run(request).await
}
