//! The one client for requests that go out to other services: to Obsidian, to a language model, to a memory service. A service is asked only where a
//! deployment's configuration names its address.
//!
//! The address of a request must be of an origin that the client's policy names: scheme, host and port. Redirects are not followed, no proxy is
//! used, answers are not decompressed, and time and bytes are limited. Requests to a bucket do not pass here: they go through `atlas_mirror::Store`.
//!
//! # Layout
//!
//! - [`service`]: a configured service, which is how operations ask
//! - [`client`]: sends a request within a [`Policy`]; [`origin`]: where requests may go; [`trust`]: which certificates are believed
//! - [`key`]: what a service knows the deployment by; [`error`]: why there is no answer

pub mod client;
pub mod error;
pub mod key;
pub mod origin;
pub mod service;
pub mod trust;

pub use client::{Answer, Client, Policy, Request};
pub use error::Error;
pub use key::Key;
pub use origin::Origin;
pub use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
pub use reqwest::{Method, StatusCode, Url};
pub use service::{AddressError, Service};
pub use trust::{Fingerprint, Trust};

#[cfg(test)]
mod tests;
