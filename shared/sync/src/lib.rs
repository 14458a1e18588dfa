//! Reconciles a vault's folder with its mirror, and writes a generation of the mirror back into a folder.
//!
//! Whatever is not sure is left as it is: a path that cannot be read keeps what the mirror has, a folder that cannot be
//! listed deletes nothing below it, a file that was edited a moment ago is not replaced, and signs of an unmounted folder or a
//! replaced mirror stop the sync before it changes anything. No environment and no clock: callers pass both.
//!
//! # Layout
//! - [`rules`]: which files belong to the vault; [`folder`]: the folder, out of which nothing leads; [`scan`]: its files,
//!   less those that `.gitignore` files say, where it is source code.
//! - [`state`]: what was last equal on both sides; [`guard`]: what stops a sync; [`head`]: what the mirror has.
//! - [`compare`]: what both sides have at each path; [`decide`]: what happens to one; `plan`: to all, for which `reading` reads files.
//!   Where the state knows no ancestor, `past` asks the mirror's history; `join` stops where the two are strangers; `clash` says what
//!   gives way where a file and a folder have one name, and `make_room` has it do so.
//! - [`sync`]: one sync. It begins with a `session`, and a `recovery` of what a killed one left; makes a plan; does a [`pull`],
//!   which names copies as `conflict` says; then a `push`, which uploads `attachments` and commits a `change`. What became of the
//!   plan is the `outcome`: the next sync's state is made of it, and the [`summary`], which tells the person. In the end `attachment_texts` adds what a `text_reader` reads in attachments. `repair`: what the store has lost is published again. `readahead` hides how long files take.
//! - [`export`]: a generation into a folder.
//! - `contents`: documents become files of a `target`.
//! - `options`: what a sync is asked for. [`report`], [`progress`], [`error`], `runs`: what is told to whom. `blocking`: work beside the network.

mod attachment_texts;
mod attachments;
mod blocking;
mod change;
mod clash;
pub mod compare;
mod conflict;
mod contents;
pub mod decide;
pub mod error;
pub mod export;
pub mod folder;
mod gitignore;
pub mod guard;
pub mod head;
mod join;
mod make_room;
mod options;
mod outcome;
mod past;
mod plan;
pub mod progress;
pub mod pull;
mod push;
mod readahead;
mod reading;
mod recovery;
mod repair;
pub mod report;
pub mod rules;
mod runs;
pub mod scan;
mod session;
pub mod state;
pub mod summary;
pub mod sync;
mod target;
mod text_reader;

pub use conflict::original_of;
pub use error::SyncError;
pub use export::{ExportOptions, Exported, export};
pub use guard::{Danger, Side};
pub use options::SyncOptions;
pub use outcome::{Changed, How};
pub use progress::{Phase, Progress};
pub use pull::Conflicted;
pub use report::{Reason, Skipped};
pub use runs::{Failure, Run, Runs};
pub use session::is_inside;
pub use summary::Summary;
pub use sync::sync;
pub use text_reader::{MAX_TEXT_BYTES, Reading, TextReader};

#[cfg(test)]
mod tests;
