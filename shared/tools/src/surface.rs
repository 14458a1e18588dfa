//! The tools of obsidian-tc's surface, by domain: those in its `docs/G2.1-tools.md` (103 in 28 domains, revision r2 as
//! shipped in v1.0.2), and the two of its later knowledge domain, which make the 105 of v1.3.

use atlas_ops::Info;

use crate::catalogue;
use crate::plur;
use atlas_access::visibility::NEEDS_APP;

/// The availability of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It works on the vault's files.
    Works,
    /// It needs the Obsidian app: it answers `plugin_missing`.
    NeedsObsidian,
    /// It does not exist here yet.
    NotYet,
}

impl State {
    /// The state of the tool with this name.
    pub fn of(tool: &str) -> Self {
        match catalogue::ALL.iter().find(|info| info.name == tool) {
            Some(info) if info.tags.contains(&NEEDS_APP) => Self::NeedsObsidian,
            Some(_) => Self::Works,
            None => Self::NotYet,
        }
    }

    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::NeedsObsidian => "needs Obsidian",
            Self::NotYet => "not yet",
        }
    }
}

/// Whether an operation needs what a deployment may not have: the Obsidian app, or a service. Where it has not, the operation answers `plugin_missing`
/// and is not listed.
pub fn needs_more(operation: &Info) -> bool {
    [NEEDS_APP, plur::TAG].iter().any(|tag| operation.tags.contains(tag))
}

/// The domains, each with its tools.
pub const DOMAINS: [(&str, &[&str]); 29] = [
    ("Multi-vault registry", &["list_vaults", "get_vault", "reload_vault", "reset_vault_cache"]),
    (
        "Notes",
        &[
            "read_note",
            "read_notes",
            "list_notes",
            "note_exists",
            "write_note",
            "append_note",
            "patch_note",
            "delete_note",
            "move_note",
            "copy_note",
        ],
    ),
    (
        "Properties",
        &["read_frontmatter", "read_property", "update_frontmatter", "list_properties", "find_notes_by_property"],
    ),
    ("Tags", &["list_tags", "get_note_tags", "add_tag", "remove_tag", "find_notes_by_tag"]),
    (
        "Links",
        &[
            "get_outgoing_links",
            "get_backlinks",
            "find_orphans",
            "find_unresolved_links",
            "rewrite_link",
            "prune_hub_links",
        ],
    ),
    (
        "Search",
        &[
            "search_vault",
            "search_text",
            "search_regex",
            "search_semantic",
            "search_jsonlogic",
            "search_dql",
            "index_vault",
        ],
    ),
    ("Bases", &["read_base", "create_base", "update_base", "query_base"]),
    ("Canvas", &["read_canvas", "create_canvas", "update_canvas", "query_canvas"]),
    ("Excalidraw", &["read_excalidraw", "create_excalidraw", "update_excalidraw"]),
    ("Dataview", &["validate_dql", "eval_dataview_field"]),
    ("Tasks", &["list_tasks", "update_task", "tasks_filter"]),
    (
        "Periodic notes",
        &[
            "get_periodic_note",
            "create_periodic_note",
            "find_or_create_periodic_note",
            "append_to_periodic_note",
            "list_periodic_notes",
        ],
    ),
    ("Templater", &["list_templates", "execute_template"]),
    ("QuickAdd", &["list_quickadd_actions", "trigger_quickadd"]),
    ("OCR", &["ocr_attachment", "ocr_bulk"]),
    ("Bundles", &["bundle_folder", "bundle_files"]),
    ("make.md", &["makemd_list_spaces", "makemd_query"]),
    ("Workspaces", &["list_workspaces", "open_workspace", "save_workspace"]),
    ("Bookmarks", &["list_bookmarks", "add_bookmark", "remove_bookmark"]),
    ("Attachments", &["list_attachments", "get_attachment", "move_attachment", "delete_attachment"]),
    ("Capture", &["enqueue_capture", "list_capture_queue", "commit_capture"]),
    ("Memory entities", &["create_entity", "get_entity", "add_observation", "link_entities", "query_entity_graph"]),
    ("Sessions", &["start_session", "end_session", "get_session_traces"]),
    ("plur", &["plur_recall", "plur_recall_hybrid", "plur_similarity_search", "plur_get"]),
    ("Bulk", &["bulk_create_notes", "bulk_set_property", "bulk_move_notes"]),
    ("Commands", &["list_commands", "execute_command"]),
    ("URIs", &["generate_uri"]),
    ("Admin", &["get_server_config", "inspect_acl", "get_metrics", "server_health"]),
    ("Knowledge", &["vault_graph_search", "knowledge_challenge"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn there_are_as_many_as_the_surface_has() {
        let tools: BTreeSet<&str> = DOMAINS.iter().flat_map(|(_, tools)| *tools).copied().collect();
        assert_eq!(tools.len(), 105);
        let needing = catalogue::ALL.iter().filter(|info| info.tags.contains(&NEEDS_APP));
        assert!(needing.clone().all(|info| tools.contains(info.name)));
        assert_eq!(needing.count(), 8, "97 need no Obsidian");
    }
}
