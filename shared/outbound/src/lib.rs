//! The one client for requests that go out to other services: to Obsidian, to a language model, to a memory service. A service is asked only where a
//! deployment's configuration names its address, and a stranger's document is fetched only where the configuration allows that.
//!
//! The address of a request must be of an origin that the client's policy names: scheme, host and port; or a public one, where the policy is that. Redirects are not followed, no proxy is
//! used, answers are not decompressed, and time and bytes are limited. Requests to a bucket do not pass here: they go through `atlas_mirror::Store`.
//!
//! # Layout
//!
//! - [`service`]: a configured service, which is how operations ask
//! - [`client`]: sends a request within a [`Policy`]; [`origin`]: where requests may go; [`trust`]: which certificates are believed
//! - [`public`]: which addresses are public; [`documents`]: documents at such addresses
//! - [`key`]: what a service knows the deployment by; [`error`]: why there is no answer

pub mod client;
pub mod documents;
pub mod error;
pub mod key;
pub mod origin;
pub mod public;
pub mod service;
pub mod trust;

pub use client::{Answer, Client, Policy, Reach, Request};
pub use documents::Documents;
pub use error::Error;
pub use key::Key;
pub use origin::Origin;
pub use public::Public;
pub use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
pub use reqwest::{Method, StatusCode, Url};
pub use service::{AddressError, Service, is_this_machine};
pub use trust::{Fingerprint, Trust};

#[cfg(test)]
mod tests;
