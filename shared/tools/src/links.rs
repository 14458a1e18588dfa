//! Links between notes.

pub mod find_orphans;
pub mod find_unresolved_links;
pub mod get_backlinks;
pub mod get_outgoing_links;
pub mod prune_hub_links;
pub mod relink_moved;
pub mod rewrite_link;
