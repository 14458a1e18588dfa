//! Which operations there are, and what is known of them all without the operations themselves: a function holds only those that it
//! serves, and its configuration may name any.

use atlas_ops::{Entry, Info, Operation};

use crate::schemas;

/// Makes something of the list of all operations.
macro_rules! every_operation {
    ($make:ident) => {
        $make! {
            // the Atlas Local Bridge
            crate::bridge::health::Health,
            crate::bridge::context_current::ContextCurrent,
            crate::bridge::find::Find,
            crate::bridge::query::Query,
            // notes
            crate::notes::read_note::ReadNote,
            crate::notes::write_note::WriteNote,
            crate::notes::edit_note::EditNote,
            crate::notes::upsert_note::UpsertNote,
            crate::notes::delete_note::DeleteNote,
            crate::notes::move_note::MoveNote,
            crate::history::restore_note::RestoreNote,
            crate::history::note_history::NoteHistory,
            crate::history::undo_changes::UndoChanges,
            crate::history::list_commits::ListCommits,
            crate::history::read_commit::ReadCommit,
            crate::notes::list_notes::ListNotes,
            crate::notes::read_notes::ReadNotes,
            crate::notes::note_exists::NoteExists,
            crate::notes::append_note::AppendNote,
            crate::notes::patch_note::PatchNote,
            crate::notes::copy_note::CopyNote,
            crate::attachments::move_attachment::MoveAttachment,
            crate::links::rewrite_link::RewriteLink,
            crate::links::prune_hub_links::PruneHubLinks,
            crate::search::Search,
            // bulk
            crate::bulk::bulk_create_notes::BulkCreateNotes,
            crate::bulk::bulk_set_property::BulkSetProperty,
            crate::bulk::bulk_move_notes::BulkMoveNotes,
            // search
            crate::search::search_vault::SearchVault,
            crate::search::search_text::SearchText,
            crate::search::search_regex::SearchRegex,
            crate::search::search_jsonlogic::SearchJsonlogic,
            crate::search::search_semantic::SearchSemantic,
            crate::search::find_similar::FindSimilar,
            // queries
            crate::queries::query_notes::QueryNotes,
            crate::queries::search_dql::SearchDql,
            crate::queries::validate_dql::ValidateDql,
            crate::queries::eval_dataview_field::EvalDataviewField,
            // access
            crate::access::list_approvals::ListApprovals,
            crate::access::approve::Approve,
            crate::access::refuse::Refuse,
            crate::access::inspect_acl::InspectAcl,
            // properties
            crate::properties::read_frontmatter::ReadFrontmatter,
            crate::properties::read_property::ReadProperty,
            crate::properties::list_properties::ListProperties,
            crate::properties::find_notes_by_property::FindNotesByProperty,
            crate::properties::update_frontmatter::UpdateFrontmatter,
            // tags
            crate::tags::list_tags::ListTags,
            crate::tags::find_notes_by_tag::FindNotesByTag,
            crate::tags::get_note_tags::GetNoteTags,
            crate::tags::add_tag::AddTag,
            crate::tags::remove_tag::RemoveTag,
            // tasks
            crate::tasks::list_tasks::ListTasks,
            crate::tasks::update_task::UpdateTask,
            crate::tasks::tasks_filter::TasksFilter,
            // kanban
            crate::kanban::list_kanban_boards::ListKanbanBoards,
            crate::kanban::read_kanban_board::ReadKanbanBoard,
            crate::kanban::add_kanban_card::AddKanbanCard,
            crate::kanban::move_kanban_card::MoveKanbanCard,
            // tables
            crate::tables::read_table::ReadTable,
            crate::tables::update_table::UpdateTable,
            // links
            crate::links::get_outgoing_links::GetOutgoingLinks,
            crate::links::get_backlinks::GetBacklinks,
            crate::links::find_orphans::FindOrphans,
            crate::links::find_unresolved_links::FindUnresolvedLinks,
            // graph
            crate::graph::suggest_links::SuggestLinks,
            crate::graph::graph_path_between::GraphPathBetween,
            crate::graph::get_link_strength::GetLinkStrength,
            crate::graph::find_link_cycles::FindLinkCycles,
            crate::graph::graph_centrality::GraphCentrality,
            crate::graph::graph_communities::GraphCommunities,
            crate::graph::vault_health_score::VaultHealthScore,
            // periodic
            crate::periodic::get_periodic_note::GetPeriodicNote,
            crate::periodic::create_periodic_note::CreatePeriodicNote,
            crate::periodic::find_or_create_periodic_note::FindOrCreatePeriodicNote,
            crate::periodic::append_to_periodic_note::AppendToPeriodicNote,
            crate::periodic::list_periodic_notes::ListPeriodicNotes,
            // templates
            crate::templates::list_templates::ListTemplates,
            crate::templates::execute_template::ExecuteTemplate,
            crate::quickadd::list_quickadd_actions::ListQuickaddActions,
            crate::quickadd::trigger_quickadd::TriggerQuickadd,
            // prompts
            crate::prompts::list_prompts::ListPrompts,
            crate::prompts::get_prompt::GetPrompt,
            // bookmarks
            crate::bookmarks::list_bookmarks::ListBookmarks,
            crate::bookmarks::add_bookmark::AddBookmark,
            crate::bookmarks::remove_bookmark::RemoveBookmark,
            // workspaces
            crate::workspaces::list_workspaces::ListWorkspaces,
            // capture
            crate::capture::enqueue_capture::EnqueueCapture,
            crate::capture::list_capture_queue::ListCaptureQueue,
            crate::capture::commit_capture::CommitCapture,
            // memory
            crate::memory::create_entity::CreateEntity,
            crate::memory::get_entity::GetEntity,
            crate::memory::add_observation::AddObservation,
            crate::memory::link_entities::LinkEntities,
            crate::memory::query_entity_graph::QueryEntityGraph,
            // canvas
            crate::canvas::read_canvas::ReadCanvas,
            crate::canvas::create_canvas::CreateCanvas,
            crate::canvas::update_canvas::UpdateCanvas,
            crate::canvas::query_canvas::QueryCanvas,
            // drawings
            crate::excalidraw::read_excalidraw::ReadExcalidraw,
            crate::excalidraw::create_excalidraw::CreateExcalidraw,
            crate::excalidraw::update_excalidraw::UpdateExcalidraw,
            // bases
            crate::bases::read_base::ReadBase,
            crate::bases::create_base::CreateBase,
            crate::bases::update_base::UpdateBase,
            crate::bases::query_base::QueryBase,
            // bundles
            crate::bundles::bundle_folder::BundleFolder,
            crate::bundles::bundle_files::BundleFiles,
            // attachments
            crate::attachments::list_attachments::ListAttachments,
            crate::attachments::get_attachment::GetAttachment,
            crate::attachments::delete_attachment::DeleteAttachment,
            crate::attachments::upload_attachment::UploadAttachment,
            crate::attachments::commit_attachment::CommitAttachment,
            // conflicts
            crate::conflicts::list_conflicts::ListConflicts,
            crate::conflicts::read_conflict::ReadConflict,
            crate::conflicts::resolve_conflict::ResolveConflict,
            // admin
            crate::admin::list_vaults::ListVaults,
            crate::admin::get_vault::GetVault,
            crate::admin::index_vault::IndexVault,
            crate::admin::get_server_config::GetServerConfig,
            crate::admin::get_metrics::GetMetrics,
            crate::admin::server_health::ServerHealth,
            crate::admin::explain_path::ExplainPath,
            crate::admin::generate_uri::GenerateUri,
            crate::admin::reload_vault::ReloadVault,
            crate::admin::reset_vault_cache::ResetVaultCache,
            // sessions
            crate::sessions::start_session::StartSession,
            crate::sessions::end_session::EndSession,
            crate::sessions::get_session_traces::GetSessionTraces,
            // knowledge
            crate::knowledge::vault_graph_search::VaultGraphSearch,
            crate::knowledge::knowledge_challenge::KnowledgeChallenge,
            // obsidian-vault-mcp
            crate::vault_mcp::note_read::NoteRead,
            crate::vault_mcp::note_upsert::NoteUpsert,
            crate::vault_mcp::note_delete::NoteDelete,
            crate::vault_mcp::vault_search::VaultSearch,
            crate::vault_mcp::backlinks_search::BacklinksSearch,
            crate::vault_mcp::graph_neighbors::GraphNeighbors,
            crate::vault_mcp::link_add::LinkAdd,
            // Atlas Guardrails
            crate::guardrails::atlas_index::AtlasIndex,
            crate::guardrails::atlas_pack::AtlasPack,
            crate::guardrails::atlas_find_duplicates::AtlasFindDuplicates,
            // the host and connectors
            crate::admin::vault_sync::VaultSync,
            crate::connector::connector_search::ConnectorSearch,
            crate::connector::connector_fetch::ConnectorFetch,
            // what needs the Obsidian app
            crate::obsidian::ocr_attachment::OcrAttachment,
            crate::obsidian::ocr_bulk::OcrBulk,
            crate::obsidian::makemd::MakemdListSpaces,
            crate::obsidian::makemd::MakemdQuery,
            crate::obsidian::open_workspace::OpenWorkspace,
            crate::obsidian::save_workspace::SaveWorkspace,
            crate::obsidian::list_commands::ListCommands,
            crate::obsidian::execute_command::ExecuteCommand,
            crate::plur::plur_recall::PlurRecall,
            crate::plur::plur_recall_hybrid::PlurRecallHybrid,
            crate::plur::plur_similarity_search::PlurSimilaritySearch,
            crate::plur::plur_get::PlurGet,
        }
    };
}
#[cfg(test)]
pub(crate) use every_operation;

macro_rules! infos {
    ($($operation:path,)*) => { &[$(<$operation>::INFO),*] };
}

/// All operations, in the order of [`operations`].
pub const ALL: &[Info] = every_operation!(infos);

/// An operation that is in the list.
pub trait Listed: Operation {
    /// Its description for doors.
    const ENTRY: &'static Entry;
}

macro_rules! entries {
    ($($operation:path,)*) => {
        $(impl Listed for $operation {
            // A static, not a constant: what it refers to is the whole operation, which each crate with a door would compile again.
            const ENTRY: &'static Entry = {
                static ENTRY: Entry = Entry::of::<$operation>(schemas::of(<$operation>::INFO.name));
                &ENTRY
            };
        })*

        static ENTRIES: &[&Entry] = &[$(<$operation>::ENTRY),*];
    };
}
every_operation!(entries);

/// The operation `O`, for a door. A program holds only the operations that it names so.
pub const fn entry<O: Listed>() -> &'static Entry {
    O::ENTRY
}

/// All operations, for a door that offers every one of them.
pub const fn operations() -> &'static [&'static Entry] {
    ENTRIES
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Info;

    #[test]
    fn each_has_a_name_of_its_own_and_says_what_it_is_about() {
        let names: BTreeSet<&str> = super::ALL.iter().map(|info| info.name).collect();
        assert_eq!(names.len(), super::ALL.len());
        for Info { name, title, description, tags, .. } in super::ALL {
            let is_told = [name, title, description].iter().all(|text| !text.is_empty());
            assert!(is_told && !tags.is_empty(), "{name}");
        }
    }
}
