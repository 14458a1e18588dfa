//! Cycles of edges.

use petgraph::algo::kosaraju_scc;

use super::{Edges, Node, neighbors, number, shortest_path};

/// The cycles of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycles {
    /// The nodes of each cycle, from its least; none twice. The last has an edge to the first.
    pub cycles: Vec<Vec<Node>>,
    /// The number of nodes on cycles.
    pub nodes: usize,
}

/// At most `limit` cycles, the shorter ones first. Until the limit, they cover every node that is on a cycle: each is a
/// shortest cycle of the first node that is not covered yet.
pub fn cycles(edges: &Edges, limit: usize) -> Cycles {
    // Nodes that reach each other are on a cycle.
    let mut component = vec![Node::MAX; edges.node_count()];
    let mut on_cycles = Vec::new();
    for (number_of, members) in (0..).zip(kosaraju_scc(edges)).filter(|(_, members)| members.len() > 1) {
        for member in members {
            component.get_mut(member.index()).into_iter().for_each(|component| *component = number_of);
            on_cycles.push(number(member));
        }
    }
    on_cycles.sort_unstable();
    let mut is_covered = vec![false; edges.node_count()];
    let mut cycles = Vec::new();
    for first in on_cycles.iter().copied() {
        if cycles.len() >= limit {
            break;
        }
        if is_covered.get(first as usize).is_some_and(|is_covered| *is_covered) {
            continue;
        }
        let of = |node: Node| component.get(node as usize).copied();
        let closes = |node: Node| node != first && neighbors(edges, node, petgraph::Outgoing).any(|next| next == first);
        let cycle = shortest_path(first, edges.node_count(), closes, |node, visit| {
            neighbors(edges, node, petgraph::Outgoing).filter(|next| of(*next) == of(first)).for_each(visit);
        });
        let Some(mut cycle) = cycle else { continue };
        let least = (0..cycle.len()).min_by_key(|at| cycle.get(*at));
        cycle.rotate_left(least.unwrap_or_default());
        for node in &cycle {
            is_covered.get_mut(*node as usize).into_iter().for_each(|is_covered| *is_covered = true);
        }
        cycles.push(cycle);
    }
    cycles.sort_by_key(Vec::len);
    Cycles { cycles, nodes: on_cycles.len() }
}
