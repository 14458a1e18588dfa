//! `graph_neighbors`: the files one or two links away from a file.

use std::collections::HashMap;

use atlas_access::Access;
use atlas_ops::arguments::{self, Bounded, ReadPath};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::graph::Graph;
use atlas_ops::read::index::DocumentRef;
use atlas_ops::read::view::View;
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lists the notes and files that are one or two links away from one, in both directions, and its unresolved links.
pub struct GraphNeighbors;

/// The file, and the distance.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault, with its extension.
    path: ReadPath,
    /// The distance in links: 1 or 2; 1 if not given.
    #[serde(default)]
    depth: Bounded<1, 2>,
    /// Most neighbors to return; 100 if not given.
    #[serde(default)]
    limit: Bounded<1, 1000, 100>,
}

/// Its neighbours.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The nearest first; at the same distance first link targets, in order of the links, then linking notes, by path.
    neighbors: Vec<Neighbor>,
    /// Targets of its own links without a file, as many as `limit` at most.
    unresolved: Vec<String>,
    /// Whether there are more of these.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unresolved_truncated: bool,
    /// Whether there are more neighbors.
    truncated: bool,
}

/// A file near another.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Neighbor {
    /// Its path.
    path: String,
    /// Its distance in links.
    depth: usize,
    /// Whether links lead to it, from it, or both, at its last step.
    direction: Direction,
    /// The neighbor in between, if it is two links away.
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<String>,
}

/// The direction of links.
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

impl Operation for GraphNeighbors {
    const INFO: Info = Info {
        name: "graph_neighbors",
        title: "Neighbors in the graph of links",
        description: "Lists the notes and files that are one or two links away from one, in both directions, and its unresolved links. Example: {\"path\": \"Projects/Atlas.md\"}",
        scopes: &[Scope::ReadVault],
        tags: &["links"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let depth = arguments.depth.get();
        let limit = arguments.limit.get();
        let around = |view: View| {
            let path = &path;
            async move {
                let graph = Graph::fetch(context, view).await?;
                let start = graph.file(path)?;
                let places = HashMap::from([(start, usize::MAX)]);
                let mut walk = Walk { graph: &graph, limit, places, found: Vec::new(), is_cut: false };
                let mut unresolved = walk.step(path.as_str(), start, 1)?;
                let unresolved_truncated = unresolved.len() > limit;
                unresolved.truncate(limit);
                let nearest = if depth > 1 { walk.found.len() } else { 0 };
                for at in 0..nearest {
                    let near = walk.found.get(at).map(|(document, near)| (*document, near.path.clone()));
                    let Some((document, path)) = near.filter(|_| !walk.is_cut) else { break };
                    walk.step(&path, document, 2)?;
                }
                let is_cut = walk.is_cut;
                let neighbors = walk.found.into_iter().map(|(_, neighbor)| neighbor).collect();
                Ok(Output { neighbors, unresolved, unresolved_truncated, truncated: is_cut })
            }
        };
        context.read(around).await
    }
}

/// Neighbours while they are found.
struct Walk<'a> {
    graph: &'a Graph,
    limit: usize,
    /// The index of each file in the result.
    places: HashMap<DocumentRef, usize>,
    found: Vec<(DocumentRef, Neighbor)>,
    is_cut: bool,
}

impl Walk<'_> {
    /// Adds the neighbours of the file at `from`; returns its targets without a file, up to one more than the limit.
    fn step(&mut self, from: &str, document: DocumentRef, depth: usize) -> Result<Vec<String>, Error> {
        let path = arguments::path("path", from)?;
        let graph = self.graph;
        let first = self.found.len();
        let mut unresolved = Vec::new();
        for target in graph.targets(document) {
            // Its file would not be added.
            if self.is_cut && graph.leads_somewhere(target)? {
                continue;
            }
            match graph.meant(target, &path)? {
                Some(next) => self.add(from, next, depth, Direction::Out, first)?,
                None if unresolved.len() <= self.limit => unresolved.push(target.to_owned()),
                None => {}
            }
            // The neighbours' own links are not needed any more.
            if self.is_cut && depth > 1 {
                return Ok(unresolved);
            }
            if self.is_cut && unresolved.len() > self.limit {
                break;
            }
        }
        for next in graph.incoming(&path, document)? {
            self.add(from, next, depth, Direction::In, first)?;
        }
        Ok(unresolved)
    }

    fn add(
        &mut self,
        from: &str,
        next: DocumentRef,
        depth: usize,
        direction: Direction,
        first: usize,
    ) -> Result<(), Error> {
        if let Some(place) = self.places.get(&next) {
            // It links back.
            if *place >= first
                && let Some((_, known)) = self.found.get_mut(*place)
                && known.direction != direction
            {
                known.direction = Direction::Both;
            }
            return Ok(());
        }
        if self.found.len() >= self.limit {
            self.is_cut = true;
            return Ok(());
        }
        self.places.insert(next, self.found.len());
        let via = (depth > 1).then(|| from.to_owned());
        self.found.push((next, Neighbor { path: self.graph.path(next)?, depth, direction, via }));
        Ok(())
    }
}
