//! Which operations there are, and what is known of them all without the operations themselves: a function holds only those that it
//! serves, and its configuration may name any.

use crate::operation::{Info, Operation};

/// Makes something of the list of all operations.
macro_rules! every_operation {
    ($make:ident) => {
        $make! {
            // the Atlas Local Bridge
            crate::health::Health,
            crate::context_current::ContextCurrent,
            crate::find::Find,
            crate::query::Query,
            // notes
            crate::read_note::ReadNote,
            crate::write_note::WriteNote,
            crate::edit_note::EditNote,
            crate::upsert_note::UpsertNote,
            crate::delete_note::DeleteNote,
            crate::move_note::MoveNote,
            crate::restore_note::RestoreNote,
            crate::note_history::NoteHistory,
            crate::list_notes::ListNotes,
            crate::search::Search,
            // search
            crate::search::search_vault::SearchVault,
            crate::search::search_text::SearchText,
            crate::search::search_regex::SearchRegex,
            crate::search::search_jsonlogic::SearchJsonlogic,
            // access
            crate::approve::Approve,
            crate::inspect_acl::InspectAcl,
            // properties
            crate::properties::read_frontmatter::ReadFrontmatter,
            crate::properties::read_property::ReadProperty,
            crate::properties::list_properties::ListProperties,
            crate::properties::find_notes_by_property::FindNotesByProperty,
            // tags
            crate::tags::list_tags::ListTags,
            crate::tags::find_notes_by_tag::FindNotesByTag,
            // tasks
            crate::tasks::list_tasks::ListTasks,
            crate::tasks::tasks_filter::TasksFilter,
            // links
            crate::graph::get_outgoing_links::GetOutgoingLinks,
            crate::graph::get_backlinks::GetBacklinks,
            crate::graph::find_orphans::FindOrphans,
            crate::graph::find_unresolved_links::FindUnresolvedLinks,
            // obsidian-vault-mcp
            crate::note_read::NoteRead,
            crate::note_upsert::NoteUpsert,
            crate::note_delete::NoteDelete,
            crate::vault_search::VaultSearch,
            crate::backlinks_search::BacklinksSearch,
            crate::graph_neighbors::GraphNeighbors,
            crate::link_add::LinkAdd,
            // Atlas Guardrails
            crate::atlas_index::AtlasIndex,
            crate::atlas_pack::AtlasPack,
            crate::atlas_find_duplicates::AtlasFindDuplicates,
            // the host and connectors
            crate::vault_sync::VaultSync,
            crate::connector_search::ConnectorSearch,
            crate::connector_fetch::ConnectorFetch,
        }
    };
}
pub(crate) use every_operation;

macro_rules! infos {
    ($($operation:path,)*) => { &[$(<$operation>::INFO),*] };
}

/// All operations, in the order of [`crate::operations`].
pub const ALL: &[Info] = every_operation!(infos);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn each_has_a_name_of_its_own_and_says_what_it_is_about() {
        let names: BTreeSet<&str> = super::ALL.iter().map(|info| info.name).collect();
        assert_eq!(names.len(), super::ALL.len());
        assert!(super::ALL.iter().all(|info| !info.tags.is_empty()));
    }
}
