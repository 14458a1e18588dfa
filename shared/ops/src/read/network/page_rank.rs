//! PageRank (Brin and Page, 1998), by power iteration.

use petgraph::visit::EdgeRef as _;

use super::Edges;

/// The probability that a reader follows a link, rather than opening any file.
const DAMPING: f64 = 0.85;
const MAX_ROUNDS: usize = 100;
/// The iteration ends when the sum of changes is less than this.
const PRECISION: f64 = 1e-10;

/// The rank of each node; the sum is 1. A node without edges counts as linked to all.
pub fn page_rank(edges: &Edges) -> Vec<f64> {
    let count = edges.node_count();
    let share = 1.0 / count.max(1) as f64;
    let mut degrees = vec![0_u32; count];
    let links: Vec<(usize, usize)> =
        edges.edge_references().map(|edge| (edge.source().index(), edge.target().index())).collect();
    for (from, _) in &links {
        degrees.get_mut(*from).into_iter().for_each(|degree| *degree += 1);
    }
    let mut ranks = vec![share; count];
    for _ in 0..MAX_ROUNDS {
        let spread: Vec<f64> =
            ranks.iter().zip(&degrees).map(|(rank, degree)| rank / f64::from((*degree).max(1))).collect();
        let lost: f64 = ranks.iter().zip(&degrees).filter(|(_, degree)| **degree == 0).map(|(rank, _)| rank).sum();
        let mut next = vec![share * (1.0 - DAMPING + DAMPING * lost); count];
        for (from, to) in &links {
            if let (Some(next), Some(rank)) = (next.get_mut(*to), spread.get(*from)) {
                *next += DAMPING * rank;
            }
        }
        let change: f64 = ranks.iter().zip(&next).map(|(old, new)| (old - new).abs()).sum();
        ranks = next;
        if change < PRECISION {
            break;
        }
    }
    ranks
}
