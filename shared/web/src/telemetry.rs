//! Reports on requests: one line each in the log, and counters.
//!
//! On Lambda the line is also in CloudWatch's embedded metric format, so that a deployment has metrics without setup. A
//! server counts for Prometheus. Reports never contain queries, bodies or tokens.

use std::io::{IsTerminal as _, Write as _};
use std::time::Instant;

use atlas_ops::pipeline::audit::Audit;
use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::middleware::Next;
use axum::response::Response;
use tracing::{Instrument as _, Level};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt, registry};

use crate::caller::Caller;
use crate::headers::REQUEST_ID;
use crate::metrics::RequestReport;
pub use crate::metrics::{Cost, Metrics, OK};
use crate::response::SYNCED;
use crate::settings::Settings;
use crate::state::App;

/// Logs to standard error: as JSON for machines, as text for people.
pub fn start(filter: &str, json: bool) {
    let filter: Targets = filter.parse().unwrap_or_else(|_| Targets::new().with_default(Level::INFO));
    // It logs each message of MCP three times, so its logs must be requested.
    let is_told = filter.iter().any(|(target, _)| target.starts_with("rmcp"));
    let filter = if is_told { filter } else { filter.with_target("rmcp", Level::ERROR) };
    let colours = std::io::stderr().is_terminal();
    let layer = fmt::layer().with_writer(std::io::stderr).with_ansi(colours);
    let layer = if json { layer.json().without_time().boxed() } else { layer.boxed() };
    // A second start, in tests, changes nothing.
    let _ = registry().with(layer.with_filter(filter)).try_init();
}

/// Logs settings that have no effect.
pub(crate) fn tell_unused(settings: &Settings) {
    for (name, meant) in &settings.said.mistaken {
        tracing::warn!("{name} is set, and has no effect here: if you mean {meant}, set that, or else unset {name}");
    }
    if cfg!(not(feature = "otlp")) && settings.otlp_endpoint.is_some() {
        tracing::warn!(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, and this build sends no spans: build it with `--features otlp`, or unset the variable"
        );
    }
}

/// The audit log on standard error: each event as a line of JSON, whatever the log level.
pub fn audit() -> Audit {
    // If standard error is closed, nobody reads the line.
    Audit::to(|event| drop(writeln!(std::io::stderr(), "{event}")))
}

/// Runs a request within a span that has its id, and reports the outcome.
pub(crate) async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    let id = request_id(&request);
    let span = tracing::info_span!("request", id = %id.to_str().unwrap_or_default(), method = %request.method());
    async move {
        let begun = Instant::now();
        let caller = request.extensions().get::<Caller>().copied();
        #[cfg(feature = "otlp")]
        let parent = crate::otlp::Spans::parent(request.headers());
        let mut response = next.run(request).await;
        let seconds = begun.elapsed().as_secs_f64();
        // A token identifies the caller better than an address.
        let caller = response.extensions().get::<Caller>().copied().or(caller);
        let told = RequestReport::of(caller, &response, seconds);
        told.tell(&app.metrics, (app.clock)());
        #[cfg(feature = "otlp")]
        if let Some(spans) = &app.spans {
            spans.add(&told, id.to_str().unwrap_or_default(), &parent, (app.clock)().into()).await;
        }
        response.headers_mut().insert(REQUEST_ID, id);
        let synced = response.extensions().get::<Cost>().and_then(|cost| cost.synced);
        if let Some(synced) = synced.and_then(|time| HeaderValue::from_str(&time.to_string()).ok()) {
            response.headers_mut().insert(SYNCED, synced);
        }
        response
    }
    .instrument(span)
    .await
}

/// The caller's request id if it is a valid one, else a new one.
fn request_id(request: &Request) -> HeaderValue {
    let is_plain = |value: &&HeaderValue| {
        value.len() <= 64 && value.as_bytes().iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
    };
    if let Some(id) = request.headers().get(REQUEST_ID).filter(is_plain) {
        return id.clone();
    }
    let id = atlas_mirror::Id::random().map(|id| id.to_string()).unwrap_or_default();
    HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("-"))
}
