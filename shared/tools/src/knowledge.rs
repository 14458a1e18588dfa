//! What a language model, which the deployment may be configured to ask, makes of the vault.

pub mod knowledge_challenge;
mod verdict;
