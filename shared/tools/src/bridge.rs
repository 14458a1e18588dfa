//! The operations of the Atlas Local Bridge.

pub mod context_current;
pub mod find;
pub mod found;
pub mod health;
mod passages;
mod paths;
pub mod query;
mod search_notes;
