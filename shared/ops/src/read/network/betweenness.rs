//! Betweenness (Brandes, 2001), and its estimate from some of the nodes (Brandes and Pich, 2007).

use super::Edges;

/// The betweenness of nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Betweenness {
    /// For each node, the share of pairs of other nodes whose shortest paths it is on, from 0 to 1.
    pub scores: Vec<f64>,
    /// The number of nodes from which paths were searched: all, else the scores are estimates.
    pub sources: usize,
}

/// Most edges that are followed. In larger graphs, paths are searched from some nodes only.
const MAX_STEPS: usize = 20_000_000;
/// The least number of source nodes.
const MIN_SOURCES: usize = 32;

/// The betweenness of each node. Edges are followed in both directions.
pub fn betweenness(edges: &Edges) -> Betweenness {
    of_sources(edges, MAX_STEPS / (2 * edges.edge_count() + edges.node_count()).max(1))
}

/// Like [`betweenness`], from at most `max` evenly spaced nodes.
pub(super) fn of_sources(edges: &Edges, max: usize) -> Betweenness {
    let near = adjacency(edges);
    let count = near.len();
    let sources = count.min(max.max(MIN_SOURCES));
    let mut scores = vec![0.0; count];
    let mut walk = Walk::new(count);
    for source in (0..sources).map(|index| index * count / sources.max(1)) {
        walk.add(&near, source, &mut scores);
    }
    let pairs = count.saturating_sub(1) as f64 * count.saturating_sub(2) as f64;
    let scale = if pairs > 0.0 { count as f64 / sources.max(1) as f64 / pairs } else { 0.0 };
    scores.iter_mut().for_each(|score| *score *= scale);
    Betweenness { scores, sources }
}

/// The neighbours of each node, each once.
fn adjacency(edges: &Edges) -> Vec<Vec<usize>> {
    let near = |node| {
        let mut near: Vec<usize> = edges.neighbors_undirected(node).map(|node| node.index()).collect();
        near.sort_unstable();
        near.dedup();
        near
    };
    edges.node_indices().map(near).collect()
}

/// The state of each node while paths from one source are searched.
struct Walk {
    /// The nodes in the order in which they were reached.
    reached: Vec<usize>,
    /// The distance from the source, from 1; 0 if not reached.
    distance: Vec<u32>,
    /// The number of shortest paths to the node.
    ways: Vec<f64>,
    /// The share of the paths to all others that contains the node.
    share: Vec<f64>,
}

impl Walk {
    fn new(count: usize) -> Self {
        Self { reached: Vec::new(), distance: vec![0; count], ways: vec![0.0; count], share: vec![0.0; count] }
    }

    /// Adds the paths from `source` to the `scores`.
    #[allow(clippy::indexing_slicing, reason = "every node has a place in each list, and neighbors are nodes")]
    fn add(&mut self, near: &[Vec<usize>], source: usize, scores: &mut [f64]) {
        let Self { reached, distance, ways, share } = self;
        (distance[source], ways[source]) = (1, 1.0);
        reached.push(source);
        let mut at = 0;
        while let Some(node) = reached.get(at).copied() {
            at += 1;
            for next in near[node].iter().copied() {
                if distance[next] == 0 {
                    distance[next] = distance[node] + 1;
                    reached.push(next);
                }
                if distance[next] == distance[node] + 1 {
                    ways[next] += ways[node];
                }
            }
        }
        for node in reached.iter().copied().rev() {
            for before in near[node].iter().copied().filter(|before| distance[*before] + 1 == distance[node]) {
                share[before] += ways[before] / ways[node] * (1.0 + share[node]);
            }
            if node != source {
                scores[node] += share[node];
            }
        }
        for node in reached.drain(..) {
            (distance[node], ways[node], share[node]) = (0, 0.0, 0.0);
        }
    }
}
