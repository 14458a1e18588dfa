//! The tools that connectors of chat applications call.

pub mod connector_fetch;
pub mod connector_search;
