//! `graph_neighbors`: what is one or two links away from a file.

use std::collections::HashMap;

use atlas_access::Access;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arguments::{self, Bounded};
use crate::error::Error;
use crate::graph::{Graph, Node};
use crate::operation::{Answer, Context, Info, Operation, Scope, Touch};
use crate::view::View;

/// The operation.
pub struct GraphNeighbors;

/// Of which file, and how far.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GraphNeighborsRequest")]
pub struct Arguments {
    /// Its path from the root of the vault, with its extension.
    path: String,
    /// How many links away: 1 or 2; 1 if not given.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Bounded<1, 2>")]
    depth: Option<Bounded<1, 2>>,
    /// Most neighbors to return; 100 if not given.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Bounded<1, 1000>")]
    limit: Option<Bounded<1, 1000>>,
}

/// What is around it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GraphNeighborsResponse")]
pub struct Output {
    /// The nearest first; of those as near what it links to, in order of the links, then what links to it, by path.
    neighbors: Vec<Neighbor>,
    /// Targets of its own links that mean no file.
    unresolved: Vec<String>,
    /// Whether there are more neighbors than these.
    truncated: bool,
}

/// A file near another.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Neighbor {
    /// Its path.
    path: String,
    /// How many links away it is.
    depth: usize,
    /// Whether links lead to it, from it, or both, at its last step.
    direction: Direction,
    /// The neighbor in between, if it is two links away.
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<String>,
}

/// Where links lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// To the neighbor.
    Out,
    /// From the neighbor.
    In,
    /// To it and from it.
    Both,
}

const DEFAULT_LIMIT: usize = 100;

impl Operation for GraphNeighbors {
    const INFO: Info = Info {
        name: "graph_neighbors",
        title: "Neighbors in the graph of links",
        description: "Lists the notes and files that are one or two links away from one, in both directions, and which of its links lead nowhere.",
        scopes: &[Scope::ReadVault],
        destructive: false,
        tags: &["links"],
    };
    type Arguments = Arguments;
    type Output = Output;

    fn touches(arguments: &Self::Arguments) -> Result<Vec<Touch>, Error> {
        Ok(vec![(Access::Read, arguments::path("path", &arguments.path)?)])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = arguments::path("path", &arguments.path)?;
        let depth = arguments.depth.map_or(1, Bounded::get);
        let limit = arguments.limit.map_or(DEFAULT_LIMIT, Bounded::get);
        let around = |view: View| {
            let path = &path;
            async move {
                let graph = Graph::fetch(context, view).await?;
                let mut walk = Walk { graph: &graph, limit, places: HashMap::new(), found: Vec::new(), is_cut: false };
                let start = graph.node(path)?;
                walk.places.insert(start.path.clone(), usize::MAX);
                let mut unresolved = walk.step(&start, 1)?;
                unresolved.truncate(limit);
                let nearest = walk.found.len();
                for at in 0..if depth > 1 { nearest } else { 0 } {
                    let node = walk.found.get(at).map(|(node, _)| node.clone());
                    let Some(node) = node.filter(|_| !walk.is_cut) else { break };
                    walk.step(&node, 2)?;
                }
                let is_cut = walk.is_cut;
                let neighbors = walk.found.into_iter().map(|(_, neighbor)| neighbor).collect();
                Ok(Output { neighbors, unresolved, truncated: is_cut })
            }
        };
        context.read(around).await
    }
}

/// Neighbors, as they are found.
struct Walk<'a> {
    graph: &'a Graph,
    limit: usize,
    /// Where each path stands in what was found.
    places: HashMap<String, usize>,
    found: Vec<(Node, Neighbor)>,
    is_cut: bool,
}

impl Walk<'_> {
    /// Adds what is one link away from `node`; gives its targets that mean no file.
    fn step(&mut self, node: &Node, depth: usize) -> Result<Vec<String>, Error> {
        let path = arguments::path("path", &node.path)?;
        let outgoing = self.graph.outgoing(&path, node.document)?;
        let first = self.found.len();
        for next in outgoing.files {
            self.add(node, next, depth, Direction::Out, first);
        }
        for next in self.graph.incoming(&path)? {
            self.add(node, next, depth, Direction::In, first);
        }
        Ok(outgoing.unresolved)
    }

    fn add(&mut self, from: &Node, next: Node, depth: usize, direction: Direction, first: usize) {
        if let Some(place) = self.places.get(&next.path) {
            // It links back.
            if *place >= first
                && let Some((_, known)) = self.found.get_mut(*place)
                && known.direction != direction
            {
                known.direction = Direction::Both;
            }
            return;
        }
        if self.found.len() >= self.limit {
            self.is_cut = true;
            return;
        }
        self.places.insert(next.path.clone(), self.found.len());
        let via = (depth > 1).then(|| from.path.clone());
        let neighbor = Neighbor { path: next.path.clone(), depth, direction, via };
        self.found.push((next, neighbor));
    }
}
