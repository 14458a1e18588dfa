//! Headers of this service's own.

use axum::http::HeaderName;

/// The request header that names the vault.
pub const VAULT: &str = "x-atlas-vault";

/// The request header that names a call, so that it is not executed again when it is sent again.
pub const KEY: &str = "idempotency-key";

/// The request header with the token that says that a person has confirmed the call.
pub const CONFIRMATION: &str = "x-atlas-confirmation";

/// The request header with the caller's name for the work that the call is part of.
pub const SESSION: &str = "x-atlas-session";

/// The header that ties a response to its line in the log.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
