//! Canvases, as JSON Canvas 1.0 has them (<https://jsoncanvas.org/spec/1.0/>): nodes on a plane, and edges between them. A change leaves every
//! other byte as it is, and fields that this module does not know stay.

mod check;
mod links;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use serde_json::{Map, Value};

use crate::json_text::{JsonError, JsonText, Layout, Member, Span};

use check::{check_edge, check_node};

pub use links::links;

/// The fields of a node or an edge.
pub type Fields = Map<String, Value>;

/// Longest id, in characters.
pub const MAX_ID_CHARS: usize = 200;

/// Why a canvas cannot be read, or not be changed so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CanvasError {
    /// The file is no canvas.
    #[error("the file is no canvas: {0}")]
    File(JsonError),
    /// A node or edge of the change is not allowed.
    #[error("{0}")]
    Change(String),
}

/// Nodes, or edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Nodes,
    Edges,
}

/// A canvas.
#[derive(Debug)]
pub struct Canvas<'a> {
    json: JsonText<'a>,
    members: Vec<Member>,
    nodes: Items,
    edges: Items,
}

/// The nodes or edges of a canvas.
#[derive(Debug, Default)]
struct Items {
    /// Where their array stands.
    array: Option<Span>,
    spans: Vec<Span>,
    fields: Vec<Fields>,
    by_id: HashMap<String, usize>,
}

/// What becomes of a canvas.
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

/// What a change came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// The canvas after it.
    pub text: String,
    /// The ids of the nodes that were added, in their order, …
    pub nodes_added: Vec<String>,
    /// … and of the edges.
    pub edges_added: Vec<String>,
    /// How many nodes went, …
    pub nodes_removed: usize,
    /// … and how many edges, those of removed nodes among them.
    pub edges_removed: usize,
}

impl<'a> Canvas<'a> {
    /// Reads a canvas. A blank file is an empty one.
    ///
    /// # Errors
    /// When it is none, or two nodes or edges have one id: with the place.
    pub fn read(text: &'a str) -> Result<Self, CanvasError> {
        let is_blank = text.trim_start_matches('\u{feff}').trim().is_empty();
        let text = if is_blank { "{}" } else { text };
        let json = JsonText::read(text).map_err(CanvasError::File)?;
        let members = json.members(&json.root()).map_err(CanvasError::File)?;
        let nodes = Items::read(&json, &members, Part::Nodes)?;
        let edges = Items::read(&json, &members, Part::Edges)?;
        Ok(Self { json, members, nodes, edges })
    }

    /// The nodes, in the file's order: the last is in front.
    #[must_use]
    pub fn nodes(&self) -> &[Fields] {
        &self.nodes.fields
    }

    /// The edges, in the file's order.
    #[must_use]
    pub fn edges(&self) -> &[Fields] {
        &self.edges.fields
    }

    /// The canvas after `change`. Ids for what has none are made from `seed`.
    ///
    /// # Errors
    /// When an id is not there, or is there already, or a node or edge would not be allowed.
    pub fn change(mut self, change: &Change, seed: u64) -> Result<Changed, CanvasError> {
        let gone_nodes = self.nodes.places(&change.remove_nodes, Part::Nodes)?;
        let gone: HashSet<&str> = change.remove_nodes.iter().map(String::as_str).collect();
        let mut gone_edges = self.edges.places(&change.remove_edges, Part::Edges)?;
        let hangs = |edge: &Fields| ends(edge).any(|end| gone.contains(end));
        gone_edges.extend((0..).zip(&self.edges.fields).filter(|(_, edge)| hangs(edge)).map(|(at, _)| at));
        gone_edges.sort_unstable();
        gone_edges.dedup();

        let mut ids = Ids { seed, known: self.nodes.by_id.keys().chain(self.edges.by_id.keys()).cloned().collect() };
        let new_nodes = ids.named(&change.add_nodes, Part::Nodes)?;
        let new_edges = ids.named(&change.add_edges, Part::Edges)?;
        for node in &new_nodes {
            check_node(node)?;
        }
        let added: HashSet<&str> = new_nodes.iter().filter_map(id).collect();
        let nodes = &self.nodes;
        let is_node = |id: &str| added.contains(id) || nodes.by_id.contains_key(id) && !gone.contains(id);
        for edge in &new_edges {
            check_edge(edge, is_node)?;
        }
        for node in updated(&self.nodes, &change.update_nodes, &gone_nodes, Part::Nodes)? {
            check_node(&node)?;
        }
        for edge in updated(&self.edges, &change.update_edges, &gone_edges, Part::Edges)? {
            check_edge(&edge, is_node)?;
        }
        let file = |problem| CanvasError::File(problem);
        let json = &mut self.json;
        self.nodes.write(json, &change.update_nodes).map_err(file)?;
        self.edges.write(json, &change.update_edges).map_err(file)?;
        let mut new_members = Vec::new();
        for (items, gone, new, name) in
            [(&self.nodes, &gone_nodes, &new_nodes, "nodes"), (&self.edges, &gone_edges, &new_edges, "edges")]
        {
            let new: Vec<Value> = new.iter().cloned().map(Value::Object).collect();
            match &items.array {
                Some(array) => json.change_elements(array, &items.spans, gone, &new, Layout::OneLine),
                None if new.is_empty() => {}
                None => new_members.push((name, Value::from(new))),
            }
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

/// A new canvas with these, as Obsidian writes it. Ids for what has none are made from `seed`.
///
/// # Errors
/// When a node or edge would not be allowed.
pub fn create(nodes: &[Fields], edges: &[Fields], seed: u64) -> Result<Changed, CanvasError> {
    let change = Change { add_nodes: nodes.to_vec(), add_edges: edges.to_vec(), ..Change::default() };
    let mut changed = Canvas::read("")?.change(&change, seed)?;
    if nodes.is_empty() && edges.is_empty() {
        changed.text = written(&[], &[]);
    }
    Ok(changed)
}

/// A canvas of these, as Obsidian writes it.
fn written(nodes: &[Fields], edges: &[Fields]) -> String {
    let list = |items: &[Fields]| {
        let lines: Vec<String> = items.iter().map(|item| format!("\n\t\t{}", Value::Object(item.clone()))).collect();
        if lines.is_empty() { "[]".to_owned() } else { format!("[{}\n\t]", lines.join(",")) }
    };
    format!("{{\n\t\"nodes\":{},\n\t\"edges\":{}\n}}", list(nodes), list(edges))
}

impl Items {
    fn read(json: &JsonText<'_>, members: &[Member], part: Part) -> Result<Self, CanvasError> {
        let Some(member) = members.iter().rfind(|member| member.name == part.name()) else {
            return Ok(Self::default());
        };
        let spans = json.elements(&member.value).map_err(CanvasError::File)?;
        let mut items =
            Self { array: Some(member.value.clone()), fields: Vec::with_capacity(spans.len()), ..Self::default() };
        for (at, span) in spans.iter().enumerate() {
            let fields: Fields = json.value(span).map_err(CanvasError::File)?;
            let wrong = |message: String| CanvasError::File(JsonError::at(json.text(), span.start, message));
            let Some(id) = id(&fields) else { return Err(wrong(format!("this {part} has no id"))) };
            if items.by_id.insert(id.to_owned(), at).is_some() {
                return Err(wrong(format!("two {}s have the id {id:?}", part)));
            }
            items.fields.push(fields);
        }
        items.spans = spans;
        Ok(items)
    }

    /// Where those with these ids stand, ascending.
    fn places(&self, ids: &[String], part: Part) -> Result<Vec<usize>, CanvasError> {
        let mut places = Vec::with_capacity(ids.len());
        for id in ids {
            places.push(*self.by_id.get(id).ok_or_else(|| missing(id, part))?);
        }
        places.sort_unstable();
        places.dedup();
        Ok(places)
    }

    /// Writes the updated fields of those with these ids.
    fn write(&self, json: &mut JsonText<'_>, updates: &BTreeMap<String, Fields>) -> Result<(), JsonError> {
        for (id, updates) in updates {
            let Some(span) = self.by_id.get(id).and_then(|at| self.spans.get(*at)) else { continue };
            let members = json.members(span)?;
            let mut gone = Vec::new();
            let mut new: Vec<(&str, &Value)> = Vec::new();
            for (name, value) in updates {
                // Of several of one name, the last counts.
                match members.iter().rposition(|member| member.name == *name) {
                    Some(_) if value.is_null() => {
                        gone.extend((0..).zip(&members).filter(|(_, member)| member.name == *name).map(|(at, _)| at));
                    }
                    Some(at) => {
                        if let Some(member) = members.get(at) {
                            json.replace(&member.value, value);
                        }
                    }
                    None if value.is_null() => {}
                    None => new.push((name, value)),
                }
            }
            gone.sort_unstable();
            json.change_members(span, &members, &gone, &new, Layout::OneLine);
        }
        Ok(())
    }
}

/// The fields of those that are updated, as they are then.
fn updated(
    items: &Items,
    updates: &BTreeMap<String, Fields>,
    gone: &[usize],
    part: Part,
) -> Result<Vec<Fields>, CanvasError> {
    let mut all = Vec::with_capacity(updates.len());
    for (id, updates) in updates {
        let at = items.by_id.get(id).filter(|at| gone.binary_search(at).is_err());
        let at = *at.ok_or_else(|| missing(id, part))?;
        let mut fields = items.fields.get(at).cloned().unwrap_or_default();
        if updates.get("id").is_some_and(|new| new.as_str() != Some(id)) {
            return Err(CanvasError::Change(format!("{part} {id:?}: its id cannot be changed")));
        }
        for (name, value) in updates {
            match value {
                Value::Null => drop(fields.shift_remove(name)),
                value => drop(fields.insert(name.clone(), value.clone())),
            }
        }
        all.push(fields);
    }
    Ok(all)
}

fn missing(id: &str, part: Part) -> CanvasError {
    CanvasError::Change(format!("the canvas has no {part} with the id {id:?}"))
}

/// The id of a node or edge.
fn id(fields: &Fields) -> Option<&str> {
    fields.get("id")?.as_str().filter(|id| !id.is_empty())
}

/// The ids of the nodes that an edge is between.
fn ends(edge: &Fields) -> impl Iterator<Item = &str> {
    ["fromNode", "toNode"].into_iter().filter_map(|end| edge.get(end)?.as_str())
}

/// Gives ids.
struct Ids {
    seed: u64,
    known: HashSet<String>,
}

impl Ids {
    /// `items`, each with an id that nothing else has.
    fn named(&mut self, items: &[Fields], part: Part) -> Result<Vec<Fields>, CanvasError> {
        let mut named = Vec::with_capacity(items.len());
        for item in items {
            let mut fields = Fields::new();
            let id = match item.get("id") {
                None | Some(Value::Null) => self.fresh(),
                Some(Value::String(id)) if !id.is_empty() && id.chars().count() <= MAX_ID_CHARS => id.clone(),
                Some(_) => {
                    let message = format!("the id of a {part} is a string of at most {MAX_ID_CHARS} characters");
                    return Err(CanvasError::Change(message));
                }
            };
            if !self.known.insert(id.clone()) {
                return Err(CanvasError::Change(format!(
                    "the canvas has the id {id:?} already: give the {part} another"
                )));
            }
            fields.insert("id".to_owned(), id.into());
            fields.extend(
                item.iter()
                    .filter(|(name, value)| *name != "id" && !value.is_null())
                    .map(|(name, value)| (name.clone(), value.clone())),
            );
            named.push(fields);
        }
        Ok(named)
    }

    /// An id of 16 hexadecimal digits, as Obsidian's.
    fn fresh(&mut self) -> String {
        loop {
            // SplitMix64, whose steps visit every number.
            self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.seed;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let id = format!("{:016x}", mixed ^ (mixed >> 31));
            if !self.known.contains(&id) {
                return id;
            }
        }
    }
}

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Edges => "edges",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nodes => "node",
            Self::Edges => "edge",
        })
    }
}

#[cfg(test)]
mod tests;
