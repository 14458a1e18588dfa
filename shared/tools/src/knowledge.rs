//! Questions to a language model that the deployment may be configured to ask, and to the vault by meaning and links.

pub mod knowledge_challenge;
pub mod vault_graph_search;
mod verdict;
