//! Routes of operations, and what every service has.

use atlas_ops::{Call, Error, dispatch};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware;
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use serde_json::{Value, json};

use crate::openapi::{self, Route};
use crate::state::App;
use crate::{request, response, telemetry};

/// The request header that names the vault.
pub const VAULT: &str = "x-atlas-vault";

/// Routes and their descriptions.
#[derive(Default)]
pub struct Routes {
    router: Router<App>,
    descriptions: Vec<Route>,
}

impl Routes {
    /// A route to which the arguments of `operation` are posted as JSON.
    #[must_use]
    pub fn post(self, path: &'static str, operation: &'static str) -> Self {
        let handler = move |State(app): State<App>, headers: HeaderMap, body: Body| async move {
            match request::json(&headers, body).await {
                Ok(arguments) => answer(call(&app, &headers, operation, arguments).await),
                Err(error) => response::error(&error),
            }
        };
        self.describe(Route::post(path, operation)).add(path, post(handler))
    }

    /// A route with a handler of its own; describe it with [`Routes::describe`].
    #[must_use]
    pub fn add(mut self, path: &str, handler: MethodRouter<App>) -> Self {
        self.router = self.router.route(path, handler);
        self
    }

    /// Adds a description.
    #[must_use]
    pub fn describe(mut self, route: Route) -> Self {
        self.descriptions.push(route);
        self
    }

    /// Both sets of routes.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.descriptions.extend(other.descriptions);
        self
    }

    /// The service: these routes, `/health`, `/openapi.json`, and an error in the usual shape for everything else.
    pub fn into_router(self, app: App) -> Router {
        let health = |State(app): State<App>, headers: HeaderMap| async move {
            answer(call(&app, &headers, "health", json!({})).await)
        };
        let all = self.add("/health", get(health)).describe(Route::get("/health", "health"));
        let document = openapi::document(&all.descriptions);
        let openapi = move || async move { response::json_response(StatusCode::OK, &document) };
        all.router
            .route("/openapi.json", get(openapi))
            .fallback(no_route)
            .method_not_allowed_fallback(no_method)
            .layer(middleware::from_fn(telemetry::log))
            .with_state(app)
    }
}

/// Calls an operation for a request.
///
/// # Errors
/// What the operation answers.
pub async fn call(
    app: &App,
    headers: &HeaderMap,
    operation: &'static str,
    arguments: Value,
) -> Result<atlas_ops::Answer<Value>, Error> {
    let vault = headers.get(VAULT).map(|vault| vault.to_str().unwrap_or_default().to_owned());
    dispatch(&app.atlas, Call { operation, vault, arguments, now: (app.clock)() }).await
}

/// The response to a call.
pub fn answer(result: Result<atlas_ops::Answer<Value>, Error>) -> Response {
    match result {
        Ok(answer) => response::ok(&answer),
        Err(error) => response::error(&error),
    }
}

async fn no_route(request: Request) -> Response {
    let message = format!("there is nothing at {}; /openapi.json lists what there is", cut(request.uri().path()));
    response::failure(StatusCode::NOT_FOUND, "NOT_FOUND", &message, &json!({ "reason": "route_not_found" }))
}

async fn no_method(request: Request) -> Response {
    let message =
        format!("{} does not take {}; /openapi.json lists what it takes", cut(request.uri().path()), request.method());
    response::failure(
        StatusCode::METHOD_NOT_ALLOWED,
        "BAD_REQUEST",
        &message,
        &json!({ "reason": "method_not_allowed" }),
    )
}

fn cut(path: &str) -> &str {
    path.get(..path.floor_char_boundary(200)).unwrap_or_default()
}
