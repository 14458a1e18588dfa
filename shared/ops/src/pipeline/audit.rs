//! The audit log: one event for each call, as CloudEvents 1.0 in JSON. It contains the caller, the operation and the
//! outcome, but no arguments: their hash connects the events of one call.

use std::fmt;
use std::sync::Arc;

use atlas_mirror::Id;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::error::Error;
use crate::sorted;

/// The sink of events; none by default.
#[derive(Clone, Default)]
pub struct Audit(Option<Arc<Sink>>);

type Sink = dyn Fn(&Value) + Send + Sync;

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Audit")
    }
}

impl Audit {
    /// Sends events to `sink`.
    pub fn to(sink: impl Fn(&Value) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(sink)))
    }

    /// Whether there is a sink.
    pub(crate) const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn tell(&self, event: &Event<'_>, result: Result<Option<u64>, &Error>) {
        if let Some(sink) = &self.0 {
            sink(&event.to_json((event.clock)(), result));
        }
    }
}

/// A call in the audit log.
pub(crate) struct Event<'a> {
    pub(crate) operation: &'a str,
    /// [`None`] if the call was stopped before its vault was known.
    pub(crate) vault: Option<String>,
    /// The caller's pseudonym.
    pub(crate) caller: String,
    /// The hash of the operation's name and arguments.
    pub(crate) args_hash: String,
    pub(crate) began: Timestamp,
    /// The caller's name for the work that the call belongs to.
    pub(crate) session: Option<String>,
    /// Whether the call had an idempotency key.
    pub(crate) is_keyed: bool,
    /// Whether the call had a confirmation.
    pub(crate) is_confirmed: bool,
    pub(crate) clock: fn() -> Timestamp,
}

impl Event<'_> {
    fn to_json(&self, now: Timestamp, result: Result<Option<u64>, &Error>) -> Value {
        let (status, error, reason) = match result {
            Ok(_) => ("ok", None, None),
            Err(error) => ("error", Some(error.code.as_str()), Some(error.reason())),
        };
        sorted(json!({
            "specversion": "1.0",
            "id": Id::random().map(|id| id.to_string()).unwrap_or_default(),
            "source": format!("/atlas-mirror/vaults/{}", self.vault.as_deref().unwrap_or_default()),
            "type": "atlas-mirror.call",
            "time": now.to_string(),
            "subject": self.operation,
            "datacontenttype": "application/json",
            "data": {
                "operation": self.operation,
                "vault": self.vault,
                "caller": self.caller,
                "args_hash": self.args_hash,
                "session": self.session,
                "keyed": self.is_keyed,
                "elicit_used": self.is_confirmed,
                "status": status,
                "error": error,
                "reason": reason,
                "generation": result.ok().flatten(),
                "milliseconds": now.as_millisecond() - self.began.as_millisecond(),
            },
        }))
    }
}
