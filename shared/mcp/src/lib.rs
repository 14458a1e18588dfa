//! The MCP door: the operations as tools, notes as resources, a few prompts. It has no logic of the operations' own, and every call
//! passes the same gates. The protocol itself is `rmcp`'s: 2026-07-28, and those before it without sessions.
//!
//! # Layout
//!
//! - [`http`]: `POST /mcp`; [`stdio`]: standard input and output, also over an index that is still being made ([`indexing`])
//! - [`server`]: one client's server; `handler`: what answers its messages
//! - `tools`: operations as tools of the protocol, and what comes of their calls; which there are says [`atlas_tools::facade`]
//! - `resources`: notes by address; `prompts`; `completion` of arguments

mod completion;
mod handler;
pub mod http;
pub mod indexing;
mod prompts;
mod resources;
pub mod server;
pub mod stdio;
mod tools;

pub use http::routes;
pub use server::Server;
