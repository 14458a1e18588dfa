//! The notes of a snapshot and the links between them as a numbered graph, for questions about the whole.

pub mod betweenness;
pub mod communities;
pub mod cycles;
pub mod page_rank;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use atlas_mirror::{SegmentId, Snapshot};
use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::read::index::DocumentRef;
use crate::read::network::betweenness::Betweenness;
use crate::read::network::communities::Communities;

/// Nodes are numbered from 0. There is at most one edge from one node to another, and none from a node to itself.
pub type Edges = DiGraph<(), ()>;

/// A file with links (a note, a canvas or a base), by its index among them all, which are sorted by path.
pub type Node = u32;

/// The files of a snapshot that have links, and the links between them, as a caller sees them.
pub struct Network {
    documents: Vec<DocumentRef>,
    nodes: HashMap<DocumentRef, Node>,
    edges: Edges,
    page_rank: OnceLock<Vec<f64>>,
    betweenness: OnceLock<Betweenness>,
    communities: OnceLock<Communities>,
}

/// The cached network of the newest generation, for callers who see all of it.
#[derive(Default)]
pub(crate) struct Networks(Mutex<Option<(Key, Arc<Network>)>>);

/// The identity of a network: its generation, and its segments.
type Key = (u64, Vec<SegmentId>);

impl Networks {
    /// The network of a snapshot, if it is cached.
    pub(crate) fn get(&self, snapshot: &Snapshot) -> Option<Arc<Network>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|(known, _)| *known == key(snapshot)).map(|(_, network)| network.clone())
    }

    /// Drops it.
    pub(crate) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Keeps the network of a snapshot, in place of the one before.
    pub(crate) fn keep(&self, snapshot: &Snapshot, network: &Arc<Network>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((key(snapshot), network.clone()));
    }
}

fn key(snapshot: &Snapshot) -> Key {
    (snapshot.generation(), snapshot.segments().iter().map(|entry| entry.id).collect())
}

impl Network {
    /// The network of `documents`, by path. In each pair of `links` the first links to the second.
    pub(crate) fn new(
        documents: Vec<DocumentRef>,
        links: impl IntoIterator<Item = (DocumentRef, DocumentRef)>,
    ) -> Self {
        let nodes: HashMap<DocumentRef, Node> = documents.iter().copied().zip(0..).collect();
        let pair = |(from, to): (DocumentRef, DocumentRef)| Some((*nodes.get(&from)?, *nodes.get(&to)?));
        let links = links.into_iter().filter_map(pair).filter(|(from, to)| from != to);
        let edges = edges(documents.len(), links.collect());
        let (page_rank, betweenness, communities) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { documents, nodes, edges, page_rank, betweenness, communities }
    }

    /// Number of files.
    pub const fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether it has no files.
    pub const fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Number of ordered pairs of files of which the first links to the second.
    pub fn edge_count(&self) -> usize {
        self.edges.edge_count()
    }

    /// Its files, by path.
    pub fn documents(&self) -> &[DocumentRef] {
        &self.documents
    }

    /// The node of a file, if it has links or could have some.
    pub fn node(&self, document: DocumentRef) -> Option<Node> {
        self.nodes.get(&document).copied()
    }

    /// The file of a node.
    pub fn document(&self, node: Node) -> Option<DocumentRef> {
        self.documents.get(node as usize).copied()
    }

    /// The targets of a file's links, ascending.
    pub fn outgoing(&self, node: Node) -> impl Iterator<Item = Node> {
        neighbors(&self.edges, node, Direction::Outgoing)
    }

    /// The files that link to a file, ascending.
    pub fn incoming(&self, node: Node) -> impl Iterator<Item = Node> {
        neighbors(&self.edges, node, Direction::Incoming)
    }

    /// A shortest path between two files, with both ends; [`None`] if there is none. With `is_directed` each file links
    /// to the next; else links count in both directions.
    pub fn path(&self, from: Node, to: Node, is_directed: bool) -> Option<Vec<Node>> {
        shortest_path(
            from,
            self.len(),
            |node| node == to,
            |node, visit| {
                self.outgoing(node).for_each(&mut *visit);
                if !is_directed {
                    self.incoming(node).for_each(visit);
                }
            },
        )
    }

    /// The PageRank of each file; the sum is 1.
    pub fn page_rank(&self) -> &[f64] {
        self.page_rank.get_or_init(|| page_rank::page_rank(&self.edges))
    }

    /// The betweenness of each file: how often it is on shortest paths between others.
    pub fn betweenness(&self) -> &Betweenness {
        self.betweenness.get_or_init(|| betweenness::betweenness(&self.edges))
    }

    /// Groups of files that link to each other more than to others.
    pub fn communities(&self) -> &Communities {
        self.communities.get_or_init(|| communities::communities(&self.edges))
    }

    /// At most `limit` cycles of links: see [`cycles::cycles`].
    pub fn cycles(&self, limit: usize) -> cycles::Cycles {
        cycles::cycles(&self.edges, limit)
    }
}

/// Edges between `count` nodes, each once.
fn edges(count: usize, mut links: Vec<(Node, Node)>) -> Edges {
    links.sort_unstable();
    links.dedup();
    let mut edges = Edges::with_capacity(count, links.len());
    for _ in 0..count {
        edges.add_node(());
    }
    // petgraph iterates over a node's edges in reverse order of insertion.
    for (from, to) in links.into_iter().rev() {
        edges.add_edge(NodeIndex::new(from as usize), NodeIndex::new(to as usize), ());
    }
    edges
}

fn neighbors(edges: &Edges, node: Node, direction: Direction) -> impl Iterator<Item = Node> {
    let known = (node as usize) < edges.node_count();
    let all = known.then(|| edges.neighbors_directed(NodeIndex::new(node as usize), direction));
    all.into_iter().flatten().map(number)
}

fn number(node: NodeIndex) -> Node {
    node.index() as Node
}

/// A shortest path from `from` to the first node that `is_end`; [`None`] if there is none. `next` visits a node's
/// neighbours.
fn shortest_path(
    from: Node,
    count: usize,
    is_end: impl Fn(Node) -> bool,
    next: impl Fn(Node, &mut dyn FnMut(Node)),
) -> Option<Vec<Node>> {
    let mut before = vec![Node::MAX; count];
    *before.get_mut(from as usize)? = from;
    let mut queue = vec![from];
    let mut at = 0;
    while let Some(node) = queue.get(at).copied() {
        if is_end(node) {
            let mut path = vec![node];
            while let Some(last) = path.last().copied().filter(|last| *last != from) {
                path.push(*before.get(last as usize)?);
            }
            path.reverse();
            return Some(path);
        }
        at += 1;
        next(node, &mut |near| {
            if let Some(place) = before.get_mut(near as usize).filter(|place| **place == Node::MAX) {
                *place = node;
                queue.push(near);
            }
        });
    }
    None
}

#[cfg(test)]
mod tests;
