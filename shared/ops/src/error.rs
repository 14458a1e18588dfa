//! The error type of all operations. It is independent of HTTP: each door renders it in its own form.

mod reason;

use atlas_mirror::MirrorError;
use atlas_mirror::id::NoRandomness;
use atlas_segment::FormatError;
use serde_json::{Map, Value};

pub use self::reason::Reason;
use crate::sorted;

/// The class of an error: what the caller should do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The call is invalid; change it.
    BadRequest,
    /// The caller is unknown: send a token.
    Unauthorized,
    /// The caller may not do this: ask the operator.
    Forbidden,
    /// There is no such thing; look for what exists.
    NotFound,
    /// The call contradicts an earlier one; make another call.
    Conflict,
    /// The note is not the version that the caller named: read it again, then decide.
    PreconditionFailed,
    /// The caller must name the version that they read, so that no change is lost.
    PreconditionRequired,
    /// The call exceeds the limits; ask for less.
    TooLarge,
    /// Too many calls; wait.
    TooManyRequests,
    /// Temporarily unavailable; the same call may succeed later.
    Unavailable,
    /// An internal fault; the log has the details.
    Internal,
}

impl Code {
    /// The code as clients see it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "BAD_REQUEST",
            Self::Unauthorized => "UNAUTHORIZED",
            Self::Forbidden => "FORBIDDEN",
            Self::NotFound => "NOT_FOUND",
            Self::Conflict => "CONFLICT",
            Self::PreconditionFailed => "PRECONDITION_FAILED",
            Self::PreconditionRequired => "PRECONDITION_REQUIRED",
            Self::TooLarge => "TOO_LARGE",
            Self::TooManyRequests => "TOO_MANY_REQUESTS",
            Self::Unavailable => "UNAVAILABLE",
            Self::Internal => "INTERNAL",
        }
    }
}

/// An operation's error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The class.
    pub code: Code,
    /// The message for the caller.
    pub message: String,
    /// Facts for programs; `reason` is the exact reason.
    pub details: Box<Map<String, Value>>,
    /// Facts for the operator only: keys of the store, damage.
    pub internal: Option<String>,
}

impl Error {
    /// An error of class `code` with the exact `reason`.
    pub fn new(code: Code, reason: Reason, message: impl Into<String>) -> Self {
        let details = Map::from_iter([("reason".to_owned(), Value::from(reason.as_str()))]);
        Self { code, message: message.into(), details: Box::new(details), internal: None }
    }

    /// The error for an invalid call.
    pub fn bad_request(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Code::BadRequest, reason, message)
    }

    /// The error for an unknown caller.
    pub fn unauthorized(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Code::Unauthorized, reason, message)
    }

    /// The error for something that does not exist.
    pub fn not_found(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, reason, message)
    }

    /// Adds a fact for programs.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), sorted(value.into()));
        self.details.sort_keys();
        self
    }

    /// The exact reason.
    pub fn reason(&self) -> &str {
        self.details.get("reason").and_then(Value::as_str).unwrap_or_default()
    }

    /// The advice to the caller for its reason.
    pub fn recovery(&self) -> &'static str {
        Reason::named(self.reason()).map_or("", Reason::remedy)
    }

    /// Whether it has this reason.
    pub fn is(&self, reason: Reason) -> bool {
        self.reason() == reason.as_str()
    }

    fn internal(message: &str, cause: &impl ToString) -> Self {
        Self { internal: Some(cause.to_string()), ..Self::new(Code::Internal, Reason::Internal, message) }
    }
}

impl From<NoRandomness> for Error {
    fn from(error: NoRandomness) -> Self {
        MirrorError::from(error).into()
    }
}

impl From<MirrorError> for Error {
    fn from(error: MirrorError) -> Self {
        match &error {
            MirrorError::NotPublished { .. } => Self {
                internal: Some(error.to_string()),
                ..Self::not_found(Reason::VaultNotPublished, "the vault is not published yet: run `atlas sync`")
            },
            MirrorError::Unavailable { .. } | MirrorError::Gone { .. } => Self {
                internal: Some(error.to_string()),
                ..Self::new(
                    Code::Unavailable,
                    Reason::StoreUnavailable,
                    "the store does not answer; try again in a few seconds",
                )
                .with("retry_after_seconds", 2)
            },
            MirrorError::Contended => Self {
                internal: Some(error.to_string()),
                ..Self::new(
                    Code::Unavailable,
                    Reason::VaultContended,
                    "others kept changing the vault, so nothing was changed; make the same call again in a few seconds",
                )
                .with("retry_after_seconds", 2)
            },
            MirrorError::TooLate => Self {
                internal: Some(error.to_string()),
                ..Self::new(
                    Code::Unavailable,
                    Reason::OperationTimeout,
                    "the change took longer than a write may, so nothing was changed; make the same call again in a few seconds, or change less at once",
                )
                .with("retry_after_seconds", 2)
            },
            MirrorError::CommitUnknown { generation, .. } => Self {
                internal: Some(error.to_string()),
                ..Self::new(
                    Code::Unavailable,
                    Reason::CommitUnknown,
                    "the store did not say whether the change was made: make the same call again if it had an idempotency key, else read the note to see",
                )
                .with("generation", *generation)
            },
            MirrorError::Forgotten { .. } => Self {
                internal: Some(error.to_string()),
                ..Self::new(
                    Code::Conflict,
                    Reason::CommitUnknown,
                    "it is not known any more whether this call was executed before, since the history of that time is no longer kept: look whether the change is there, and if not call with a new idempotency key",
                )
            },
            MirrorError::UnsafeStore { .. } => Self {
                internal: Some(error.to_string()),
                ..Self::new(
                    Code::Unavailable,
                    Reason::StoreUnsafe,
                    "the store lets two writers make the same change, so nothing is written to it; its operator must look at `atlas doctor`",
                )
            },
            MirrorError::StoreRefused { action: "write", .. } => Self {
                internal: Some(error.to_string()),
                ..Self::new(
                    Code::Forbidden,
                    Reason::ReadOnlyMode,
                    "the store lets nothing be written from here, so nothing was changed; its operator must look at the log",
                )
            },
            MirrorError::Damaged { .. } | MirrorError::Newer { .. } => Self::internal(
                "the published index cannot be read; its operator must look at the log and publish again",
                &error,
            ),
            _ => Self::internal("the store refused the request; its operator must look at the log", &error),
        }
    }
}

impl From<FormatError> for Error {
    fn from(error: FormatError) -> Self {
        Self::internal(
            "the published index cannot be read; its operator must look at the log and publish again",
            &error,
        )
    }
}
