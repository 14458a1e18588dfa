//! The HTTP door. It turns requests into calls of operations and their answers into responses, the same on Lambda,
//! under `cargo lambda watch` and in `atlas serve`. It contains no logic of the operations.
//!
//!
//! # Layout
//!
//!
//! - [`settings`]: a deployment's settings, from the environment that a binary passes in
//! - [`config`]: further settings in one document that may change; [`cors`]: which web pages may call
//! - [`state`]: the state shared by handlers; `deployed`: the deployment of a configuration, and `open_error`: why there is none;
//!   `vault_documents`: vaults with a document of their own; `origins`: origins of pages that may call
//! - [`routes`]: routes of operations, and those of every service: `/health`, `/openapi.json`, errors for unknown
//!   routes; `service`: the routes configured at the time of a request; `unrouted`: the answers elsewhere
//! - [`auth`]: authenticates requests; `gate`: the caller, by their token; `clients`: those known to the host;
//!   `headers`: this service's own
//! - [`request`]: bodies and paths, within limits; [`response`]: answers and errors as HTTP
//! - [`issuer`]: the deployment's own authorization server, as its settings describe it
//! - [`openapi`]: the description of the routes; `twins`: of those that take a path in the query too
//! - `beside`: what is read beside a call
//! - [`telemetry`]: one log line per request; `metrics`: its content, and counters; [`caller`]: pseudonyms of callers;
//!   `otlp`, with the feature of that name: spans for a collector
//! - `threads`: the threads of a server's calls
//! - [`lambda`]: running routes as a Lambda function
//! - [`server`]: as a server; its connections, [`hosts`] that it answers to, `proxies` in front of it, and `tls` with the feature of that name

pub mod accept;
pub mod auth;
mod beside;
pub mod caller;
mod clients;
pub mod config;
mod connections;
pub mod cors;
mod deployed;
mod gate;
mod headers;
pub mod hosts;
pub mod issuer;
pub mod lambda;
mod metrics;
mod open_error;
pub mod openapi;
mod origins;
#[cfg(feature = "otlp")]
pub mod otlp;
mod proxies;
pub mod request;
pub mod response;
pub mod routes;
pub mod server;
mod service;
pub mod settings;
pub mod state;
pub mod telemetry;
mod threads;
#[cfg(feature = "tls")]
pub mod tls;
mod unrouted;
mod vault_documents;

pub use clients::Clients;
pub use routes::{Door, Routes};
pub use settings::{Settings, SettingsError};
pub use state::App;
