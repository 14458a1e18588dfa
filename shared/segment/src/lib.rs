//! The segment: an immutable, self-describing index over some of a vault's documents.
pub mod directory;
pub mod error;
pub mod layout;
pub mod part;
pub mod trigram;
mod varint;
