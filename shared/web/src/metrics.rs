//! The outcome of a request: its line in the log, and counters.

use std::io::Write as _;
use std::sync::Arc;

use atlas_mirror::cache::{CacheFigures, PartCache};
use atlas_ops::Code;
use atlas_ops::atlas::Counts;
use atlas_ops::sorted;
use axum::response::Response;
use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use serde_json::json;

use crate::caller::Caller;
use crate::response::GENERATION;

/// The outcome of a call that did not fail.
pub const OK: &str = "ok";
/// The outcome of a request without a call.
const REFUSED: &str = "refused";

/// A call, the cost of its requests to the store, and how fresh the store is. Handlers attach it to the response.
#[derive(Clone, Debug)]
pub struct Cost {
    /// The name of the operation.
    pub operation: &'static str,
    /// Its vault, if it exists.
    pub vault: Option<String>,
    /// [`OK`], or the code of the error, whatever the HTTP status.
    pub outcome: &'static str,
    /// The exact reason of the error.
    pub reason: Option<String>,
    /// The requests to the store.
    pub counts: Counts,
    /// When its vault was last synced, if that was known in time.
    pub synced: Option<Timestamp>,
}

/// Counters over all requests of a process.
#[derive(Clone)]
pub struct Metrics {
    requests: Family<Labels, Counter>,
    seconds: Family<OperationLabel, Histogram, fn() -> Histogram>,
    store_requests: Family<OperationLabel, Counter>,
    store_bytes: Family<OperationLabel, Counter>,
    throttled: Family<VaultLabels, Counter>,
    /// The cache of the process, if there is one.
    cache: Option<Arc<PartCache>>,
    /// Whether lines in the embedded metric format are written to standard output.
    embedded: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    operation: &'static str,
    status: u32,
    vault: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VaultLabels {
    operation: &'static str,
    vault: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabel {
    operation: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let buckets: fn() -> Histogram = || Histogram::new([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]);
        Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(buckets),
            store_requests: Family::default(),
            store_bytes: Family::default(),
            throttled: Family::default(),
            cache: None,
            embedded: false,
        }
    }
}

impl Metrics {
    /// The same; `embedded` writes each request as a line in CloudWatch's embedded metric format.
    #[must_use]
    pub fn embedded(self, embedded: bool) -> Self {
        Self { embedded, ..self }
    }

    /// The same, with the figures of this cache.
    #[must_use]
    pub fn over(self, cache: Arc<PartCache>) -> Self {
        Self { cache: Some(cache), ..self }
    }

    /// The counters in Prometheus's text format.
    pub fn encode(&self) -> String {
        let mut registry = Registry::with_prefix("atlas");
        registry.register("requests", "Requests answered", self.requests.clone());
        registry.register("request_seconds", "Time to answer", self.seconds.clone());
        registry.register("store_requests", "Requests made to the store", self.store_requests.clone());
        registry.register("store_read_bytes", "Bytes read from the store", self.store_bytes.clone());
        registry.register("throttled", "Calls that the throttle refused", self.throttled.clone());
        if let Some(cache) = &self.cache {
            let CacheFigures { bytes, budget, hits, misses } = cache.figures();
            let (held, most) = (Gauge::<i64>::default(), Gauge::<i64>::default());
            held.set(i64::try_from(bytes).unwrap_or(i64::MAX));
            most.set(i64::try_from(budget).unwrap_or(i64::MAX));
            registry.register("cache_bytes", "Bytes of decoded parts of segments in memory", held);
            registry.register("cache_budget_bytes", "Most bytes of the cache", most);
            let counters =
                [("cache_hits", "Parts found in the cache", hits), ("cache_misses", "Parts not found there", misses)];
            for (name, help, count) in counters {
                let counter: Counter = Counter::default();
                counter.inc_by(count);
                registry.register(name, help, counter);
            }
        }
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &registry);
        text
    }

    fn count(&self, told: &RequestReport<'_>) {
        let RequestReport { operation, outcome, status, seconds, counts, .. } = *told;
        let vault = told.vault.unwrap_or_default().to_owned();
        if told.is_throttled() {
            self.throttled.get_or_create(&VaultLabels { operation, vault: vault.clone() }).inc();
        }
        self.requests.get_or_create(&Labels { operation, status: u32::from(status), vault, outcome }).inc();
        let label = OperationLabel { operation };
        self.seconds.get_or_create(&label).observe(seconds);
        self.store_requests.get_or_create(&label).inc_by(counts.requests);
        self.store_bytes.get_or_create(&label).inc_by(counts.bytes_read);
    }
}

/// The report on a request.
#[derive(Clone, Debug)]
pub(crate) struct RequestReport<'a> {
    pub(crate) operation: &'static str,
    pub(crate) vault: Option<&'a str>,
    pub(crate) outcome: &'static str,
    pub(crate) reason: Option<&'a str>,
    pub(crate) caller: Option<String>,
    pub(crate) status: u16,
    pub(crate) generation: Option<&'a str>,
    pub(crate) seconds: f64,
    pub(crate) counts: Counts,
}

impl<'a> RequestReport<'a> {
    pub(crate) fn of(caller: Option<Caller>, response: &'a Response, seconds: f64) -> Self {
        let cost = response.extensions().get::<Cost>();
        Self {
            operation: cost.map_or("none", |cost| cost.operation),
            vault: cost.and_then(|cost| cost.vault.as_deref()),
            outcome: cost.map_or(if response.status().as_u16() < 400 { OK } else { REFUSED }, |cost| cost.outcome),
            reason: cost.and_then(|cost| cost.reason.as_deref()),
            caller: caller.map(|caller| caller.to_string()),
            status: response.status().as_u16(),
            generation: response.headers().get(GENERATION).and_then(|value| value.to_str().ok()),
            seconds,
            counts: cost.map(|cost| cost.counts).unwrap_or_default(),
        }
    }

    /// Whether the service failed, and not the caller.
    pub(crate) fn is_fault(&self) -> bool {
        self.status >= 500 || [Code::Internal, Code::Unavailable].iter().any(|code| code.as_str() == self.outcome)
    }

    fn is_throttled(&self) -> bool {
        self.outcome == Code::TooManyRequests.as_str()
    }

    fn milliseconds(&self) -> f64 {
        self.seconds * 1000.0
    }

    /// Logs it and counts it.
    pub(crate) fn tell(&self, metrics: &Metrics, now: Timestamp) {
        let Self { operation, vault, outcome, reason, caller, status, generation, counts, .. } = self;
        let Counts { requests, bytes_read, waves, .. } = counts;
        let (caller, milliseconds) = (caller.as_deref(), self.milliseconds());
        tracing::info!(
            operation,
            vault,
            outcome,
            reason,
            caller,
            status,
            generation,
            waves,
            requests,
            bytes_read,
            milliseconds,
            "answered"
        );
        metrics.count(self);
        if metrics.embedded {
            let line = self.embedded_metrics(now.as_millisecond());
            // If standard output is closed, nobody reads the line.
            let _ = writeln!(std::io::stdout(), "{line}");
        }
    }

    /// A line in CloudWatch's embedded metric format.
    fn embedded_metrics(&self, timestamp: i64) -> serde_json::Value {
        let metric = |name: &str, unit: &str| json!({ "Name": name, "Unit": unit });
        let metrics = [
            metric("Milliseconds", "Milliseconds"),
            metric("StoreRequests", "Count"),
            metric("StoreWaves", "Count"),
            metric("StoreBytes", "Bytes"),
            metric("Errors", "Count"),
            metric("Throttled", "Count"),
        ];
        sorted(json!({
            "_aws": {
                "Timestamp": timestamp,
                "CloudWatchMetrics": [{ "Namespace": "AtlasMirror", "Dimensions": [["Operation"]], "Metrics": metrics }],
            },
            "Operation": self.operation,
            "Caller": self.caller,
            "Status": self.status,
            "Generation": self.generation,
            "Milliseconds": self.milliseconds(),
            "StoreRequests": self.counts.requests,
            "StoreWaves": self.counts.waves,
            "StoreBytes": self.counts.bytes_read,
            "Vault": self.vault,
            "Outcome": self.outcome,
            "Reason": self.reason,
            "Errors": u8::from(self.is_fault()),
            "Throttled": u8::from(self.is_throttled()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told() -> RequestReport<'static> {
        RequestReport {
            operation: "find",
            vault: Some("main"),
            outcome: OK,
            reason: None,
            caller: None,
            status: 200,
            generation: None,
            seconds: 0.0015,
            counts: Counts::default(),
        }
    }

    #[test]
    fn embedded_metrics_name_what_they_measure() {
        let counts = Counts { requests: 4, bytes_read: 1000, bytes_written: 0, waves: 3 };
        // Doors with an error format of their own respond with 200.
        let told = RequestReport { outcome: "UNAVAILABLE", counts, ..told() };
        let line = told.embedded_metrics(1_767_571_200_000);
        assert_eq!(line.to_string(), sorted(line.clone()).to_string());
        let named = line["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().unwrap();
        assert!(named.iter().all(|metric| line[metric["Name"].as_str().unwrap()].is_number()));
        assert_eq!((&line["Operation"], &line["StoreWaves"], &line["Errors"]), (&json!("find"), &json!(3), &json!(1)));
    }

    #[test]
    fn the_cache_is_measured() {
        let text = Metrics::default().over(Arc::new(PartCache::new(1000))).encode();
        for line in [
            "atlas_cache_bytes 0",
            "atlas_cache_budget_bytes 1000",
            "atlas_cache_hits_total 0",
            "atlas_cache_misses_total 0",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn requests_are_counted_by_operation_and_status() {
        let metrics = Metrics::default();
        let counts = Counts { requests: 2, bytes_read: 10, ..Counts::default() };
        metrics.count(&RequestReport { counts, ..told() });
        metrics.count(&RequestReport { counts, seconds: 0.2, ..told() });
        metrics.count(&RequestReport { outcome: "TOO_MANY_REQUESTS", ..told() });
        let text = metrics.encode();
        for line in [
            "atlas_requests_total{operation=\"find\",status=\"200\",vault=\"main\",outcome=\"ok\"} 2",
            "atlas_requests_total{operation=\"find\",status=\"200\",vault=\"main\",outcome=\"TOO_MANY_REQUESTS\"} 1",
            "atlas_throttled_total{operation=\"find\",vault=\"main\"} 1",
            "atlas_store_requests_total{operation=\"find\"} 4",
            "atlas_request_seconds_count{operation=\"find\"} 3",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
