//! Errors, as clients of OAuth know them.

use atlas_mirror::MirrorError;
use atlas_mirror::id::NoRandomness;
use serde_json::{Value, json};

/// The class of an error (RFC 6749, sections 4.1.2.1 and 5.2; RFC 7591, section 3.2.2; RFC 8628, section 3.5; RFC 8707, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A parameter is missing, is given twice or is not what it should be.
    InvalidRequest,
    /// The client is unknown.
    InvalidClient,
    /// A code, a refresh token or a device code is not valid: used, expired, revoked, or another client's.
    InvalidGrant,
    /// Another scope than those granted is asked for.
    InvalidScope,
    /// The resource is not this deployment.
    InvalidTarget,
    /// The kind of grant is not supported.
    UnsupportedGrantType,
    /// The kind of response is not supported.
    UnsupportedResponseType,
    /// The person did not allow it.
    AccessDenied,
    /// The person has not decided yet.
    AuthorizationPending,
    /// Nobody decided in time.
    ExpiredToken,
    /// A terminal asks more often than it was told to.
    SlowDown,
    /// A registration names an address that codes cannot be sent to.
    InvalidRedirectUri,
    /// A registration is not valid.
    InvalidClientMetadata,
    /// The store does not answer. Trying again later may help.
    TemporarilyUnavailable,
    /// Something else is wrong here.
    ServerError,
}

impl Code {
    /// The name in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::InvalidScope => "invalid_scope",
            Self::InvalidTarget => "invalid_target",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::AccessDenied => "access_denied",
            Self::AuthorizationPending => "authorization_pending",
            Self::ExpiredToken => "expired_token",
            Self::SlowDown => "slow_down",
            Self::InvalidRedirectUri => "invalid_redirect_uri",
            Self::InvalidClientMetadata => "invalid_client_metadata",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
            Self::ServerError => "server_error",
        }
    }
}

/// An error with its message for the developer of the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{description}")]
pub struct OAuthError {
    /// Its class.
    pub code: Code,
    /// The message: plain ASCII, without quotes and backslashes.
    pub description: String,
    /// The cause, for the log.
    pub internal: Option<String>,
}

impl OAuthError {
    /// An error of this class.
    pub(crate) fn new(code: Code, description: impl Into<String>) -> Self {
        Self { code, description: description.into(), internal: None }
    }

    /// A request that is not what it should be.
    pub(crate) fn request(description: impl Into<String>) -> Self {
        Self::new(Code::InvalidRequest, description)
    }

    /// A code or token that is not valid. The message does not tell why.
    pub(crate) fn grant() -> Self {
        let description =
            "this is not valid: it was used, has expired, was revoked, or is of another client; sign in again";
        Self::new(Code::InvalidGrant, description)
    }

    /// The error as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({ "error": self.code.as_str(), "error_description": self.description })
    }
}

impl From<MirrorError> for OAuthError {
    fn from(error: MirrorError) -> Self {
        let description = "the store of this service does not answer: try again later";
        let internal = Some(error.to_string());
        Self { internal, ..Self::new(Code::TemporarilyUnavailable, description) }
    }
}

impl From<NoRandomness> for OAuthError {
    fn from(error: NoRandomness) -> Self {
        let internal = Some(error.to_string());
        Self { internal, ..Self::new(Code::ServerError, "this service cannot make tokens now") }
    }
}
