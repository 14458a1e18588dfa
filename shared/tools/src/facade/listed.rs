//! The tools of each facade.

use std::collections::BTreeMap;

use atlas_ops::Entry;
use atlas_ops::arguments::VAULT;

use super::{Facade, Tool, Toolbox, capabilities, compact, of};

/// Operations by name, each with the rarely used arguments that a short list omits; `find_capability` shows them.
pub(super) type Chosen = &'static [(&'static str, &'static [&'static str])];

/// The tools to read and write notes.
pub(super) const AGENT: Chosen = &[
    ("search", &["explain"]),
    ("read_note", &["include_content", "include_frontmatter", "include_stats"]),
    ("list_notes", &["include_folders", "extensions", "prefix"]),
    ("get_backlinks", &["include_embeds"]),
    ("find_notes_by_property", &["nested"]),
    ("list_tasks", &[]),
    ("context_current", &["max_sources"]),
    ("note_history", &[]),
    ("write_note", &["create_dirs", "elicit_token", "if_none_match", "mode", "expected_hash", "session"]),
    ("append_note", &["after_frontmatter", "elicit_token", "ensure_newline", "message", "session"]),
    ("patch_note", &["elicit_token", "message", "session", "target_heading"]),
    ("update_frontmatter", &["elicit_token", "idempotency_key", "properties", "session"]),
    ("move_note", &["elicit_token", "idempotency_key", "message", "overwrite_target", "session"]),
    ("delete_note", &["elicit_token", "idempotency_key", "message", "session"]),
];

/// The tools of obsidian-vault-mcp.
pub(super) const VAULT_MCP: Chosen = &[
    ("note_read", &[]),
    ("note_upsert", &[]),
    ("note_delete", &[]),
    ("vault_search", &[]),
    ("backlinks_search", &[]),
    ("graph_neighbors", &[]),
    ("link_add", &[]),
    ("vault_sync", &[]),
];

/// The tools for a folder of code.
pub(super) const CODE: Chosen = &[
    ("atlas_pack", &[]),
    ("atlas_find_duplicates", &[]),
    ("search", &["explain"]),
    ("read_note", &["generation", "include_content", "include_frontmatter", "include_stats"]),
    ("atlas_index", &[]),
];

/// The names that chat connectors expect, and their operations.
const CONNECTOR: [(&str, &str); 2] = [("search", "connector_search"), ("fetch", "connector_fetch")];

/// The operation of a chat connector's name.
pub(super) fn of_connector(name: &str) -> Option<&'static str> {
    CONNECTOR.iter().find(|(shown, _)| *shown == name).map(|(_, operation)| *operation)
}

impl Toolbox<'_> {
    /// The tools listed for the caller.
    pub fn listed(&self) -> Vec<Tool> {
        let with = |tools: Vec<Tool>, others: &[&str]| {
            let others = others.iter().filter_map(|name| capabilities::tool(self, name));
            tools.into_iter().chain(others).collect()
        };
        match self.facade {
            Facade::Agent => with(self.chosen(AGENT), &[capabilities::FIND, capabilities::CALL]),
            Facade::VaultMcp => self.chosen(VAULT_MCP),
            Facade::Code => self.chosen(CODE),
            Facade::Triad => with(Vec::new(), &[capabilities::FIND, capabilities::DESCRIBE, capabilities::CALL]),
            Facade::Domain => {
                let domains = self.domains();
                let domains = domains.iter().map(|(tag, members)| capabilities::of_domain(tag, members)).collect();
                with(domains, &[capabilities::DESCRIBE])
            }
            Facade::Connector => CONNECTOR
                .iter()
                .filter_map(|(name, operation)| Some((name, self.shown().find(|entry| entry.info.name == *operation)?)))
                .map(|(name, entry)| Tool { name: (*name).to_owned(), ..of(entry) })
                .collect(),
            Facade::Flat => self.shown().map(of).collect(),
        }
    }

    /// Those of `chosen` that the caller may call, in short form.
    fn chosen(&self, chosen: Chosen) -> Vec<Tool> {
        let tool = |(name, rare): &(&str, &[&str])| {
            let entry = self.shown().find(|entry| entry.info.name == *name)?;
            Some(self.compact(entry, rare))
        };
        chosen.iter().filter_map(tool).collect()
    }

    /// The tool of `entry`, without `rare` arguments and other fields that an agent does not need.
    pub(super) fn compact(&self, entry: &Entry, rare: &[&str]) -> Tool {
        let tool = of(entry);
        let names_vault = self.vaults().nth(1).is_some();
        let input = compact::schema(tool.input, |name| !rare.contains(&name) && (name != VAULT || names_vault));
        Tool { input, output: None, ..tool }
    }

    /// The listed operations, by tag.
    pub(super) fn domains(&self) -> BTreeMap<&'static str, Vec<&'static Entry>> {
        let mut domains: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for entry in self.shown() {
            for tag in entry.info.tags {
                domains.entry(*tag).or_default().push(entry);
            }
        }
        domains
    }
}
