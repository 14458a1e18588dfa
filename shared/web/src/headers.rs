//! Headers of this service's own.

use axum::http::HeaderName;

/// The request header that names the vault.
pub const VAULT: &str = "x-atlas-vault";

/// The request header with an idempotency key: a repeated call with the same key is not executed again.
pub const KEY: &str = "idempotency-key";

/// The request header with the token of a person's confirmation.
pub const CONFIRMATION: &str = "x-atlas-confirmation";

/// The request header with the caller's name for the work that the call belongs to.
pub const SESSION: &str = "x-atlas-session";

/// The header with the request's id, which is also in its line of the log.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
