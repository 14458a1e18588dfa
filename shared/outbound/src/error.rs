//! Why there is no answer.

use std::error::Error as Cause;
use std::io;

use crate::trust::{Fingerprint, Unpinned};

/// Why there is no answer. None of these holds the address, a header or a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The policy does not let the request out. Nothing was sent.
    #[error("the request may not be sent: {0}")]
    Refused(&'static str),
    /// Nobody answers at the address. Nothing was sent.
    #[error("nobody answers at its address")]
    Unreachable,
    /// The certificate is not the pinned one. Nothing was sent.
    #[error("its certificate has the SHA-256 fingerprint {0}, which is not the configured one")]
    Certificate(Fingerprint),
    /// There is no secure connection, for instance because nobody vouches for the certificate. Nothing was sent.
    #[error("no secure connection can be made to it")]
    Tls,
    /// No answer came in time. The request may have had its effect.
    #[error("it does not answer in time")]
    TimedOut,
    /// The answer has more bytes than are read. The request may have had its effect.
    #[error("its answer has more than {0} bytes")]
    TooLarge(usize),
    /// The answer is cut short, is compressed, or is not HTTP. The request may have had its effect.
    #[error("its answer cannot be read")]
    Broken,
}

impl Error {
    /// Whether the request may have had its effect.
    #[must_use]
    pub const fn may_have_happened(self) -> bool {
        matches!(self, Self::TimedOut | Self::TooLarge(_) | Self::Broken)
    }
}

/// A name leads to an address that is not public.
#[derive(Debug, thiserror::Error)]
#[error("the name leads to an address that is not public")]
pub(crate) struct NotPublic;

/// Maps the failure of a request.
pub(crate) fn failed(error: &reqwest::Error) -> Error {
    let causes = || std::iter::successors(error.source(), |cause| (*cause).source());
    if let Some(fault) = causes().find_map(fault_of_tls) {
        return fault;
    }
    if causes().any(|cause| cause.is::<NotPublic>()) {
        return Error::Refused("its name leads to an address that is not public");
    }
    if error.is_connect() {
        Error::Unreachable
    } else if error.is_timeout() {
        Error::TimedOut
    } else {
        Error::Broken
    }
}

fn fault_of_tls(cause: &(dyn Cause + 'static)) -> Option<Error> {
    match tls_error(cause)? {
        rustls::Error::Other(other) => {
            let unpinned = other.0.downcast_ref::<Unpinned>();
            Some(unpinned.map_or(Error::Tls, |Unpinned(shown)| Error::Certificate(*shown)))
        }
        _ => Some(Error::Tls),
    }
}

/// The error of TLS that `cause` is or wraps. An I/O error passes over what it wraps when it is asked for its cause.
fn tls_error<'e>(cause: &'e (dyn Cause + 'static)) -> Option<&'e rustls::Error> {
    let mut cause = cause;
    while let Some(error) = cause.downcast_ref::<io::Error>() {
        cause = error.get_ref()?;
    }
    cause.downcast_ref()
}
