//! Failures of requests to the store, by their effect.

use std::error::Error;
use std::io;
use std::time::Duration;

use object_store::client::{HttpError, HttpErrorKind};
use object_store::path::Path;

use crate::error::{FULL, MirrorError};
use crate::keys::key_of;
use crate::s3_answer::Answer;

/// Why a request failed, and its effect.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// There is no such object (or bucket).
    NotFound(String),
    /// There is one already.
    Exists,
    /// The store refused the request; it had no effect.
    Refused(String),
    /// No answer, or an ambiguous one: the request may have had its effect.
    Unclear(String),
    /// The object has this many bytes, more than it can have.
    WrongSize(u64),
}

impl From<object_store::Error> for Failure {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error as E;
        if let Some(answer) = cause::<Answer>(&error) {
            return if answer.passing { Self::Unclear(answer.to_string()) } else { Self::Refused(answer.to_string()) };
        }
        let reason = described(&error);
        let kind = cause::<io::Error>(&error).map(io::Error::kind);
        if matches!(kind, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)) {
            return Self::Refused(format!("{FULL} ({reason})"));
        }
        if matches!(kind, Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)) {
            return Self::Refused(reason);
        }
        match error {
            E::NotFound { .. } => Self::NotFound(reason),
            E::AlreadyExists { .. } | E::Precondition { .. } => Self::Exists,
            E::PermissionDenied { .. }
            | E::Unauthenticated { .. }
            | E::NotSupported { .. }
            | E::NotImplemented { .. }
            | E::InvalidPath { .. }
            | E::UnknownConfigurationKey { .. } => Self::Refused(reason),
            _ => Self::Unclear(reason),
        }
    }
}

impl Failure {
    /// The failure of a request to the store `name`.
    pub(crate) fn of(self, name: &str) -> Self {
        let told = |reason: String| format!("{name}: {reason}");
        match self {
            Self::NotFound(reason) => Self::NotFound(told(reason)),
            Self::Refused(reason) => Self::Refused(told(reason)),
            Self::Unclear(reason) => Self::Unclear(told(reason)),
            Self::Exists | Self::WrongSize(_) => self,
        }
    }

    pub(crate) fn unanswered(time: Duration) -> Self {
        Self::Unclear(format!("no answer within {} ms", time.as_millis()))
    }

    pub(crate) const fn is_exists(&self) -> bool {
        matches!(self, Self::Exists)
    }

    pub(crate) fn into_error(self, action: &'static str, key: &Path) -> MirrorError {
        match self {
            // Reads handle a missing object earlier; so the bucket itself is missing.
            Self::NotFound(reason) => {
                MirrorError::StoreRefused { action, reason: format!("{reason} (check the bucket's name)") }
            }
            Self::Exists => MirrorError::conflict(format!("{} exists already", key_of(key))),
            Self::Refused(reason) => MirrorError::StoreRefused { action, reason },
            Self::Unclear(reason) => MirrorError::Unavailable { reason },
            Self::WrongSize(size) => MirrorError::damaged(key, format!("it has {size} bytes, more than it can have")),
        }
    }
}

/// The error and its causes, as one line; for a broken connection only the root cause.
fn described(error: &(dyn Error + 'static)) -> String {
    if let (Some(broken), Some(root)) = (cause::<HttpError>(error), chain(error).last()) {
        return match broken.kind() {
            HttpErrorKind::Connect => format!("no connection: {root}"),
            HttpErrorKind::Timeout => format!("no answer in time: {root}"),
            _ => format!("the connection broke: {root}"),
        };
    }
    chain(error).skip(1).fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}

/// The first error of type `T` among `error` and its causes.
fn cause<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    chain(error).find_map(|error| error.downcast_ref())
}

/// An error and its causes.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_or_quota_is_no_failure_that_passes() {
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            let source = Box::new(io::Error::from(kind));
            let failure = Failure::from(object_store::Error::Generic { store: "LocalFileSystem", source });
            assert!(matches!(&failure, Failure::Refused(reason) if reason.starts_with(FULL)), "{failure:?}");
        }
        let source = Box::new(io::Error::from(io::ErrorKind::BrokenPipe));
        let failure = Failure::from(object_store::Error::Generic { store: "LocalFileSystem", source });
        assert!(matches!(failure, Failure::Unclear(_)), "{failure:?}");
    }
}
