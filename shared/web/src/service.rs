//! The service: for each request, the routes of the current configuration.

use std::sync::{Arc, PoisonError, RwLock};

use atlas_ops::{Answer, Reason};
use atlas_tools::bridge::health::Health;
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::openapi::{JSON, Route, RouteAnswer};
use crate::routes::{Door, Routes, call};
use crate::state::App;
use crate::{auth, response, telemetry};

impl Routes {
    /// The service: these routes, `/health`, `/openapi.json`, and an error in the usual shape for everything else.
    pub fn into_router(self, app: App) -> Router {
        let health = |door: Door| async move {
            if door.caller.is_authenticated() {
                call(&door, atlas_tools::entry::<Health>(), json!({})).await.respond(healthy)
            } else {
                // Callers without a token learn only that it runs; the store is not asked.
                response::json_response(StatusCode::OK, &json!({ "ok": true }))
            }
        };
        let all = self
            .serve(auth::OPEN, &[atlas_tools::entry::<Health>()], get(health))
            .describe(Route::get(auth::OPEN, atlas_tools::entry::<Health>()).answering(&HEALTH));
        router(all, app)
    }
}

const HEALTH: [RouteAnswer; 2] = [
    RouteAnswer::OK,
    RouteAnswer { status: 503, description: "The answer, while the vault cannot be read.", media_types: &[JSON] },
];

/// The answer of `/health`: its status reflects the content, for those who check only the status.
fn healthy(health: &Answer<Value>) -> Response {
    let mut response = response::ok(health);
    if health.value["ok"] == false {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    response
}

/// The router for `routes`, with `app`'s current configuration for each request.
fn router(routes: Routes, app: App) -> Router {
    let configured = RwLock::new((app.configured.version, routes.configured(&app)));
    let service = Arc::new(Service { routes, app: app.clone(), configured });
    let answer = move |request: Request| {
        let service = service.clone();
        async move { service.answer(request).await }
    };
    Router::new().fallback(answer).layer(middleware::from_fn_with_state(app, telemetry::observe))
}

struct Service {
    routes: Routes,
    app: App,
    /// The router of the last configuration.
    configured: RwLock<(u64, Router)>,
}

impl Service {
    async fn answer(&self, request: Request) -> Response {
        let path = request.uri().path();
        let finish = self.routes.finish_of(path).map(|finish| (finish, path.to_owned()));
        let (app, response) = match self.app.current().await {
            Ok(app) => {
                let response = self.respond(&app, request).await;
                (app, response)
            }
            Err(_) => (self.app.clone(), unusable(path)),
        };
        match finish {
            Some((finish, path)) => finish(&app, &path, response),
            None => response,
        }
    }

    async fn respond(&self, app: &App, request: Request) -> Response {
        match self.configured(app).oneshot(request).await {
            Ok(response) => response,
            Err(never) => never.into_response(),
        }
    }

    fn configured(&self, app: &App) -> Router {
        {
            let last = self.configured.read().unwrap_or_else(PoisonError::into_inner);
            if last.0 == app.configured.version {
                return last.1.clone();
            }
        }
        let router = self.routes.configured(app);
        *self.configured.write().unwrap_or_else(PoisonError::into_inner) = (app.configured.version, router.clone());
        router
    }
}

/// The answer to all requests while the configuration is invalid. The log has the reason.
fn unusable(path: &str) -> Response {
    if path == auth::OPEN {
        return response::json_response(StatusCode::SERVICE_UNAVAILABLE, &json!({ "ok": false }));
    }
    let message = "the configuration of this deployment cannot be used; its operator must look at the log";
    response::failure(
        StatusCode::SERVICE_UNAVAILABLE,
        "UNAVAILABLE",
        message,
        &json!({ "reason": Reason::ConfigUnusable.as_str() }),
    )
}
