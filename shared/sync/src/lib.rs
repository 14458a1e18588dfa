//! Reconciles a vault's folder with its mirror, and writes a generation of the mirror back into a folder.
//!
//! Whatever is not sure is left as it is: a path that cannot be read keeps what the mirror has, a folder that cannot be
//! listed deletes nothing below it, and signs of an unmounted folder or a replaced mirror stop the sync
//! before it changes anything. No environment and no clock: callers pass both.
//!
//! # Layout
//! - [`rules`]: which files belong to the vault; [`folder`]: the folder, out of which nothing leads; [`scan`]: its files.
//! - [`state`]: what was last equal on both sides; [`guard`]: what stops a sync; [`head`]: what the mirror has.
//! - [`decide`]: what is to become of a path; [`plan`]: of all paths.
//! - [`push`]: one sync. It begins with a `session`, sees both `sides`, uploads `attachments`, commits a `change`, and
//!   says in a [`summary`] what was done; `readahead` hides how long files take.
//! - [`export`]: a generation into a folder, its `target`.
//! - [`report`], [`progress`], [`error`]: what is told to whom.

mod attachments;
mod change;
pub mod decide;
pub mod error;
pub mod export;
pub mod folder;
pub mod guard;
pub mod head;
pub mod plan;
pub mod progress;
pub mod push;
mod readahead;
pub mod report;
pub mod rules;
pub mod scan;
mod session;
mod sides;
pub mod state;
pub mod summary;
mod target;

pub use error::SyncError;
pub use export::{ExportOptions, Exported, export};
pub use guard::Danger;
pub use progress::{Phase, Progress};
pub use push::{PushOptions, push};
pub use report::{Reason, Skipped};
pub use session::is_inside;
pub use summary::Summary;

#[cfg(test)]
mod tests;
