//! Helpers that let tests read like prose. A test library: its functions panic where a test would fail.
//!
//! # Layout
//! - [`folder`]: a vault folder in a temporary directory.
//! - [`time`]: fixed moments.
//! - [`aging`]: a store with a clock of its own.
//! - [`counting`]: a store that counts requests, bytes and waves.
//! - [`faults`]: a store that fails as it is told.
//! - [`proxy`]: an HTTP proxy that fails as it is told.
//! - [`stand_in`]: a service on loopback that answers as it is told.
//! - [`issuer`]: an issuer of tokens.
//! - [`hostile`]: notes that are made to cost.
//! - [`notes`]: changes that put, delete and merge notes, and what a snapshot holds, for tests of the mirror alone.
//! - [`real_store`]: LocalStack and MinIO, started by the project's own script; [`project`]: where that is.
//! - [`contract`]: what a mirror guarantees, to be run on every kind of store.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "its callers are tests"
)]

pub mod aging;
pub mod contract;
pub mod counting;
pub mod faults;
pub mod folder;
pub mod hostile;
pub mod issuer;
pub mod notes;
pub mod project;
pub mod proxy;
pub mod real_store;
mod request;
mod rules;
pub mod stand_in;
pub mod time;

pub use aging::AgingStore;
pub use counting::CountingStore;
pub use faults::{Fault, FaultStore};
pub use folder::VaultBuilder;
pub use issuer::Issuer;
pub use proxy::{Broken, FaultProxy};
pub use request::Op;
pub use stand_in::StandIn;
