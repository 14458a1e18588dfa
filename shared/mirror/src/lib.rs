//! The mirror: a vault as numbered manifests over immutable segments in an object store.
//!
//! Any number of processes read and write it at once, with nothing between them but the store. A commit uploads new
//! objects under fresh keys and then creates the next manifest if it is absent; a read finds the newest
//! manifest and fetches only the byte ranges that it needs. Nothing here knows what a note is.
//!
//! # Layout
//! - [`keys`]: where the objects are.
//! - [`id`]: random ids and hashes.
//! - [`manifest`]: the state of a vault at one generation; [`tombstones`]: which documents of a segment are dead.
//! - [`location`]: stores by URL; `variables`: what the environment says of them; `s3`: how S3 is reached; `s3_client`: the client; `s3_answer`: what its errors mean;
//!   [`secrets`]: what of a setting may be shown.
//! - [`probe`]: whether a store is safe to write to.
//! - `heartbeat`: when the vault was synced last
//! - [`store`]: requests with limits on time, size and tries; `failure`: why one failed; [`counters`]: what they cost.
//! - [`mirror`]: opening a mirror; `head`, `newest` and `read`: the newest generation, strongly consistent; `history`: older ones; `changed`: the paths that one changed.
//! - [`snapshot`]: one generation, whose parts are loaded in waves; `ranges` merges what is asked for, [`cache`] keeps it.
//! - [`change`]: what a commit changes; [`commit`]: how it becomes the next generation.
//! - [`once`]: small objects of which the first writer decides; [`claim`]: keyed requests, claimed before they are executed; [`request`]: requests for a sync.
//! - [`mod@merge`]: small segments become one.
//! - [`collect`]: what nothing needs any more is deleted; `added`: what the kept generations refer to; `expiry`: what is kept for a while only; [`mod@purge`]: a file leaves with all its versions.
//! - [`inspect`]: what is wrong with the objects; [`repair`]: they are published again; `rescue`: what can be had again of them.
//! - [`blob`]: bytes of attachments; `presigned`: URLs to them.
//! - [`error`]: what can go wrong, by what to do about it.
#![doc = ""]
#![doc = include_str!("../FORMAT.md")]

mod added;
pub mod blob;
pub mod cache;
pub mod change;
mod changed;
pub mod claim;
pub mod collect;
pub mod commit;
pub mod counters;
pub mod error;
mod expiry;
mod failure;
mod head;
mod heartbeat;
mod history;
pub mod id;
pub mod inspect;
pub mod keys;
pub mod location;
pub mod manifest;
pub mod merge;
pub mod mirror;
mod newest;
pub mod once;
mod presigned;
pub mod probe;
pub mod purge;
mod ranges;
mod read;
pub mod repair;
pub mod request;
mod rescue;
mod s3;
mod s3_answer;
mod s3_client;
pub mod secrets;
pub mod snapshot;
pub mod store;
pub mod tombstones;
mod variables;

pub use cache::{Forgotten, PartCache};
pub use change::{Attempt, ChangeSet, CommitInfo, CommitKey, Derived, DroppedSegment, NewSegment};
pub use claim::Claimed;
pub use collect::{Collected, Retention};
pub use commit::Committed;
pub use error::MirrorError;
pub use heartbeat::Heartbeat;
pub use id::{Hash, Id, SegmentId};
pub use inspect::Flaw;
pub use keys::{BlobKey, VaultId};
pub use manifest::Manifest;
pub use mirror::{Mirror, Options};
pub use once::StateObject;
pub use presigned::{UploadRequest, Uploaded};
pub use probe::probe_conditional_writes;
pub use repair::Repaired;
pub use request::SyncRequest;
pub use snapshot::Snapshot;
pub use store::{Store, StoreOptions};
