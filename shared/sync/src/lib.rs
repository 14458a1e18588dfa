//! Reconciles a vault's folder with its mirror, and writes a generation of the mirror back into a folder.
//!
//! A sync changes nothing that it is not sure of. A path that cannot be read keeps its version in the mirror. A folder
//! that cannot be listed deletes nothing below it. A file that was edited a moment ago is not replaced. Signs of an
//! unmounted folder or a replaced mirror stop the sync before it changes anything. The crate reads no environment and
//! no clock: callers pass both.
//!
//!
//! # Layout
//! - [`rules`]: which files belong to the vault. [`folder`]: access to the vault's folder, which no path leaves.
//!   [`scan`]: lists its files, without those that `.atlasignore` files (of source code, `.gitignore` files) exclude.
//! - [`state`]: the last versions that were equal on both sides. [`guard`]: stops a dangerous sync. [`head`]: the
//!   mirror's documents.
//! - [`compare`]: the versions of each path on both sides. [`decide`]: the action for one path. `plan`: the actions for
//!   all; `reading` reads the files that it needs. `past` looks up missing ancestors in the mirror's history. `join`
//!   refuses a folder that has little in common with the mirror. `clash` finds files and folders of one name, and
//!   `make_room` renames the files.
//! - [`mod@sync`]: one sync, in this order. A `session` opens folder and state; a `recovery` cleans up after a killed
//!   sync, and brings back those `replaced` files that a program wrote into since; a plan is made; a [`pull`] writes files, and names copies as `conflict` defines; a `push` uploads
//!   `attachments` and commits a `change`, for which `indexing` builds the segments of each `write`, and `uploads` sends those that are full. The `outcome` is what the plan achieved; the next state and the [`summary`]
//!   for the person are made of it. `merging` merges what both sides changed, before the pull (`merged`: such a file). Then `attachment_texts` adds the text that a `text_reader` reads in attachments, and
//!   [`embedding`] the vectors of notes.
//! - `repair`: publishes again what the store has lost. `readahead`: reads files before they are needed. `code_reader`: finds symbols in those of source code.
//! - [`mod@export`]: writes a generation into a folder. `contents`: writes documents into files of a `target`, which `moves` them; `ownership`: of what it makes.
//! - `options`: the caller's options; `only`: the part of a vault that a sync is limited to. [`mod@replay`]: the commits that
//!   changed some files, for another memory of them; [`ancestors`]: the state of a folder of such a memory. [`report`], [`progress`], [`error`], `runs`: reports to the caller. `blocking`:
//!   runs blocking work.

pub mod ancestors;
mod attachment_texts;
mod attachments;
mod beside;
mod blocking;
mod change;
mod clash;
mod code_reader;
pub mod compare;
mod conflict;
mod contents;
pub mod decide;
pub mod embedding;
pub mod error;
pub mod export;
pub mod folder;
pub mod guard;
pub mod head;
mod ignore_rules;
mod indexing;
mod join;
mod make_room;
mod merged;
mod merging;
mod moves;
mod only;
mod options;
mod outcome;
mod ownership;
mod past;
mod plan;
pub mod progress;
pub mod pull;
mod push;
mod readahead;
mod reading;
mod recovery;
mod repair;
pub mod replay;
pub mod report;
pub mod rules;
pub mod runs;
pub mod scan;
mod session;
pub mod state;
pub mod summary;
pub mod sync;
mod target;
mod text_reader;
mod uploads;
mod write;

pub use code_reader::CodeReader;
pub use embedding::{Background, Chosen, Embedder};
pub use error::SyncError;
pub use export::{ExportOptions, Exported, export};
pub use guard::{Danger, Side};
pub use ignore_rules::is_excluded;
pub use merged::Merged;
pub use merging::set_aside_of;
pub use only::Only;
pub use options::SyncOptions;
pub use outcome::{ChangeKind, Changed};
pub use progress::{Phase, Progress};
pub use pull::Conflicted;
pub use replay::{Replayed, replay};
pub use report::{Reason, Skipped};
pub use runs::{Failure, Run, Runs};
pub use session::{is_inside, newest};
pub use summary::{GitSummary, LinkSummary, Summary};
pub use sync::sync;
pub use target::replaced::REPLACED;
pub use text_reader::{MAX_TEXT_BYTES, Reading, TextReader};

#[cfg(test)]
mod tests;
