//! Who is calling, and may they. Pure: the clock, the keys, the token and what others have taken are passed in.
//!
//! # Layout
//! - [`keys`]: what tokens are checked against: a shared secret, a set of public keys.
//! - [`token`]: a signed token, and what it says ([`mint`]: making one).
//! - [`caller`]: who calls, with which [`scope`]s, and for which vault.
//! - [`acl`]: which paths of a vault a call may touch, by `glob`s.
//! - [`policy`]: what a deployment decides about its callers, as it is configured.
//! - [`throttle`]: how often callers may call.
//! - [`visibility`]: which operations it offers.
//! - `crypto`: the signatures themselves, by ring.
//!
//! # What differs from obsidian-tc
//! Its server is one process with a database; functions share nothing but a bucket. So what it keeps in rows is here an object that is made
//! once, by whoever comes first:
//! - A duplicate of a keyed call that is under way is not refused as in flight: nobody knows whether the first still runs. Both take part
//!   in one commit and get its answer, so nothing has to be reclaimed either.
//! - A bucket of tokens is not counted down: each token is an object with a number that is there for a while ([`throttle`]). Reads and
//!   administration are counted by each instance.
//! - How many writes are under way is not limited unless `maxConcurrentWritesPerVault` says so, for that costs requests; commits need no such limit.
//! - Nothing is throttled without `throttle`, for the same reason.
//! - A confirmation is used up by making an object beside it; a keyed call that made it passes again.
//! - Access lists match in any case, and without what file systems drop from names, wherever that is stricter: the folder may be on any file system.

pub mod acl;
pub mod caller;
mod crypto;
mod glob;
pub mod keys;
pub mod mint;
pub mod policy;
pub mod scope;
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
