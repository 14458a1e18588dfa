//! Errors of a mirror, by what the caller should do about them.

use crate::id::{Id, NoRandomness};

/// The reason of a store without space, and its remedy.
pub(crate) const FULL: &str = "the store is full: free space there, or raise its quota";

/// An error of the mirror.
///
/// `object` and `reason` are for the operator (logs, the command line): they name keys of the store
/// and must not be shown to a remote client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MirrorError {
    /// The store holds no generation of this vault.
    #[error("the vault {vault} is not published in the store {store} yet: run `atlas sync`")]
    NotPublished {
        /// The vault's id.
        vault: String,
        /// The store's name.
        store: String,
    },
    /// The store did not answer, or not in time. Nothing was changed; trying again may help.
    #[error("the store is not available: {reason}")]
    Unavailable {
        /// The store's last error.
        reason: String,
    },
    /// The store refuses the request: credentials, permissions, a missing bucket, an unsupported request. Trying again
    /// does not help.
    #[error("the store refuses to {action}: {reason}")]
    StoreRefused {
        /// The request, as a verb: `read`, `write`, `list`.
        action: &'static str,
        /// The store's error, and what to check.
        reason: String,
    },
    /// The store does not honour conditional writes, so commits could be lost in it. Reading it is safe.
    #[error("the store {store} may be read but not written to: {reason}; use one that honours If-None-Match")]
    UnsafeStore {
        /// The store's name.
        store: String,
        /// How it failed the test.
        reason: String,
    },
    /// An object is truncated, altered or lost. Publish again or restore the object.
    #[error("{object} is damaged: {reason}; `atlas sync --repair` recovers what it can")]
    Damaged {
        /// Key of the object in the store.
        object: String,
        /// The problem.
        reason: String,
    },
    /// A newer version of Atlas Mirror wrote the object: update this one.
    #[error(
        "{object} has format {found}, newer than {supported}, the newest that this version reads: update Atlas Mirror"
    )]
    Newer {
        /// Key of the object in the store.
        object: String,
        /// The object's format.
        found: u32,
        /// The newest format that this version reads.
        supported: u32,
    },
    /// An object of an older generation does not exist any more: read the newest generation.
    #[error("{object} does not exist any more: its generation has been superseded and collected")]
    Gone {
        /// Key of the object in the store.
        object: String,
    },
    /// A change set does not fit the state that it was derived from. Nothing was committed.
    #[error("the change does not fit the vault's state: {reason}")]
    Conflict {
        /// The part that does not fit.
        reason: String,
    },
    /// Other writers kept winning until the deadline. Nothing was committed; try again.
    #[error("other writers kept committing until the deadline: nothing was committed, try again")]
    Contended,
    /// The change was not made, or its objects not stored, by the deadline. Nothing was committed; try again.
    #[error("the change was not ready at the deadline: nothing was committed, try again")]
    TooLate,
    /// It is unknown whether the commit happened. Do not repeat it blindly: check whether generation `generation` (or,
    /// for a keyed write, any later one) has `nonce`.
    #[error("the outcome of the commit is not known: if it happened it is generation {generation} with nonce {nonce}")]
    CommitUnknown {
        /// The generation that the commit would create.
        generation: u64,
        /// The nonce of its manifest.
        nonce: Id,
    },
    /// It is not known any more whether an earlier call with the same key was committed. Nothing was committed now.
    #[error(
        "it is not known any more whether this was committed before: the generations before {before} have been collected; \
         look whether the change is there, and make it anew if not"
    )]
    Forgotten {
        /// The oldest generation that is left.
        before: u64,
    },
    /// This program lacks the code for it. The text says what to do.
    #[error("{0}")]
    Unsupported(&'static str),
    /// Something exceeds a limit of the mirror. Nothing was written.
    #[error("{what} is too large: at most {limit}")]
    TooLarge {
        /// The thing that is too large.
        what: &'static str,
        /// The limit, with its unit.
        limit: String,
    },
}

impl MirrorError {
    pub(crate) fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into() }
    }

    pub(crate) fn damaged(object: impl ToString, reason: impl ToString) -> Self {
        Self::Damaged { object: object.to_string(), reason: reason.to_string() }
    }

    pub(crate) fn conflict(reason: impl Into<String>) -> Self {
        Self::Conflict { reason: reason.into() }
    }

    /// Whether the same call may succeed later, with nothing else changed.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Contended | Self::TooLate)
    }
}

impl From<NoRandomness> for MirrorError {
    fn from(error: NoRandomness) -> Self {
        Self::unavailable(error.to_string())
    }
}
