//! A vault that is published to a store in memory, behind the functions' routes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::{Mirror, Options, PartCache, Store, StoreOptions};
use atlas_ops::Limits;
use atlas_ops::pipeline::audit::Audit;
use atlas_testkit::{CountingStore, VaultBuilder};
use atlas_web::state::Reach;
use atlas_web::{App, Routes, Settings};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// A store with a vault in it.
pub struct Deployment {
    pub objects: Arc<InMemory>,
    limits: Limits,
}

/// A client of the functions: one process, warm from the second request on.
pub struct Client {
    router: Router,
    pub requests: Arc<CountingStore>,
}

/// A response.
#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Deployment {
    /// The demo vault, published.
    pub async fn of_demo() -> Self {
        Self::of(&demo()).await
    }

    /// A vault, published.
    pub async fn of_vault(vault: &VaultBuilder) -> Self {
        Self::of(vault.root()).await
    }

    /// A folder, published.
    pub async fn of(root: &Path) -> Self {
        let deployment = Self::empty();
        deployment.publish(root).await;
        deployment
    }

    /// An empty store.
    pub fn empty() -> Self {
        Self { objects: Arc::new(InMemory::new()), limits: Limits::default() }
    }

    pub fn with_limits(mut self, change: impl Fn(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// Publishes the current state of a folder.
    pub async fn publish(&self, root: &Path) {
        let state = tempfile::tempdir().unwrap();
        crate::support::publish::publish(root, &self.mirror(), state.path()).await;
    }

    /// The store, for a process of its own.
    pub fn store(&self) -> Store {
        store(self.objects.clone())
    }

    pub fn mirror(&self) -> Mirror {
        self.mirror_of("main")
    }

    /// The mirror of another vault in the same store.
    pub fn mirror_of(&self, vault: &str) -> Mirror {
        self.mirror_with(vault, Options::default())
    }

    pub fn mirror_with(&self, vault: &str, options: Options) -> Mirror {
        let cache = Arc::new(PartCache::new(0));
        Mirror::open(store(self.objects.clone()), vault.parse().unwrap(), cache, options).unwrap()
    }

    /// Publishes a folder as another vault in the same store.
    pub async fn publish_as(&self, vault: &str, root: &Path) {
        let state = tempfile::tempdir().unwrap();
        crate::support::publish::publish(root, &self.mirror_of(vault), state.path()).await;
    }

    /// A cold process of all functions.
    pub fn client(&self) -> Client {
        self.client_of(all_functions())
    }

    /// The state shared by functions over this store.
    pub fn app(&self) -> App {
        App::over(store(self.objects.clone()), "main".parse().unwrap(), self.limits, 256 << 20).unwrap()
    }

    /// A cold process of all functions, configured by `variables`.
    pub async fn set_up(&self, variables: &[(&str, &str)]) -> Client {
        self.try_set_up(variables, Duration::from_secs(30)).await.unwrap()
    }

    /// Like [`set_up`](Self::set_up), if it starts; its configuration is read again after `max_age`.
    pub async fn try_set_up(&self, variables: &[(&str, &str)], max_age: Duration) -> Result<Client, String> {
        let settings = Settings { limits: self.limits, ..settings(variables) };
        Client::try_set_up_over(&store(self.objects.clone()), &settings, max_age).await
    }

    /// The shared state of functions configured by `variables`.
    pub async fn app_of(&self, variables: &[(&str, &str)]) -> App {
        App::open_in(store(self.objects.clone()), &settings(variables), Reach::Loopback, Duration::ZERO).await.unwrap()
    }

    /// Like [`set_up`](Self::set_up), with an audit log.
    pub async fn audited(&self, variables: &[(&str, &str)], audit: Audit) -> Client {
        let settings = Settings { limits: self.limits, audit, ..settings(variables) };
        Client::try_set_up_over(&store(self.objects.clone()), &settings, Duration::from_secs(30)).await.unwrap()
    }

    /// A cold process of all functions, changed by `change`.
    pub fn client_with(&self, change: impl FnOnce(App) -> App) -> Client {
        Client::over_app(&store(self.objects.clone()), self.limits, change)
    }

    /// A cold process of some functions.
    pub fn client_of(&self, routes: Routes) -> Client {
        let requests = CountingStore::new(self.objects.clone());
        let app = App::over(store(requests.clone()), "main".parse().unwrap(), self.limits, 256 << 20).unwrap();
        Client { router: routes.into_router(app), requests }
    }
}

/// The settings of an environment.
pub fn settings(variables: &[(&str, &str)]) -> Settings {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Settings::read(variables).unwrap()
}

fn store(objects: Arc<dyn ObjectStore>) -> Store {
    Store::new(objects, "", StoreOptions::default()).unwrap()
}

/// The folder of the demo vault.
pub fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vaults/demo")
}

/// The routes of `atlas serve`.
pub fn all_functions() -> Routes {
    function_context::routes()
        .merge(function_find::routes())
        .merge(function_search::routes())
        .merge(function_query::routes())
        .merge(function_note::routes())
        .merge(function_bridge::routes())
        .merge(function_mcp::routes())
        .merge(function_ui::routes())
        .merge(function_auth::routes_beside_ui())
}

impl Client {
    /// A cold process of all functions over a store of another kind.
    pub fn over(place: &Store) -> Self {
        Self::over_with(place, Limits::default())
    }

    /// Like [`over`](Self::over), with other limits.
    pub fn over_with(place: &Store, limits: Limits) -> Self {
        Self::over_app(place, limits, |app| app)
    }

    /// Like [`over_with`](Self::over_with), changed by `change`.
    pub fn over_app(place: &Store, limits: Limits, change: impl FnOnce(App) -> App) -> Self {
        let requests = CountingStore::new(place.inner().clone());
        let store = Store::new(requests.clone(), place.prefix(), StoreOptions::default()).unwrap();
        let app = App::over(store, "main".parse().unwrap(), limits, 256 << 20).unwrap();
        Self { router: all_functions().into_router(change(app)), requests }
    }

    /// Like [`over`](Self::over), configured by `settings`, if it starts.
    pub async fn try_set_up_over(place: &Store, settings: &Settings, max_age: Duration) -> Result<Self, String> {
        let requests = CountingStore::new(place.inner().clone());
        let store = Store::new(requests.clone(), place.prefix(), StoreOptions::default()).unwrap();
        let app = App::open_in(store, settings, Reach::Loopback, max_age).await.map_err(|error| error.to_string())?;
        Ok(Self::of(app, requests))
    }

    /// A cold process of some functions over a store of another kind, configured by `settings`.
    pub async fn of_routes(routes: Routes, place: &Store, settings: &Settings, max_age: Duration) -> Self {
        let app = App::open_in(place.clone(), settings, Reach::Loopback, max_age).await.unwrap();
        Self { router: routes.into_router(app), requests: CountingStore::new(place.inner().clone()) }
    }

    /// All functions, which share `app`.
    pub fn of(app: App, requests: Arc<CountingStore>) -> Self {
        Self { router: all_functions().into_router(app), requests }
    }

    /// Posts a JSON body.
    pub async fn post(&self, path: &str, body: Value) -> Reply {
        let request = Request::builder().method(Method::POST).uri(path).header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.get_with(path, &[]).await
    }

    pub async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        let mut request = Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::empty()).unwrap()).await
    }

    pub async fn send(&self, request: Request<Body>) -> Reply {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        Reply { status: head.status, headers: head.headers, body: body.collect().await.unwrap().to_bytes() }
    }

    /// The results of `find`, as (path, anchor, quote).
    pub async fn find(&self, term: &str) -> Vec<(String, Option<String>, Option<String>)> {
        self.find_with(json!({ "term": term })).await
    }

    pub async fn find_with(&self, body: Value) -> Vec<(String, Option<String>, Option<String>)> {
        let reply = self.post("/find", body).await.ok();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let results = reply["results"].as_array().unwrap();
        results
            .iter()
            .map(|found| (found["path"].as_str().unwrap().to_owned(), text(&found["anchor"]), text(&found["quote"])))
            .collect()
    }

    /// The paths found by `find`.
    pub async fn found(&self, term: &str) -> Vec<String> {
        self.find(term).await.into_iter().map(|(path, ..)| path).collect()
    }
}

impl Reply {
    pub fn json(&self) -> Value {
        let json = serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        // The envelopes of JSON-RPC are the protocol library's.
        if !self.body.starts_with(br#"{"jsonrpc""#) {
            assert_sorted(&json);
        }
        json
    }

    /// The body of a reply that must be a success.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", String::from_utf8_lossy(&self.body));
        self.json()
    }

    /// The error of a reply that must have `status`: its code, reason and message.
    #[track_caller]
    pub fn error(&self, status: u16) -> (String, String, String) {
        assert_eq!(self.status.as_u16(), status, "{}", String::from_utf8_lossy(&self.body));
        let body = self.json();
        let error = body["error"].as_object().expect("the error shape");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        assert_eq!(body.as_object().unwrap().len(), 1);
        assert!(error["details"].is_object());
        (text(&error["code"]), text(&error["details"]["reason"]), text(&error["message"]))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Answers have canonical bytes: the members of objects are sorted.
#[track_caller]
pub fn assert_sorted(json: &Value) {
    assert_eq!(json.to_string(), atlas_ops::sorted(json.clone()).to_string(), "the members are not sorted");
}

/// `path` encoded for a URL.
pub fn encoded(path: &str) -> String {
    percent_encoding::utf8_percent_encode(path, percent_encoding::NON_ALPHANUMERIC).to_string().replace("%2F", "/")
}
