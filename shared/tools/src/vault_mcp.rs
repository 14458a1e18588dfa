//! The tools of obsidian-vault-mcp.

pub mod backlinks_search;
pub mod graph_neighbors;
pub mod link_add;
pub mod note_delete;
pub mod note_read;
pub mod note_upsert;
pub mod vault_search;
