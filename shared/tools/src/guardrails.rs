//! The tools of Atlas Guardrails.

pub mod atlas_find_duplicates;
pub mod atlas_index;
pub mod atlas_pack;
