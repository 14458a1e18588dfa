//! A program's description of itself for operations, which read no environment and no clock.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;

use crate::pipeline::work::CpuClock;

/// A program's description of itself.
#[derive(Clone)]
pub struct About {
    /// Its version.
    pub version: &'static str,
    /// How callers authenticate: `none` or `jwt`.
    pub auth_mode: &'static str,
    /// When it began to serve.
    pub started: Option<Timestamp>,
    /// Whether it exports traces.
    pub otlp_enabled: bool,
    /// Returns the processor time that a thread has used; without it, calls have no limit of processor time.
    pub cpu: CpuClock,
    /// Whether there may be vaults beside those that it lists, each known only to who may name it.
    pub has_more_vaults: bool,
    /// Returns its metrics in Prometheus's text format.
    pub metrics: Option<Arc<dyn Fn() -> String + Send + Sync>>,
    /// The address of the page where people decide on calls, without a `/` at its end, if it is known.
    pub page: Option<Arc<str>>,
    /// Reads the configuration again, if it has one that can change.
    pub reload: Option<Reload>,
}

/// Reads a configuration again: whether it is another one; [`InvalidConfiguration`] if it cannot be used, of which the log has the reason.
pub type Reload = Arc<dyn Fn() -> BoxFuture<'static, Result<bool, InvalidConfiguration>> + Send + Sync>;

/// Reads a configuration again with `read`.
pub fn reload_by<R>(read: impl Fn() -> R + Send + Sync + 'static) -> Reload
where
    R: Future<Output = Result<bool, InvalidConfiguration>> + Send + 'static,
{
    Arc::new(move || read().boxed())
}

/// The configuration cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidConfiguration;

impl Default for About {
    fn default() -> Self {
        let version = env!("CARGO_PKG_VERSION");
        Self {
            version,
            auth_mode: "none",
            started: None,
            otlp_enabled: false,
            cpu: || Duration::ZERO,
            has_more_vaults: false,
            metrics: None,
            page: None,
            reload: None,
        }
    }
}

impl fmt::Debug for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("About").field("version", &self.version).finish_non_exhaustive()
    }
}
