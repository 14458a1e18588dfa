//! The MCP door: the operations as tools, notes as resources, a few prompts. It has no logic of the operations' own, and every call
//! passes the same gates. The protocol itself is `rmcp`'s: 2026-07-28, and those before it without sessions.
//!
//! # Layout
//!
//! - [`http`]: `POST /mcp`; [`stdio`]: standard input and output, also over an index that is still being made ([`indexing`])
//! - [`server`]: one client's server; `handler`: what answers its messages
//! - `tools`: operations as tools, calls and what comes of them; `schema`: their schemas; `facade`: few tools in the place of many, by
//!   `ranking`
//! - `resources`: notes by address; `prompts`; `completion` of arguments

mod completion;
mod facade;
mod handler;
pub mod http;
pub mod indexing;
mod prompts;
mod ranking;
mod resources;
mod schema;
pub mod server;
pub mod stdio;
mod tools;

pub use http::routes;
pub use server::Server;
