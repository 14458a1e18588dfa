//! Canvases in the format JSON Canvas 1.0 (<https://jsoncanvas.org/spec/1.0/>): nodes on a plane, and edges between
//! them. A change keeps every other byte, and fields unknown to this module.

mod check;
mod links;

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use crate::json_items::{Ids, Items, ItemsError, Noun, id};
use crate::json_text::{JsonError, JsonText, Layout, Member};

use check::{check_edge, check_node};

pub use crate::json_items::Fields;
pub use links::links;

const NODE: Noun = Noun { one: "node", of: "canvas", list: "nodes" };
const EDGE: Noun = Noun { one: "edge", of: "canvas", list: "edges" };
/// The fields that people write.
const TEXTS: [&str; 4] = ["text", "file", "url", "label"];
/// As many hexadecimal digits as Obsidian's ids have.
const ID_DIGITS: usize = 16;

/// Why a canvas cannot be read or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CanvasError {
    /// The file is not a canvas.
    #[error("the file is not a canvas: {0}")]
    File(JsonError),
    /// A node or edge of the change is invalid.
    #[error("{0}")]
    Change(String),
}

/// A canvas.
#[derive(Debug)]
pub struct Canvas<'a> {
    json: JsonText<'a>,
    members: Vec<Member>,
    nodes: Items,
    edges: Items,
}

/// A change of a canvas.
#[derive(Debug, Default)]
pub struct Change {
    /// Nodes to add. One without an `id` gets one.
    pub add_nodes: Vec<Fields>,
    /// Edges to add; likewise.
    pub add_edges: Vec<Fields>,
    /// Ids of nodes to remove; their edges go with them.
    pub remove_nodes: Vec<String>,
    /// Ids of edges to remove.
    pub remove_edges: Vec<String>,
    /// Fields of nodes to set, by id; null removes one.
    pub update_nodes: BTreeMap<String, Fields>,
    /// Fields of edges to set; likewise.
    pub update_edges: BTreeMap<String, Fields>,
}

/// The result of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// The canvas after it.
    pub text: String,
    /// The ids of the nodes that were added, in their order, …
    pub nodes_added: Vec<String>,
    /// … and of the edges.
    pub edges_added: Vec<String>,
    /// The number of removed nodes, …
    pub nodes_removed: usize,
    /// … and of removed edges, including those of removed nodes.
    pub edges_removed: usize,
}

impl<'a> Canvas<'a> {
    /// Reads a canvas. A blank file is an empty one.
    ///
    /// # Errors
    /// When it is not a canvas, or two nodes or edges have one id; with the position.
    pub fn read(text: &'a str) -> Result<Self, CanvasError> {
        let is_blank = text.trim_start_matches('\u{feff}').trim().is_empty();
        let text = if is_blank { "{}" } else { text };
        let json = JsonText::read(text).map_err(CanvasError::File)?;
        let members = json.members(&json.root()).map_err(CanvasError::File)?;
        let nodes = Items::read(&json, &members, NODE)?;
        let edges = Items::read(&json, &members, EDGE)?;
        Ok(Self { json, members, nodes, edges })
    }

    /// The nodes, in the file's order: the last is in front.
    #[must_use]
    pub fn nodes(&self) -> &[Fields] {
        self.nodes.fields()
    }

    /// The edges, in the file's order.
    #[must_use]
    pub fn edges(&self) -> &[Fields] {
        self.edges.fields()
    }

    /// The content of nodes and edges, in lines: their texts, files, addresses and labels. It begins with a blank
    /// line, unless it is empty.
    #[must_use]
    pub fn texts(&self) -> String {
        let mut texts = String::new();
        for item in self.nodes().iter().chain(self.edges()) {
            for text in TEXTS.iter().filter_map(|name| item.get(*name)?.as_str()).filter(|text| !text.trim().is_empty())
            {
                texts.push('\n');
                texts.push_str(text);
            }
        }
        texts
    }

    /// The canvas after `change`. Missing ids are derived from `seed`.
    ///
    /// # Errors
    /// When an id does not exist, or exists already, or a node or edge is invalid.
    pub fn change(mut self, change: &Change, seed: u64) -> Result<Changed, CanvasError> {
        let gone_nodes = self.nodes.places(&change.remove_nodes)?;
        let gone: HashSet<&str> = change.remove_nodes.iter().map(String::as_str).collect();
        let mut gone_edges = self.edges.places(&change.remove_edges)?;
        let hangs = |edge: &Fields| ends(edge).any(|end| gone.contains(end));
        gone_edges.extend((0..).zip(self.edges.fields()).filter(|(_, edge)| hangs(edge)).map(|(at, _)| at));
        gone_edges.sort_unstable();
        gone_edges.dedup();

        let mut ids = Ids::new(seed, ID_DIGITS, self.nodes.ids().chain(self.edges.ids()));
        let new_nodes = ids.named(&change.add_nodes, NODE)?;
        let new_edges = ids.named(&change.add_edges, EDGE)?;
        for node in &new_nodes {
            check_node(node)?;
        }
        let added: HashSet<&str> = new_nodes.iter().filter_map(id).collect();
        let nodes = &self.nodes;
        let is_node = |id: &str| added.contains(id) || nodes.has(id) && !gone.contains(id);
        for edge in &new_edges {
            check_edge(edge, is_node)?;
        }
        for node in self.nodes.updated(&change.update_nodes, &gone_nodes)? {
            check_node(&node)?;
        }
        for edge in self.edges.updated(&change.update_edges, &gone_edges)? {
            check_edge(&edge, is_node)?;
        }
        let json = &mut self.json;
        self.nodes.write(json, &change.update_nodes, Layout::OneLine).map_err(CanvasError::File)?;
        self.edges.write(json, &change.update_edges, Layout::OneLine).map_err(CanvasError::File)?;
        let mut new_members = Vec::new();
        for (items, gone, new) in [(&self.nodes, &gone_nodes, &new_nodes), (&self.edges, &gone_edges, &new_edges)] {
            new_members.extend(items.change(json, gone, new, Layout::OneLine));
        }
        let text = if self.members.is_empty() && !new_members.is_empty() {
            written(&new_nodes, &new_edges)
        } else {
            let root = self.json.root();
            let members: Vec<(&str, &Value)> = new_members.iter().map(|(name, value)| (*name, value)).collect();
            if !members.is_empty() {
                self.json.add_members(&root, &self.members, &members, Layout::OneLine);
            }
            self.json.finish()
        };
        Ok(Changed {
            text,
            nodes_added: new_nodes.iter().filter_map(id).map(str::to_owned).collect(),
            edges_added: new_edges.iter().filter_map(id).map(str::to_owned).collect(),
            nodes_removed: gone_nodes.len(),
            edges_removed: gone_edges.len(),
        })
    }
}

/// A new canvas with these nodes and edges, formatted like Obsidian's. Missing ids are derived from `seed`.
///
/// # Errors
/// When a node or edge is invalid.
pub fn create(nodes: &[Fields], edges: &[Fields], seed: u64) -> Result<Changed, CanvasError> {
    let change = Change { add_nodes: nodes.to_vec(), add_edges: edges.to_vec(), ..Change::default() };
    let mut changed = Canvas::read("")?.change(&change, seed)?;
    if nodes.is_empty() && edges.is_empty() {
        changed.text = written(&[], &[]);
    }
    Ok(changed)
}

/// A canvas with these nodes and edges, formatted like Obsidian's.
fn written(nodes: &[Fields], edges: &[Fields]) -> String {
    let list = |items: &[Fields]| {
        let lines: Vec<String> = items.iter().map(|item| format!("\n\t\t{}", Value::Object(item.clone()))).collect();
        if lines.is_empty() { "[]".to_owned() } else { format!("[{}\n\t]", lines.join(",")) }
    };
    format!("{{\n\t\"nodes\":{},\n\t\"edges\":{}\n}}", list(nodes), list(edges))
}

/// The ids of an edge's two nodes.
fn ends(edge: &Fields) -> impl Iterator<Item = &str> {
    ["fromNode", "toNode"].into_iter().filter_map(|end| edge.get(end)?.as_str())
}

impl From<ItemsError> for CanvasError {
    fn from(error: ItemsError) -> Self {
        match error {
            ItemsError::File(error) => Self::File(error),
            ItemsError::Change(message) => Self::Change(message),
        }
    }
}

#[cfg(test)]
mod tests;
