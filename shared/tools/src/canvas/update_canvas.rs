//! `update_canvas`: adds, removes and changes nodes and edges of a canvas, and keeps every other byte.

use std::collections::BTreeMap;

use atlas_access::Access;
use atlas_ops::arguments::{Given, Versions};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::write::editing;
use atlas_ops::write::precondition::Condition;
use atlas_vault::canvas::{Canvas, Change, Fields};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_REMOVED, path, refused, seed};
use crate::formats::check_count;

/// Changes a canvas.
pub struct UpdateCanvas;

/// The canvas, and its changes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault; it ends in `.canvas`.
    path: String,
    /// Nodes to add, in front of the others: as for create_canvas; none if not given.
    #[serde(default)]
    add_nodes: Vec<Fields>,
    /// Edges to add: as for create_canvas; none if not given.
    #[serde(default)]
    add_edges: Vec<Fields>,
    /// Ids of nodes to remove, with their edges; none if not given.
    #[serde(default)]
    remove_node_ids: Vec<String>,
    /// Ids of edges to remove; none if not given.
    #[serde(default)]
    remove_edge_ids: Vec<String>,
    /// Fields to set, by the id of their node; null removes a field; none if not given.
    #[serde(default)]
    update_nodes: BTreeMap<String, Fields>,
    /// Fields to set, by the id of their edge; null removes a field; none if not given.
    #[serde(default)]
    update_edges: BTreeMap<String, Fields>,
    #[serde(default)]
    if_match: Given<Versions>,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The canvas's path.
    path: String,
    /// When it was last changed: now, unless nothing changed.
    #[schemars(with = "String", extend("format" = "date-time"))]
    updated_at: Timestamp,
    /// The number of changed nodes and edges.
    applied: Applied,
    /// The ids of the added nodes, in the order of the argument.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    added_node_ids: Vec<String>,
    /// SHA-256 of the file, in hex.
    content_hash: String,
}

/// The number of changed nodes and edges.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Applied {
    nodes_added: usize,
    nodes_removed: usize,
    nodes_updated: usize,
    edges_added: usize,
    /// Including those of removed nodes.
    edges_removed: usize,
    edges_updated: usize,
}

impl Operation for UpdateCanvas {
    const INFO: Info = Info {
        name: "update_canvas",
        title: "Change a canvas",
        description: "Adds, removes and changes nodes and edges of a canvas by their ids, and keeps every other byte of the file. Read the ids with read_canvas. A person has to confirm the removal of more than 10 nodes. Example: {\"path\": \"Boards/Plan.canvas\", \"update_nodes\": {\"a\": {\"color\": \"4\"}}, \"add_edges\": [{\"fromNode\": \"a\", \"toNode\": \"b\"}]}",
        // The result reveals the canvas's content.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        destructive: true,
        tags: &["canvas"],
        aliases: &[Alias::Name("prev_hash", "if_match")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, path("path", &arguments.path)?)])
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        arguments.remove_node_ids.len() > MAX_REMOVED
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = path("path", &arguments.path)?;
        let Arguments {
            add_nodes,
            add_edges,
            remove_node_ids,
            remove_edge_ids,
            update_nodes,
            update_edges,
            if_match,
            ..
        } = arguments;
        let condition = Condition::of_existing(if_match.as_ref())?;
        for (field, count) in [
            ("add_nodes", add_nodes.len()),
            ("add_edges", add_edges.len()),
            ("remove_node_ids", remove_node_ids.len()),
            ("remove_edge_ids", remove_edge_ids.len()),
            ("update_nodes", update_nodes.len()),
            ("update_edges", update_edges.len()),
        ] {
            check_count(field, count)?;
        }
        let (nodes_updated, edges_updated) = (update_nodes.len(), update_edges.len());
        let change = Change {
            add_nodes,
            add_edges,
            remove_nodes: remove_node_ids,
            remove_edges: remove_edge_ids,
            update_nodes,
            update_edges,
        };
        let edit = |before: &str| {
            let canvas = Canvas::read(before).map_err(|error| refused(&path, &error))?;
            let changed = canvas.change(&change, seed(&path, before)).map_err(|error| refused(&path, &error))?;
            let applied = Applied {
                nodes_added: changed.nodes_added.len(),
                nodes_removed: changed.nodes_removed,
                nodes_updated,
                edges_added: changed.edges_added.len(),
                edges_removed: changed.edges_removed,
                edges_updated,
            };
            Ok((changed.text, (applied, changed.nodes_added)))
        };
        let Answer { value: edited, generation } = editing::edit(context, &Self::INFO, &path, &condition, edit).await?;
        let (applied, added_node_ids) = edited.told;
        let value = Output {
            path: path.as_str().to_owned(),
            updated_at: edited.updated_at,
            applied,
            added_node_ids,
            content_hash: edited.content_hash.to_string(),
        };
        Ok(Answer { value, generation })
    }
}
