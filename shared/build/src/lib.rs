//! Builds a vault's mirror from plain objects, for vaults that are too large for one host; and compacts mirrors that no host syncs.
//!
//! The files of a vault stand below a folder of a store (the source). A run cuts them into shards, builds each of them by a call of its own,
//! on any number of machines, and publishes all as one generation. Every step can be repeated. The source is one side of a sync that is
//! never written to: its ancestor is what the run before found, so that an agent's change in the mirror is never lost. The engine that calls
//! the steps is Step Functions' Distributed Map and SQS, or a shell; this crate has neither a queue nor a scheduler. It reads no environment
//! and no clock: callers pass both.
//!
//! # Layout
//! - [`source`]: the objects of a vault. [`mod@plan`]: cuts them into shards. [`records`]: what a run keeps in the store.
//! - [`shard`]: builds one: `read` reads its files, `decision` decides about each, `index` makes segments.
//! - [`mod@publish`]: commits a run. [`mod@compact`]: merges segments and collects garbage.
//! - [`events`]: the events of the functions. [`program`]: runs a function, on Lambda or as a process. [`error`]: errors.

pub mod compact;
mod decision;
pub mod error;
pub mod events;
mod index;
pub mod plan;
pub mod program;
pub mod publish;
mod read;
pub mod records;
pub mod shard;
pub mod source;

pub use error::BuildError;

#[cfg(test)]
mod tests;
