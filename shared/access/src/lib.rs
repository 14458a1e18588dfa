//! Who is calling, and what they may do. Pure: clock, keys, token and the state of throttles are passed in.
//!
//! # Layout
//! - [`keys`]: the keys that tokens are checked against.
//! - [`token`]: checks signed tokens and reads their claims. [`mint`]: makes tokens.
//! - [`caller`]: who calls, with which [`scope`]s, and for which vault.
//! - [`acl`]: which paths of a vault a call may touch, by `glob`s.
//! - [`policy`]: what a deployment decides about its callers, as it is configured.
//! - [`throttle`]: how often callers may call.
//! - [`visibility`]: which operations it offers.
//! - `crypto`: the signatures themselves, by ring. [`seal`]: that a text was written by somebody who knows a secret.
//!
//! # What differs from obsidian-tc
//! Its server is one process with a database; functions share only a bucket. What it keeps in rows is here an object that is created once, by the
//! first writer:
//! - A duplicate of a keyed call that is under way is not refused as in flight, since nobody knows whether the first call still runs. Both calls join
//!   one commit and get its answer, so nothing has to be reclaimed.
//! - A token bucket is not a counter: each token is a numbered object that exists for some time ([`throttle`]). Each instance counts reads and
//!   administration for itself.
//! - Concurrent writes are limited only if `maxConcurrentWritesPerVault` is set, since that costs requests; commits do not need it.
//! - Nothing is throttled unless `throttle` is set, for the same reason.
//! - A confirmation is used up by creating an object beside it. A keyed call that created it passes again.
//! - Access lists match in any case, and without what file systems drop from names, where that is stricter: the folder may be on any file system.

pub mod acl;
pub mod caller;
mod crypto;
mod glob;
pub mod keys;
pub mod mint;
pub mod policy;
pub mod scope;
pub mod seal;
pub mod throttle;
pub mod token;
pub mod visibility;

pub use acl::{Access, Acl, AclError};
pub use caller::{Binding, Caller};
pub use keys::{KeyError, Keys, Secret};
pub use mint::mint;
pub use policy::{AclConfig, ThrottleConfig, VisibilityConfig};
pub use scope::{Scope, Scopes};
pub use token::{Expected, Refused, Verifier};
pub use visibility::Visibility;

#[cfg(test)]
mod tests;
