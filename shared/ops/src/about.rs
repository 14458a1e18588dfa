//! What a program tells operations of itself: they read no environment and no clock.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::pipeline::work::CpuClock;

/// What a program tells of itself.
#[derive(Clone)]
pub struct About {
    /// Its version.
    pub version: &'static str,
    /// How its callers are told apart: `none` or `jwt`.
    pub auth_mode: &'static str,
    /// When it began to serve.
    pub started: Option<Timestamp>,
    /// Whether it exports spans.
    pub otlp_enabled: bool,
    /// Says how much processor time a thread has taken; where nothing does, calls take as much as they like.
    pub cpu: CpuClock,
    /// Gives its counters, in Prometheus's text format.
    pub metrics: Option<Arc<dyn Fn() -> String + Send + Sync>>,
}

impl Default for About {
    fn default() -> Self {
        let version = env!("CARGO_PKG_VERSION");
        Self { version, auth_mode: "none", started: None, otlp_enabled: false, cpu: || Duration::ZERO, metrics: None }
    }
}

impl fmt::Debug for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("About").field("version", &self.version).finish_non_exhaustive()
    }
}
