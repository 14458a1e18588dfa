//! Why a request brought no vectors.

use std::time::Duration;

use atlas_embeddings::EmbedError;

/// Why a request brought no vectors. None of these holds the address, a header or a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Later it may.
    Busy {
        /// Why, for people.
        why: String,
        /// How long the service wants to be left alone, if it says so.
        after: Option<Duration>,
        /// Whether the service may have counted the tokens.
        is_paid: bool,
        /// Whether the texts may be the cause.
        by_texts: bool,
        /// Whether its time passed without an answer.
        is_late: bool,
    },
    /// Its vectors have other dimensions.
    Dimensions(String),
    /// Its answer to these texts has no vectors that can be compared.
    NoVector(String),
    /// With fewer or shorter texts it may.
    TooLong(String),
    /// It will not.
    Refused(String),
}

impl From<Fault> for EmbedError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Busy { why, .. } => Self::Unavailable(why),
            Fault::TooLong(why) => Self::TooLong(why),
            Fault::Refused(why) | Fault::Dimensions(why) | Fault::NoVector(why) => Self::Refused(why),
        }
    }
}
