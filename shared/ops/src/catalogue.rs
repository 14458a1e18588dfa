//! What is known of every operation, without the operations themselves: a function holds only those that it serves, and its
//! configuration may name any.

use crate::operation::{Info, Operation};

/// All operations, in the order of [`crate::operations`].
pub const ALL: [Info; 29] = [
    crate::health::Health::INFO,
    crate::context_current::ContextCurrent::INFO,
    crate::find::Find::INFO,
    crate::query::Query::INFO,
    crate::read_note::ReadNote::INFO,
    crate::write_note::WriteNote::INFO,
    crate::edit_note::EditNote::INFO,
    crate::upsert_note::UpsertNote::INFO,
    crate::delete_note::DeleteNote::INFO,
    crate::move_note::MoveNote::INFO,
    crate::restore_note::RestoreNote::INFO,
    crate::note_history::NoteHistory::INFO,
    crate::list_notes::ListNotes::INFO,
    crate::search::Search::INFO,
    crate::approve::Approve::INFO,
    crate::inspect_acl::InspectAcl::INFO,
    crate::note_read::NoteRead::INFO,
    crate::note_upsert::NoteUpsert::INFO,
    crate::note_delete::NoteDelete::INFO,
    crate::vault_search::VaultSearch::INFO,
    crate::backlinks_search::BacklinksSearch::INFO,
    crate::graph_neighbors::GraphNeighbors::INFO,
    crate::link_add::LinkAdd::INFO,
    crate::atlas_index::AtlasIndex::INFO,
    crate::atlas_pack::AtlasPack::INFO,
    crate::atlas_find_duplicates::AtlasFindDuplicates::INFO,
    crate::vault_sync::VaultSync::INFO,
    crate::connector_search::ConnectorSearch::INFO,
    crate::connector_fetch::ConnectorFetch::INFO,
];

#[cfg(test)]
mod tests {
    #[test]
    fn it_has_every_operation() {
        let known: Vec<&str> = super::ALL.iter().map(|info| info.name).collect();
        let all: Vec<&str> = crate::operations().iter().map(|operation| operation.info.name).collect();
        assert_eq!(known, all);
        assert!(super::ALL.iter().all(|info| !info.tags.is_empty()));
    }
}
