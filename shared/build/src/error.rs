//! Errors of builds and compactions.

use atlas_mirror::MirrorError;
use atlas_segment::FormatError;
use atlas_sync::SyncError;

/// Why a step stopped. Nothing was committed unless stated otherwise.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// An event, a setting or a name is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The source cannot be listed or read.
    #[error("the source {place} cannot be read: {reason}")]
    Source {
        /// The folder or object.
        place: String,
        /// The store's error.
        reason: String,
    },
    /// The source has more than one run can build.
    #[error("the source is too large: at most {limit}")]
    TooLarge {
        /// The limit, with its unit.
        limit: String,
    },
    /// The source has rules that exclude files, which builds do not apply.
    #[error(
        "the source has {key}, and builds do not apply such rules: leave the excluded files and {key} out of the source"
    )]
    Rules {
        /// The object with the rules.
        key: String,
    },
    /// The source is empty, and the mirror was built from a source that was not.
    #[error(
        "the source {place} is empty, and had {of} files: check its address. If they are meant to be gone, plan and publish with \"allow_mass_delete\": true"
    )]
    Emptied {
        /// The source.
        place: String,
        /// How many files it had.
        of: u64,
    },
    /// Many files vanished from the source.
    #[error(
        "{lost} of {of} files vanished from the source or became empty, more than a fifth. If they are meant to be gone, publish with \
         \"allow_mass_delete\": true"
    )]
    MassDeletion {
        /// How many files vanished or became empty.
        lost: u64,
        /// How many there were.
        of: u64,
    },
    /// Another run of the same vault was published since this one was planned.
    #[error("another build of this vault was published since this one began: start again")]
    Overtaken,
    /// A run that was planned over the same one is being published.
    #[error(
        "the run {run}, which began from the same state, is being published: publish it, or wait for half a day and start again"
    )]
    Claimed {
        /// The other run.
        run: String,
    },
    /// Many files changed in the mirror since their shards were built.
    #[error("more than {files} files changed in the mirror since the run was built: start again")]
    Changed {
        /// The limit.
        files: usize,
    },
    /// History was purged since a shard was built: what was purged may be in its segments.
    #[error(
        "something was purged from the mirror since the run was built: remove it from the source too, and start again"
    )]
    Purged,
    /// A shard was not built, or its result was deleted since.
    #[error("shard {shard} of the run {run} is not built, or not any more: build it first")]
    Unbuilt {
        /// The run.
        run: String,
        /// The shard.
        shard: u32,
    },
    /// The segments of a run are so old that garbage collection may delete them.
    #[error("the run {run} is more than ten hours old, so that what it uploaded may be collected: begin another")]
    Expired {
        /// The run.
        run: String,
    },
    /// An error of the mirror; [`MirrorError::CommitUnknown`] may have committed.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    /// An error of the code that builds share with syncs.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// A segment cannot be built or read.
    #[error("the index cannot be built or read: {0}")]
    Format(#[from] FormatError),
    /// A thread of this program ended early.
    #[error("a part of this program stopped early: {0}")]
    Broken(String),
}
