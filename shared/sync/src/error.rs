//! Errors that stop a sync or an export.

use std::io;
use std::path::PathBuf;

use atlas_mirror::MirrorError;
use atlas_segment::FormatError;

use crate::guard::Danger;
use crate::report::Reason;

/// Why a sync or an export stopped. Unless stated otherwise, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The vault's folder does not exist or cannot be read.
    #[error("the vault folder {} cannot be read ({error}): check its path, and that it is mounted", root.display())]
    RootMissing {
        /// The folder.
        root: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The rules of the vault's folder cannot be applied, so it is unknown what they exclude.
    #[error("nothing was synced, as the vault folder {} has rules that cannot be applied: {error}", root.display())]
    Rules {
        /// The folder.
        root: PathBuf,
        /// The problem, and its remedy.
        error: io::Error,
    },
    /// The changes could destroy notes.
    #[error(transparent)]
    Danger(#[from] Danger),
    /// Another sync is running.
    #[error("another sync of this vault is running on this machine (it has locked {}): wait until it has ended", lock.display())]
    Locked {
        /// The lock file.
        lock: PathBuf,
    },
    /// The folder for the sync state cannot be used.
    #[error("the sync state in {} cannot be {action} ({error}): make the folder writable, or name another with --state", path.display())]
    State {
        /// The file or folder.
        path: PathBuf,
        /// The attempted action, as a participle.
        action: &'static str,
        /// The system's error.
        error: io::Error,
    },
    /// The folder for the sync state is part of the vault.
    #[error("the sync state must not be kept inside the vault: name a folder outside of {} with --state", root.display())]
    StateInside {
        /// The vault's folder.
        root: PathBuf,
    },
    /// The vault's folder cannot be written to.
    #[error("the vault folder {}: {reason}; what changed in the mirror waits until it can be written to", root.display())]
    Unwritable {
        /// The folder.
        root: PathBuf,
        /// The problem.
        reason: Reason,
    },
    /// The folder to write to cannot be used.
    #[error("cannot export to {}: {reason}", to.display())]
    Target {
        /// The folder.
        to: PathBuf,
        /// The problem, and the remedy.
        reason: String,
    },
    /// The requested generation does not exist.
    #[error("generation {generation} does not exist, or not any more: `atlas log` lists the existing ones")]
    NoGeneration {
        /// The generation.
        generation: u64,
    },
    /// An error of the mirror.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    /// A segment cannot be built or read.
    #[error("the index cannot be built or read: {0}")]
    Format(#[from] FormatError),
    /// A thread of this program ended early.
    #[error("a part of this program stopped early: {0}")]
    Broken(String),
}
