//! Who is calling, and may they. Pure: the clock, the keys and the token are passed in.
//!
//! # Layout
//! - [`keys`]: what tokens are checked against: a shared secret, a set of public keys.
//! - [`token`]: a signed token, and what it says ([`mint`]: making one).
//! - [`caller`]: who calls, with which [`scope`]s, and for which vault.
//! - [`acl`]: which paths of a vault a call may touch, by `glob`s.
//! - [`policy`]: what a deployment decides about its callers, as it is configured.
//! - [`visibility`]: which operations it offers.
//! - [`throttle`]: how often callers may call.
//! - `crypto`: the signatures themselves, by ring.

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
