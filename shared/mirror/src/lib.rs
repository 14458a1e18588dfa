//! The mirror: a vault as numbered manifests over immutable segments in an object store.
//!
//! Any number of processes read and write it at once, connected by nothing but the store. A commit uploads new objects
//! under fresh keys and then creates the next manifest if it is absent. A read finds the newest manifest and fetches
//! only the byte ranges that it needs. This crate knows nothing about the content of notes.
//!
//!
//! # Layout
//! - [`keys`]: the keys of the objects.
//! - [`id`]: random ids and hashes.
//! - [`manifest`]: the state of a vault at one generation; [`tombstones`]: the dead documents of a segment; [`vectors`]: the vectors of
//!   one, and their model.
//! - [`location`]: stores by URL; `variables`: S3's environment variables; `s3`: connecting to S3; `s3_client`: the
//!   HTTP client; `s3_answer`: the meaning of S3's errors; [`secrets`]: masks secrets in settings; [`log_filter`]: filters of logs in them.
//! - [`probe`]: whether a store is safe to write to.
//! - `last_sync`: the time of the last sync, which `heartbeat` records and reads. `exchanged`: the last exchange with another memory.
//! - [`store`]: requests with limits on time, size and tries; `body`: the bodies of answers; `failure`: why one failed;
//!   [`counters`]: their cost.
//! - [`mirror`]: opening a mirror; `head`, `newest` and `read`: the newest generation, strongly consistent; `history`:
//!   older ones; `changed`: the paths that one changed.
//! - [`snapshot`]: one generation, whose parts are loaded in waves; `directories`: where the pages of its segments are;
//!   `ranges` merges byte ranges, [`cache`] keeps decoded parts.
//! - [`change`]: the content of a commit; [`upload`]: segments that are sent before it; [`commit`]: makes it the next
//!   generation; `turn`: whose turn it is in this process; `queue`: and among processes.
//! - [`once`]: small objects whose content the first writer decides; [`claim`]: claims keyed requests before they run;
//!   [`request`]: requests for a sync.
//! - [`mod@merge`]: merges small segments; [`held_vectors`]: all vectors of one.
//! - [`collect`]: garbage collection; `added`: the objects that the kept generations refer to; `expiry`: deletes
//!   expired state; [`mod@purge`]: removes a file with all its versions.
//! - [`inspect`]: finds damaged objects; [`repair`]: publishes them again; `rescue`: recovers their files; `known_vectors`: and
//!   their vectors.
//! - [`models`]: embedding models in the store; `loaded_model`: the one in use; [`embedding`]: gives notes their vectors;
//!   `clusters`: lists those that are near each other.
//! - [`blob`]: bytes of attachments; `presigned`: URLs to them. [`set_aside`]: paths of versions that a sync merges.
//! - [`error`]: errors, by what to do about them.
#![doc = ""]
#![doc = include_str!("../FORMAT.md")]

mod added;
pub mod blob;
mod body;
pub mod cache;
pub mod change;
mod changed;
pub mod claim;
mod clusters;
pub mod collect;
pub mod commit;
pub mod counters;
mod directories;
pub mod embedding;
pub mod error;
mod exchanged;
mod expiry;
mod failure;
mod head;
mod heartbeat;
pub mod held_vectors;
mod history;
pub mod id;
pub mod inspect;
pub mod keys;
mod known_vectors;
mod last_sync;
mod left_out;
mod loaded_model;
pub mod location;
pub mod log_filter;
pub mod manifest;
pub mod merge;
pub mod mirror;
pub mod models;
mod newest;
pub mod once;
mod presigned;
pub mod probe;
pub mod purge;
mod queue;
mod ranges;
mod read;
pub mod repair;
pub mod request;
mod rescue;
mod s3;
mod s3_answer;
mod s3_client;
pub mod secrets;
pub mod set_aside;
pub mod snapshot;
pub mod store;
pub mod tombstones;
mod turn;
pub mod upload;
mod variables;
pub mod vectors;

pub use cache::{Forgotten, PartCache};
pub use change::{Attempt, ChangeSet, CommitInfo, CommitKey, Derived, DroppedSegment, NewSegment, SegmentObject};
pub use claim::Claimed;
pub use clusters::CLUSTERED_FROM;
pub use collect::{Collected, Retention};
pub use commit::Committed;
pub use error::MirrorError;
pub use exchanged::Exchanged;
pub use id::{Hash, Id, SegmentId};
pub use inspect::Flaw;
pub use keys::{BlobKey, VaultId};
pub use last_sync::Heartbeat;
pub use left_out::{LeftOut, LeftOutFile};
pub use manifest::Manifest;
pub use mirror::{Mirror, Options};
pub use models::StoredModelInfo;
pub use once::StateObject;
pub use presigned::{UploadRequest, Uploaded};
pub use probe::probe_conditional_writes;
pub use repair::Repaired;
pub use request::SyncRequest;
pub use snapshot::Snapshot;
pub use store::{Store, StoreOptions};
pub use upload::UploadedSegment;
pub use vectors::{ClusterEntry, Embeddings, NewVectors, VectorEntry};
