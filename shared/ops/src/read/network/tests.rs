use proptest::prelude::*;

use super::betweenness::of_sources;
use super::*;

fn graph(count: usize, links: &[(Node, Node)]) -> Edges {
    edges(count, links.iter().copied().filter(|(from, to)| from != to).collect())
}

fn any_graph() -> impl Strategy<Value = (usize, Vec<(Node, Node)>)> {
    (1_usize..12).prop_flat_map(|count| {
        let node = 0..count as Node;
        (Just(count), prop::collection::vec((node.clone(), node), 0..30))
    })
}

/// The length of the shortest path between any two nodes, along the edges.
fn distances(count: usize, links: &[(Node, Node)]) -> Vec<Vec<usize>> {
    let mut far = vec![vec![usize::MAX / 4; count]; count];
    for (from, to) in links {
        far[*from as usize][*to as usize] = 1;
    }
    for (node, row) in far.iter_mut().enumerate() {
        row[node] = 0;
    }
    for via in 0..count {
        for from in 0..count {
            for to in 0..count {
                far[from][to] = far[from][to].min(far[from][via] + far[via][to]);
            }
        }
    }
    far
}

fn undirected(links: &[(Node, Node)]) -> Vec<(Node, Node)> {
    links.iter().flat_map(|(from, to)| [(*from, *to), (*to, *from)]).collect()
}

#[test]
fn two_groups_with_one_bridge_are_two_communities_and_the_bridge_is_between() {
    let mut links = Vec::new();
    for group in [0, 4] {
        for from in group..group + 4 {
            links.extend((group..group + 4).map(|to| (from, to)));
        }
    }
    links.push((3, 4));
    let graph = graph(9, &links);
    let found = communities::communities(&graph);
    assert_eq!(found.groups, [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8]]);
    assert!(found.modularity > 0.3, "{}", found.modularity);
    let Betweenness { scores, sources } = betweenness::betweenness(&graph);
    assert_eq!(sources, 9);
    assert!((scores[3] - scores[4]).abs() < 1e-12);
    assert!((0..9).filter(|node| ![3, 4].contains(node)).all(|node| scores[node] < 1e-12));
    // Node 3 is on the paths from 0, 1 and 2 to all four of the others, in both directions.
    assert!((scores[3] - 24.0 / 56.0).abs() < 1e-12, "{}", scores[3]);
}

#[test]
fn what_many_link_to_has_the_highest_rank() {
    let ranks = page_rank::page_rank(&graph(5, &[(0, 4), (1, 4), (2, 4), (4, 3)]));
    assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    assert!(ranks[4] > ranks[0] && ranks[3] > ranks[0]);
    assert!((ranks[0] - ranks[2]).abs() < 1e-12);
    assert!(page_rank::page_rank(&graph(0, &[])).is_empty());
}

#[test]
fn long_chains_and_dense_graphs_take_no_stack() {
    let chain: Vec<(Node, Node)> = (0..200_000).map(|node| (node, (node + 1) % 200_000)).collect();
    let found = cycles::cycles(&graph(200_000, &chain), 10);
    assert_eq!((found.cycles.len(), found.cycles[0].len(), found.nodes), (1, 200_000, 200_000));
}

#[test]
fn an_estimate_from_some_nodes_is_near_the_betweenness_from_all() {
    let links: Vec<(Node, Node)> = (1..400).map(|node| (node, (node * 7919) % node.clamp(1, 20))).collect();
    let graph = graph(400, &links);
    let (all, some) = (of_sources(&graph, usize::MAX), of_sources(&graph, 100));
    assert_eq!((all.sources, some.sources), (400, 100));
    let first = |scores: &[f64]| (0..400).max_by(|one, other| scores[*one].total_cmp(&scores[*other])).unwrap();
    let best = first(&all.scores);
    assert_eq!(first(&some.scores), best);
    assert!((all.scores[best] - some.scores[best]).abs() < 0.1, "{} {}", all.scores[best], some.scores[best]);
}

proptest! {
    #[test]
    fn every_node_on_a_cycle_is_on_one_that_is_told_and_all_are_cycles((count, links) in any_graph()) {
        let links: Vec<_> = links.into_iter().filter(|(from, to)| from != to).collect();
        let far = distances(count, &links);
        let found = cycles::cycles(&graph(count, &links), usize::MAX);
        let on_a_cycle = |node: &usize| (0..count).any(|via| via != *node && far[*node][via] + far[via][*node] < usize::MAX / 4);
        let expected: Vec<usize> = (0..count).filter(on_a_cycle).collect();
        let mut told: Vec<usize> = found.cycles.iter().flatten().map(|node| *node as usize).collect();
        for cycle in &found.cycles {
            let next = cycle.iter().cycle().skip(1);
            prop_assert!(cycle.iter().zip(next).all(|(from, to)| links.contains(&(*from, *to))));
            let mut once = cycle.clone();
            once.sort_unstable();
            once.dedup();
            prop_assert_eq!(once.len(), cycle.len());
        }
        told.sort_unstable();
        told.dedup();
        prop_assert_eq!(&told, &expected);
        prop_assert_eq!(found.nodes, expected.len());
        prop_assert!(cycles::cycles(&graph(count, &links), 1).cycles.len() <= 1);
    }

    #[test]
    fn betweenness_counts_the_pairs_that_a_node_is_between((count, links) in any_graph()) {
        let links: Vec<_> = undirected(&links).into_iter().filter(|(from, to)| from != to).collect();
        let far = distances(count, &links);
        let limit = usize::MAX / 4;
        // The number of shortest paths, by length.
        let mut ways = vec![vec![0.0_f64; count]; count];
        for from in 0..count {
            let mut order: Vec<usize> = (0..count).filter(|to| far[from][*to] < limit).collect();
            order.sort_by_key(|to| far[from][*to]);
            for to in order {
                ways[from][to] = if from == to { 1.0 } else {
                    let steps: std::collections::BTreeSet<_> = links.iter().filter(|(_, end)| *end as usize == to).collect();
                    steps.into_iter().filter(|(start, _)| far[from][*start as usize] + 1 == far[from][to]).map(|(start, _)| ways[from][*start as usize]).sum()
                };
            }
        }
        let pairs = (count.saturating_sub(1) * count.saturating_sub(2)) as f64;
        let scores = betweenness::betweenness(&graph(count, &links)).scores;
        for node in 0..count {
            let mut expected = 0.0;
            for from in (0..count).filter(|from| *from != node) {
                for to in (0..count).filter(|to| *to != node && *to != from && far[from][*to] < limit) {
                    if far[from][node] + far[node][to] == far[from][to] {
                        expected += ways[from][node] * ways[node][to] / ways[from][to];
                    }
                }
            }
            let expected = if pairs > 0.0 { expected / pairs } else { 0.0 };
            prop_assert!((scores[node] - expected).abs() < 1e-9, "{} {}", scores[node], expected);
        }
    }

    #[test]
    fn communities_hold_every_node_once_and_their_modularity_is_what_the_formula_says((count, links) in any_graph()) {
        let mut links: Vec<_> = links.into_iter().filter(|(from, to)| from != to).collect();
        links.sort_unstable();
        links.dedup();
        let found = communities::communities(&graph(count, &links));
        let mut nodes: Vec<Node> = found.groups.iter().flatten().copied().collect();
        nodes.sort_unstable();
        prop_assert_eq!(nodes, (0..count as Node).collect::<Vec<_>>());
        let total = 2.0 * links.len() as f64;
        let modularity: f64 = found.groups.iter().map(|group| {
            let has = |node: &Node| group.contains(node);
            let within = links.iter().filter(|(from, to)| has(from) && has(to)).count() as f64;
            let degree = links.iter().map(|(from, to)| f64::from(u8::from(has(from)) + u8::from(has(to)))).sum::<f64>();
            2.0 * within / total - (degree / total).powi(2)
        }).sum();
        let modularity = if links.is_empty() { 0.0 } else { modularity };
        prop_assert!((found.modularity - modularity).abs() < 1e-9, "{} {}", found.modularity, modularity);
        prop_assert!(found.modularity > -1e-9, "{}", found.modularity);
    }

    #[test]
    fn a_path_is_as_short_as_can_be((count, links) in any_graph(), is_directed in any::<bool>()) {
        let links: Vec<_> = links.into_iter().filter(|(from, to)| from != to).collect();
        let steps = if is_directed { links.clone() } else { undirected(&links) };
        let far = distances(count, &steps);
        let edges = graph(count, &links);
        for from in 0..count as Node {
            for to in 0..count as Node {
                let path = shortest_path(from, count, |node| node == to, |node, visit| {
                    neighbors(&edges, node, Direction::Outgoing).for_each(&mut *visit);
                    if !is_directed {
                        neighbors(&edges, node, Direction::Incoming).for_each(visit);
                    }
                });
                let length = far[from as usize][to as usize];
                prop_assert_eq!(path.as_ref().map(|path| path.len() - 1), (length < usize::MAX / 4).then_some(length));
                let path = path.unwrap_or_default();
                prop_assert!(path.windows(2).all(|pair| steps.contains(&(pair[0], pair[1]))));
            }
        }
    }
}
