//! The definition of an operation, and the pipeline that every call passes, whichever door it comes through. The
//! operations themselves are in the crate `atlas-tools`.
//!
//!
//! # Layout
//!
//! - [`operation`]: what an operation is; [`call`]: a call of one; [`atlas`]: the vaults and limits that calls run on; [`about`]: what the
//!   program tells of itself; [`services`]: what it may ask outside; [`error`]: the one error; [`item_error`]: what became of one of several things
//! - [`app`]: a running Obsidian, and how it is asked
//! - [`arguments`]: argument types that cannot hold a value out of range
//! - [`pipeline`]: the gates, in their order: scopes, access list, idempotency key, throttle, confirmation, response limit; the audit log
//! - [`read`]: what a caller sees of a snapshot: the index, notes by their paths, facts, links, pages
//! - [`write`](mod@write): commits over notes: what is judged, what may be written where, moves with the links to what is moved

pub mod about;
pub mod app;
pub mod arguments;
pub mod atlas;
pub mod call;
pub mod error;
pub mod item_error;
pub mod operation;
pub mod pipeline;
pub mod read;
pub mod services;
mod sorted;
pub mod write;
mod zone;

pub use atlas::{Atlas, Limits, Vault};
pub use atlas_access::Caller;
pub use call::{Call, Entry, Schemas};
pub use error::{Code, Error, Reason};
pub use operation::{Answer, Context, Info, Operation, PathAccess, Scope};
pub use pipeline::gates::dispatch;
pub use pipeline::response_limit::Sent;
pub use sorted::sorted;
