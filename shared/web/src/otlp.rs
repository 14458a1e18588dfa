//! Exports requests as OpenTelemetry spans over OTLP (protobuf over HTTP).
//!
//! A span has the same content as the line in the log. A caller's `traceparent` makes it part of the caller's trace.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::http::HeaderMap;
use bytes::Bytes;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{Span as _, SpanKind, Status, Tracer as _, TracerProvider as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{HeaderExtractor, HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tokio::runtime::Handle;

use crate::metrics::RequestReport;
use crate::settings::{Settings, SettingsError};

/// Longest time for one export.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time that a response waits for its span to be exported.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The exporter of spans.
#[derive(Clone, Debug)]
pub struct Spans {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    /// Whether a response waits for its span to be exported.
    prompt: bool,
}

impl Spans {
    /// An exporter to the collector at `OTEL_EXPORTER_OTLP_ENDPOINT`; [`None`] if it is not set. Spans are sent on the
    /// current runtime. `prompt` is for a process that may be frozen once it has answered: each response waits for the
    /// export of its span.
    ///
    /// # Errors
    /// When the setting is invalid.
    pub fn open(settings: &Settings, prompt: bool) -> Result<Option<Self>, SettingsError> {
        let Some(endpoint) = &settings.otlp_endpoint else { return Ok(None) };
        let exporter = exporter(endpoint).map_err(|error| SettingsError::Value {
            name: "OTEL_EXPORTER_OTLP_ENDPOINT",
            value: endpoint.clone(),
            remedy: format!("write the URL of a collector, for instance http://127.0.0.1:4318 ({error})"),
        })?;
        let resource = Resource::builder().with_service_name("atlas-mirror");
        let resource = resource.with_attribute(KeyValue::new("atlas.vault", settings.vault.to_string())).build();
        let provider = SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter).build();
        let tracer = provider.tracer("atlas-web");
        Ok(Some(Self { provider, tracer, prompt }))
    }

    /// The trace of a request, if its caller sent one.
    pub(crate) fn parent(headers: &HeaderMap) -> Context {
        TraceContextPropagator::new().extract_with_context(&Context::new(), &HeaderExtractor(headers))
    }

    /// Adds the span of a request that ended at `end`.
    pub(crate) async fn add(&self, told: &RequestReport<'_>, id: &str, parent: &Context, end: SystemTime) {
        let begin = end.checked_sub(Duration::from_secs_f64(told.seconds)).unwrap_or(end);
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let mut attributes = vec![
            KeyValue::new("atlas.operation", told.operation),
            KeyValue::new("atlas.request_id", id.to_owned()),
            KeyValue::new("atlas.waves", number(told.counts.waves)),
            KeyValue::new("atlas.store.requests", number(told.counts.requests)),
            KeyValue::new("atlas.store.read_bytes", number(told.counts.bytes_read)),
            KeyValue::new("http.response.status_code", i64::from(told.status)),
        ];
        attributes.push(KeyValue::new("atlas.outcome", told.outcome));
        attributes.extend(told.vault.map(|vault| KeyValue::new("atlas.vault", vault.to_owned())));
        attributes.extend(told.reason.map(|reason| KeyValue::new("atlas.reason", reason.to_owned())));
        attributes.extend(told.generation.map(|generation| KeyValue::new("atlas.generation", generation.to_owned())));
        attributes.extend(told.caller.clone().map(|caller| KeyValue::new("atlas.caller", caller)));
        let builder = self.tracer.span_builder(told.operation);
        let builder = builder.with_kind(SpanKind::Server).with_start_time(begin).with_attributes(attributes);
        let mut span = builder.start_with_context(&self.tracer, parent);
        if told.is_fault() {
            span.set_status(Status::error(""));
        }
        span.end_with_timestamp(end);
        if self.prompt {
            self.flush().await;
        }
    }

    /// Waits until all spans are exported, at most a second.
    pub(crate) async fn flush(&self) {
        let provider = self.provider.clone();
        let flushing = tokio::task::spawn_blocking(move || provider.force_flush());
        if !matches!(tokio::time::timeout(FLUSH_TIMEOUT, flushing).await, Ok(Ok(Ok(())))) {
            tracing::warn!("spans could not be exported");
        }
    }
}

fn exporter(endpoint: &str) -> Result<SpanExporter, HttpError> {
    // The HTTP client uses the process's TLS provider. An installed one is kept.
    let _: Result<(), Arc<_>> = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().timeout(EXPORT_TIMEOUT).build()?;
    let endpoint = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
    reqwest::Url::parse(&endpoint)?;
    let client = Client { http, runtime: Handle::try_current()? };
    let exporter = SpanExporter::builder().with_http().with_http_client(client).with_protocol(Protocol::HttpBinary);
    Ok(exporter.with_endpoint(endpoint).with_timeout(EXPORT_TIMEOUT).build()?)
}

/// Sends requests of the exporter's own thread, which has no runtime, on the server's runtime.
#[derive(Debug)]
struct Client {
    http: reqwest::Client,
    runtime: Handle,
}

#[async_trait::async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: axum::http::Request<Bytes>) -> Result<axum::http::Response<Bytes>, HttpError> {
        let http = self.http.clone();
        self.runtime.spawn(async move { http.send_bytes(request).await }).await?
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Instant;

    use axum::body::Body;
    use axum::http::{Request, StatusCode};
    use axum::routing::post;
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;
    use tower::ServiceExt as _;

    use super::*;
    use crate::connections::{self, Bounds, Transport};
    use crate::proxies::Proxies;
    use crate::state::Reach;
    use crate::{App, Routes};

    const TRACE: [u8; 16] = *b"a trace of mine.";

    /// Sends a request to a service that exports to the collector at `address`.
    async fn ask(address: SocketAddr) -> StatusCode {
        let endpoint = format!("http://{address}");
        let variables = [("ATLAS_STORE", "memory://"), ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)];
        let settings = Settings::read(variables.map(|(name, value)| (name.to_owned(), value.to_owned()))).unwrap();
        let opened = App::open(&settings, Reach::Loopback).await.unwrap();
        let app = App { spans: Spans::open(&settings, true).unwrap(), ..opened };
        let trace: String = TRACE.iter().map(|byte| format!("{byte:02x}")).collect();
        let request = Request::get("/health").header("traceparent", format!("00-{trace}-00f067aa0ba902b7-01"));
        Routes::default().into_router(app).oneshot(request.body(Body::empty()).unwrap()).await.unwrap().status()
    }

    #[tokio::test]
    async fn a_span_is_exported_before_the_response_and_belongs_to_the_callers_trace() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (sender, mut exported) = mpsc::unbounded_channel();
        let collect = async move |headers: HeaderMap, body: Bytes| drop(sender.send((headers, body)));
        let collector = axum::Router::new().route("/v1/traces", post(collect));
        let address = listener.local_addr().unwrap();
        let (bounds, proxies, stop) = (Bounds::default(), Proxies::default(), std::future::pending());
        tokio::spawn(connections::serve(listener, Transport::Plain, collector, bounds, proxies, stop));
        let status = ask(address).await;
        let (headers, body) = exported.try_recv().unwrap();
        assert_eq!((status, &headers["content-type"]), (StatusCode::OK, &"application/x-protobuf".parse().unwrap()));
        let says = |bytes: &[u8]| body.windows(bytes.len()).any(|window| window == bytes);
        assert!(says(b"health") && says(b"atlas-mirror") && says(b"atlas.waves") && says(&TRACE), "{body:?}");
    }

    #[tokio::test]
    async fn a_collector_that_does_not_answer_holds_a_response_up_for_a_second() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let begun = Instant::now();
        assert_eq!(ask(listener.local_addr().unwrap()).await, StatusCode::OK);
        assert!(begun.elapsed() < EXPORT_TIMEOUT, "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn what_is_no_url_is_refused() {
        let mut settings = Settings::read([]).unwrap();
        assert!(Spans::open(&settings, false).unwrap().is_none());
        settings.otlp_endpoint = Some("collector".to_owned());
        let message = Spans::open(&settings, false).unwrap_err().to_string();
        assert!(message.contains("write the URL of a collector"), "{message}");
    }
}
