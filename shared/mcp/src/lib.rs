//! The MCP door: the operations as tools, notes as resources, a few prompts. It has no logic of the operations' own, and every call
//! passes the same gates. The protocol itself is `rmcp`'s: 2026-07-28, and those before it without sessions.
//!
//! # Layout
//!
//! - [`http`]: `POST /mcp`; [`stdio`]: standard input and output, also over an index that is still being built ([`indexing`])
//! - `message`: reads clients' messages, and answers what is none
//! - [`server`]: one client's server; `handler`: answers its messages
//! - `tools`: operations as tools of the protocol, and the results of calls; [`atlas_tools::facade`] chooses the tools
//! - `elicitation`: sends a person to the page where a call waits for approval
//! - `resources`: notes and files by address; `prompts`; `completion` of arguments

mod completion;
mod elicitation;
mod handler;
pub mod http;
pub mod indexing;
mod message;
mod prompts;
mod resources;
pub mod server;
pub mod stdio;
mod tools;

pub use http::routes;
pub use server::Server;
