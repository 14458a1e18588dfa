//! The pipeline of every call: the gates that can stop it, the audit log, and the response limit.

pub mod aliases;
pub mod approvals;
pub mod audit;
pub mod confirmation;
pub mod gates;
pub mod idempotency;
pub(crate) mod prepared;
pub(crate) mod redact;
pub mod response_limit;
pub(crate) mod teaching;
pub mod throttle;
pub mod traces;
pub mod work;
