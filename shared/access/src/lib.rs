//! The caller of an operation, and their rights. Pure: clock, keys, token and the state of throttles are passed in.
//!
//!
//! # Layout
//! - [`keys`]: the keys that tokens are checked against.
//! - [`token`]: checks signed tokens and reads their claims. [`mint`]: makes tokens.
//! - [`caller`]: the caller, with [`scope`]s and vault.
//! - [`acl`]: which paths of a vault a call may access, by `glob`s.
//! - [`policy`]: a deployment's rules for callers, as configured.
//! - [`throttle`]: how often callers may call.
//! - [`visibility`]: which operations a deployment offers.
//! - [`signing`]: the keys of a deployment's own authorization server, and [`authority`]: all its secrets.
//! - `crypto`: the signatures themselves, by ring. [`seal`]: that a text was written by somebody who knows a secret.
//!
//!
//! # Differences from obsidian-tc Its server is one process with a database; functions share only a bucket. Its
//! database rows are here objects that are created once, by the first writer:
//! - A duplicate of a running keyed call is not refused as in flight, since nobody knows whether the first call still
//!   runs. Both calls join one commit and get its answer, so nothing has to be reclaimed.
//! - A token bucket is not a counter: each token is a numbered object that exists for some time ([`throttle`]). Each
//!   instance counts reads and administration for itself.
//! - Concurrent writes are limited only if `maxConcurrentWritesPerVault` is set, since that costs requests; commits do
//!   not need it.
//! - Nothing is throttled unless `throttle` is set, for the same reason.
//! - A confirmation is used up by creating an object beside it. A keyed call that created it passes again.
//! - Access lists match in any case, and without the characters that file systems drop from names, where that is
//!   stricter: the folder may be on any file system.

pub mod acl;
pub mod authority;
pub mod caller;
mod crypto;
mod glob;
pub mod keys;
pub mod mint;
pub mod policy;
pub mod scope;
pub mod seal;
pub mod signing;
pub mod throttle;
pub mod token;
pub mod visibility;

pub use acl::{Access, Acl, AclError};
pub use authority::Authority;
pub use caller::{Binding, Caller};
pub use keys::{KeyError, Keys, Secret};
pub use mint::mint;
pub use policy::{AclConfig, ThrottleConfig, VisibilityConfig};
pub use scope::{Scope, Scopes};
pub use signing::{AccessClaims, SigningKeys};
pub use token::{Expected, Refused, Verifier};
pub use visibility::Visibility;

#[cfg(test)]
mod tests;
