//! Embedding models of services: those with OpenAI's interface, and Ollama. Texts go out through `atlas_outbound`, to the one address that a
//! configuration names.
//!
//! # Layout
//! - [`remote`]: a model of a service, and one request to it; [`protocol`]: how services are asked and answer; `fault`: why there is no answer
//! - [`for_sync`]: asks for many texts: patiently, and within a limit of tokens; `retry_after`: how long a service wants to be left alone
//! - [`for_query`]: asks for one text, within a deadline

mod fault;
pub mod for_query;
pub mod for_sync;
pub mod protocol;
pub mod remote;
mod retry_after;

pub use for_query::QueryModel;
pub use for_sync::{Spending, SyncModel};
pub use protocol::{Protocol, beginning};
pub use remote::{Remote, Shape};

#[cfg(test)]
mod tests;
