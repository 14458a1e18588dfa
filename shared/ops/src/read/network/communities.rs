//! Communities by the Louvain method (Blondel and others, 2008): groups of nodes with more edges among them than chance would give.

use petgraph::visit::EdgeRef as _;

use super::{Edges, Node};

/// The groups of a graph's nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Communities {
    /// The nodes of each group, ascending: the largest group first, then by its first node.
    pub groups: Vec<Vec<Node>>,
    /// The share of edges within groups above what chance would give: from -0.5 to 1.
    pub modularity: f64,
}

const MAX_LEVELS: usize = 20;
const MAX_ROUNDS: usize = 50;
/// The least gain for which a node changes its group.
const LEAST_GAIN: f64 = 1e-12;

/// The communities of a graph, whose edges count in both directions. The result is deterministic.
pub fn communities(edges: &Edges) -> Communities {
    let mut weighted = Weighted::of(edges);
    // The group of each node of the graph.
    let mut group: Vec<usize> = (0..edges.node_count()).collect();
    for _ in 0..MAX_LEVELS {
        let (moved, count) = weighted.moved();
        if count == weighted.near.len() {
            break;
        }
        for group in &mut group {
            *group = moved.get(*group).copied().unwrap_or(*group);
        }
        weighted = weighted.merged(&moved, count);
    }
    let mut groups = vec![Vec::new(); weighted.near.len()];
    for (node, group) in (0..).zip(&group) {
        groups.get_mut(*group).into_iter().for_each(|members| members.push(node));
    }
    groups.sort_by_key(|members: &Vec<Node>| (std::cmp::Reverse(members.len()), members.first().copied()));
    Communities { groups, modularity: weighted.modularity() }
}

/// An undirected graph with weights.
struct Weighted {
    /// The neighbours of each node, ascending, and the weights of the edges to them.
    near: Vec<Vec<(usize, f64)>>,
    /// Twice the weight of each node's edges to itself.
    own: Vec<f64>,
    /// Twice the weight of all edges.
    total: f64,
}

impl Weighted {
    fn of(edges: &Edges) -> Self {
        let mut near = vec![Vec::new(); edges.node_count()];
        for edge in edges.edge_references() {
            let (from, to) = (edge.source().index(), edge.target().index());
            for (node, other) in [(from, to), (to, from)] {
                near.get_mut(node).into_iter().for_each(|near: &mut Vec<(usize, f64)>| near.push((other, 1.0)));
            }
        }
        near.iter_mut().for_each(sum_up);
        Self { own: vec![0.0; near.len()], near, total: 2.0 * edges.edge_count() as f64 }
    }

    fn degree(&self, node: usize) -> f64 {
        let near = self.near.get(node).map_or(0.0, |near| near.iter().map(|(_, weight)| weight).sum());
        near + self.own.get(node).copied().unwrap_or_default()
    }

    /// The group of each node after nodes moved to where they gain most, and the number of groups.
    #[allow(clippy::indexing_slicing, reason = "every node has a place in each list; groups are numbered as nodes are")]
    fn moved(&self) -> (Vec<usize>, usize) {
        let count = self.near.len();
        let degrees: Vec<f64> = (0..count).map(|node| self.degree(node)).collect();
        let mut group: Vec<usize> = (0..count).collect();
        let mut degree_of = degrees.clone();
        let mut weight_to = vec![0.0; count];
        let mut seen = Vec::new();
        for _ in 0..MAX_ROUNDS {
            let mut is_settled = true;
            for node in 0..count {
                let own = group[node];
                seen.push(own);
                for (other, weight) in &self.near[node] {
                    let other = group[*other];
                    if weight_to[other] == 0.0 && other != own {
                        seen.push(other);
                    }
                    weight_to[other] += weight;
                }
                degree_of[own] -= degrees[node];
                let gain = |to: usize| weight_to[to] - degree_of[to] * degrees[node] / self.total.max(1.0);
                let mut best = own;
                for other in seen.iter().copied() {
                    if gain(other) > gain(best) + LEAST_GAIN {
                        best = other;
                    }
                }
                degree_of[best] += degrees[node];
                is_settled &= best == own;
                group[node] = best;
                seen.drain(..).for_each(|group| weight_to[group] = 0.0);
            }
            if is_settled {
                break;
            }
        }
        let mut numbers = vec![usize::MAX; count];
        let mut groups = 0;
        for group in &mut group {
            if numbers[*group] == usize::MAX {
                numbers[*group] = groups;
                groups += 1;
            }
            *group = numbers[*group];
        }
        (group, groups)
    }

    /// The graph whose nodes are the groups of this one.
    fn merged(&self, group: &[usize], count: usize) -> Self {
        let mut merged = Self { near: vec![Vec::new(); count], own: vec![0.0; count], total: self.total };
        for ((own, near), from) in self.own.iter().zip(&self.near).zip(group) {
            let (Some(merged_own), Some(merged_near)) = (merged.own.get_mut(*from), merged.near.get_mut(*from)) else {
                continue;
            };
            *merged_own += own;
            for (other, weight) in near {
                match group.get(*other) {
                    Some(to) if to == from => *merged_own += weight,
                    Some(to) => merged_near.push((*to, *weight)),
                    None => {}
                }
            }
        }
        merged.near.iter_mut().for_each(sum_up);
        merged
    }

    /// The modularity if each node is its own group.
    fn modularity(&self) -> f64 {
        if self.total == 0.0 {
            return 0.0;
        }
        let of = |node: usize| {
            let within = self.own.get(node).copied().unwrap_or_default() / self.total;
            within - (self.degree(node) / self.total).powi(2)
        };
        (0..self.near.len()).map(of).sum()
    }
}

/// Merges the edges to the same neighbour.
fn sum_up(near: &mut Vec<(usize, f64)>) {
    near.sort_unstable_by_key(|(node, _)| *node);
    near.dedup_by(|(node, weight), (kept, sum)| {
        let is_same = node == kept;
        if is_same {
            *sum += *weight;
        }
        is_same
    });
}
