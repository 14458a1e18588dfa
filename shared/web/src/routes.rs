//! Routes of operations, and the routes of every service.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use atlas_access::Caller;
use atlas_access::visibility::Offer;
use atlas_ops::pipeline::gates::may_run;
use atlas_ops::{Answer, Call, Code, Entry, Error, Reason, dispatch};
use atlas_tools::admin::get_metrics::{self, GetMetrics};
use atlas_tools::facade::Toolbox;
use axum::Router;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware;
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use serde_json::Value;
use tokio::time::timeout;

pub use crate::auth::Pages;
use crate::auth::{FurtherVault, Unguarded};
use crate::beside::beside;
pub use crate::cors::Open;
pub use crate::headers::{CONFIRMATION, KEY, SESSION, VAULT};
use crate::metrics::{Cost, OK};
pub use crate::openapi::Item;
use crate::openapi::{self, Route};
use crate::state::App;
use crate::unrouted::{no_method, no_route};
use crate::{auth, cors, hosts, request, response};

/// The time limit of a call that changes nothing: less than a function's.
const READ_TIME: Duration = Duration::from_secs(12);

/// Routes and their descriptions.
#[derive(Clone, Default)]
pub struct Routes {
    served: Vec<Served>,
    descriptions: Vec<Route>,
    items: Vec<(&'static str, Item)>,
    finishes: Vec<(&'static str, Finish)>,
    open: Option<Open>,
    unguarded: Unguarded,
}

/// A door's change to every response below its path, including errors from elsewhere: the path, and the response.
pub type Finish = fn(&App, &str, Response) -> Response;

/// A route, for some methods.
#[derive(Clone)]
struct Served {
    path: &'static str,
    /// The route exists while one of these is offered; always, if empty.
    operations: Vec<&'static Entry>,
    handler: MethodRouter<App>,
}

impl Routes {
    /// A route to which the arguments of `operation` are posted as JSON.
    #[must_use]
    pub fn post(mut self, path: &'static str, operation: &'static Entry) -> Self {
        let handler = move |door: Door, body: Body| async move {
            match request::json(&door.headers, body).await {
                Ok(arguments) => call(&door, operation, arguments).await.respond(response::ok),
                Err(error) => response::error(&error),
            }
        };
        self.descriptions.push(Route::post(path, operation));
        self.serve(path, &[operation], post(handler))
    }

    /// A route with a custom handler that calls `operations`; it does not exist if all of them are disabled. One path
    /// can have several, for different methods. Describe it with [`Routes::describe`].
    #[must_use]
    pub fn serve(mut self, path: &'static str, operations: &[&'static Entry], handler: MethodRouter<App>) -> Self {
        self.served.push(Served { path, operations: operations.to_vec(), handler });
        self
    }

    /// Adds a description.
    #[must_use]
    pub fn describe(mut self, route: Route) -> Self {
        self.descriptions.push(route);
        self
    }

    /// Adds a description of a route of several operations.
    #[must_use]
    pub fn describe_as(mut self, path: &'static str, item: Item) -> Self {
        self.items.push((path, item));
        self
    }

    /// Applies `finish` to every response at paths with this prefix.
    #[must_use]
    pub fn finish(mut self, prefix: &'static str, finish: Finish) -> Self {
        self.finishes.push((prefix, finish));
        self
    }

    /// Lets pages of any origin call at the paths for which `open` returns true.
    #[must_use]
    pub fn open_to_pages(self, open: Open) -> Self {
        Self { open: Some(open), ..self }
    }

    /// Passes requests for `pages` on without a token.
    #[must_use]
    pub fn with_pages(mut self, pages: Pages) -> Self {
        self.unguarded.pages.push(pages);
        self
    }

    /// Passes requests for exactly these paths on without a token: nobody is their caller.
    #[must_use]
    pub fn without_token(mut self, paths: &[&'static str]) -> Self {
        self.unguarded.paths.extend(paths);
        self
    }

    /// Whether there are pages.
    pub(crate) fn have_pages(&self) -> bool {
        !self.unguarded.pages.is_empty()
    }

    /// The change to responses at `path`.
    pub(crate) fn finish_of(&self, path: &str) -> Option<Finish> {
        self.finishes.iter().find(|(prefix, _)| path.starts_with(prefix)).map(|(_, finish)| *finish)
    }

    /// `GET /metrics`: the counters of this process that the caller may see, for Prometheus. It requires the scope of
    /// the corresponding operation.
    #[must_use]
    pub fn metrics(self) -> Self {
        let handler = |door: Door| async move {
            if let Err(error) = may_run(&door.caller, &atlas_tools::entry::<GetMetrics>().info) {
                return response::error(&error);
            }
            let text = get_metrics::seen_by(&door.caller, &door.app.atlas_of_call()).unwrap_or_default();
            let mut response = Response::new(Body::from(text));
            let text = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
            response.headers_mut().insert(CONTENT_TYPE, text);
            response
        };
        self.serve("/metrics", &[], get(handler))
    }

    /// Both sets of routes.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.served.extend(other.served);
        self.descriptions.extend(other.descriptions);
        self.items.extend(other.items);
        self.finishes.extend(other.finishes);
        self.unguarded.pages.extend(other.unguarded.pages);
        self.unguarded.paths.extend(other.unguarded.paths);
        Self { open: self.open.or(other.open), ..self }
    }

    /// The router for `app`'s configuration. Disabled operations have no route, so they look like unknown ones.
    pub(crate) fn configured(&self, app: &App) -> Router {
        let offered = |served: &&Served| {
            let mut operations = served.operations.iter();
            served.operations.is_empty() || operations.any(|operation| app.offers(operation) != Offer::Disabled)
        };
        let served = self.served.iter().filter(offered);
        let router = served.fold(Router::new(), |router, served| router.route(served.path, served.handler.clone()));
        let listed = self.descriptions.iter().filter(|route| app.offers(route.operation()) == Offer::Listed);
        let descriptions: Vec<Route> = listed.cloned().collect();
        // Built on request, to keep functions' start fast.
        let (items, gate) = (self.items.clone(), app.gate.clone());
        let openapi =
            || async move { response::json_response(StatusCode::OK, &openapi::document(&descriptions, &items, &gate)) };
        let metadata = |router: Router<App>, path: &&str| router.route(path, get(auth::metadata));
        let routes = auth::METADATA
            .iter()
            .fold(router, metadata)
            .route("/openapi.json", get(openapi))
            .fallback(no_route)
            .method_not_allowed_fallback(no_method)
            .with_state(app.clone());
        // Outside of the routes as a whole: on a refusal inside of them, a route would list its methods.
        let router = Router::new()
            .fallback_service(routes)
            .layer(middleware::from_fn_with_state((app.clone(), Arc::new(self.unguarded.clone())), auth::authenticate));
        let pages = (app.clone(), self.open.unwrap_or(|_, _| false));
        let router = router.layer(middleware::from_fn_with_state(pages, cors::check));
        // A preflight request is answered before authentication, and a page may read a refusal.
        let router = match app.origins.layer() {
            Some(cors) => router.layer(cors),
            None => router,
        };
        if app.configured.checks_hosts {
            return router.layer(middleware::from_fn_with_state(app.hosts.clone(), hosts::check));
        }
        router
    }
}

/// The error for a call that took too long.
fn too_slow() -> Error {
    let message = "this took too long: ask for less at a time, or try again";
    Error::new(Code::Unavailable, Reason::TimeBudgetExceeded, message).with("retry_after_seconds", 2)
}

/// The result of a call.
pub struct CallResult {
    result: Result<Answer<Value>, Error>,
    cost: Cost,
}

/// A request, as handlers need it: the deployment, its headers, and its caller.
pub struct Door {
    /// The deployment.
    pub app: App,
    /// The request's headers.
    pub headers: HeaderMap,
    /// The caller.
    pub caller: Caller,
}

impl FromRequestParts<App> for Door {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let caller = parts.extensions.get::<Caller>().cloned().unwrap_or_else(Caller::nobody);
        let further = parts.extensions.get().map(|FurtherVault(vault)| vault.clone());
        let atlas = app.atlas.with(further);
        let app = App { atlas, asked_by: parts.extensions.get().copied(), ..app.clone() };
        Ok(Self { app, headers: parts.headers.clone(), caller })
    }
}

impl Door {
    /// A request of `caller`, from whom no header counts: `asked_by` is the client's pseudonym, if known.
    #[must_use]
    pub fn of(app: &App, caller: Caller, asked_by: Option<crate::caller::Caller>) -> Self {
        Self { app: App { asked_by, ..app.clone() }, headers: HeaderMap::new(), caller }
    }

    /// The tools that the caller sees.
    #[must_use]
    pub fn toolbox(&self) -> Toolbox<'_> {
        Toolbox { facade: self.app.facade, atlas: &self.app.atlas, caller: &self.caller }
    }

    /// A call of `operation`, with the values of the headers.
    #[must_use]
    pub fn call_of(&self, operation: &'static Entry, arguments: Value) -> Call {
        let Self { app, headers, caller } = self;
        let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default().to_owned());
        // Several headers are one list (RFC 9110, section 5.3), and so not a key.
        let keys: Vec<&str> = headers.get_all(KEY).iter().map(|key| key.to_str().unwrap_or_default()).collect();
        let key = (!keys.is_empty()).then(|| keys.join(", "));
        let (vault, confirmation, session) = (header(VAULT), header(CONFIRMATION), header(SESSION));
        Call { vault, key, confirmation, session, ..Call::new(operation, arguments, caller.clone(), app.clock) }
    }
}

/// Calls an operation for a request.
pub async fn call(door: &Door, operation: &'static Entry, arguments: Value) -> CallResult {
    run(&door.app, door.call_of(operation, arguments)).await
}

/// Runs a call.
pub async fn run(app: &App, call: Call) -> CallResult {
    let atlas = app.atlas_of_call();
    let operation = call.operation.info;
    let caller = app.gate.named(&call.caller).or(app.asked_by);
    let vault = atlas.vault(call.vault.as_deref().or(call.caller.vault())).ok().map(|vault| vault.id.clone());
    let mirror = vault.as_deref().and_then(|id| Some(atlas.vault(Some(id)).ok()?.mirror.clone()));
    let counted = atlas.clone();
    let called = async move {
        let called = dispatch(&atlas, call);
        let called = async {
            // A write has its own deadline, and may have happened.
            if operation.writes() {
                called.await
            } else {
                timeout(READ_TIME, called).await.unwrap_or_else(|_| Err(too_slow()))
            }
        };
        let synced = async {
            match &mirror {
                Some(mirror) => mirror.synced_lately().await,
                None => None,
            }
        };
        let (result, synced) = beside(called, synced).await;
        (result, synced.flatten().or_else(|| mirror.as_ref()?.synced_kept()))
    };
    let (result, synced) = match &app.threads {
        Some(threads) => threads.run(caller, called).await.unwrap_or_else(|error| (Err(error), None)),
        None => called.await,
    };
    let atlas = counted;
    let error = result.as_ref().err();
    let cost = Cost {
        operation: operation.name,
        vault,
        outcome: error.map_or(OK, |error| error.code.as_str()),
        reason: error.map(|error| error.reason().to_owned()),
        counts: atlas.counts(),
        synced: synced.map(|beat| beat.time),
    };
    CallResult { result, cost }
}

impl CallResult {
    /// The answer, and its cost, which belongs into the extensions of the response.
    ///
    /// # Errors Those of the call.
    pub fn into_parts(self) -> (Result<Answer<Value>, Error>, Cost) {
        (self.result, self.cost)
    }

    /// The response: `show` of the answer, or the error.
    pub fn respond(self, show: impl FnOnce(&Answer<Value>) -> Response) -> Response {
        self.respond_to(|result| match result {
            Ok(answer) => show(answer),
            Err(error) => response::error(error),
        })
    }

    /// The response: `show` of the call's result.
    pub fn respond_to(self, show: impl FnOnce(&Result<Answer<Value>, Error>) -> Response) -> Response {
        let mut response = show(&self.result);
        response.extensions_mut().insert(self.cost);
        response
    }
}
