//! The HTTP door. It turns requests into calls of operations and their answers into responses, the same
//! on Lambda, under `cargo lambda watch` and in `atlas serve`. It has no logic of the operations' own.
//!
//! # Layout
//!
//! - [`settings`]: what a deployment sets, from the environment that a binary passes in
//! - [`config`]: what it decides besides, in one document that may change; [`cors`]: which web pages may call
//! - [`state`]: what handlers share; `deployed`: what a configuration comes to; `origins`: pages that may call
//! - [`routes`]: routes of operations, and what every service has: `/health`, `/openapi.json`, errors for what is no route;
//!   `service`: those of them that are configured at the time of a request; `unrouted`: answers where there is none
//! - [`auth`]: lets callers through; `gate`: who calls, by their token; `clients`: those whom the host knows; `headers`: this service's own
//! - [`request`]: bodies and paths, within limits; [`response`]: answers and errors as HTTP
//! - [`openapi`]: the description of the routes
//! - [`telemetry`]: one log line a request; `metrics`: what it says, and counters; [`caller`]: who asked, without a name; `otlp`, with the feature
//!   of that name: spans for a collector
//! - `threads`: where a server's calls run
//! - [`lambda`]: running routes as a Lambda function
//! - [`server`]: as a server; its connections, [`hosts`] that it answers for, and `tls` with the feature of that name

pub mod auth;
pub mod caller;
mod clients;
pub mod config;
mod connections;
pub mod cors;
mod deployed;
mod gate;
mod headers;
pub mod hosts;
pub mod lambda;
mod metrics;
pub mod openapi;
mod origins;
#[cfg(feature = "otlp")]
pub mod otlp;
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

pub use clients::Clients;
pub use routes::{Door, Routes};
pub use settings::{Settings, SettingsError};
pub use state::App;
