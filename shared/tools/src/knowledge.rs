//! Questions to a language model that the deployment may be configured to ask.

pub mod knowledge_challenge;
mod verdict;
