//! `graph_centrality`: the most central notes of the graph of links.

use atlas_ops::arguments::Bounded;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::graph::Graph;
use atlas_ops::read::network::Node;
use atlas_ops::read::view::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;

/// Lists the most central notes.
pub struct GraphCentrality;

/// The measure, and limits.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// `pagerank`: notes that many notes link to, above all much linked ones; the default if not given. `betweenness`: notes that connect parts of the vault that would otherwise be far apart.
    #[serde(default)]
    metric: Metric,
    /// Only notes with at least this many backlinks; all if not given.
    #[serde(default)]
    min_incoming_links: Bounded<0, 100>,
    /// Most notes to return; 25 if not given.
    #[serde(default)]
    limit: Bounded<1, 200, 25>,
}

/// A measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// The share of attention.
    #[default]
    Pagerank,
    /// The share of shortest paths.
    Betweenness,
}

/// The most central notes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The measure.
    metric: Metric,
    /// The number of notes, canvases and bases.
    nodes: usize,
    /// The number of ordered pairs of them of which the first links to the second.
    edges: usize,
    /// Whether the scores are exact. In a large vault, betweenness is estimated from some of the notes.
    exact: bool,
    /// The notes, the most central first.
    results: Vec<Scored>,
}

/// A note and its score.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Scored {
    /// Its path.
    path: String,
    /// `pagerank`: its share; the sum of all is 1. `betweenness`: the share of pairs of other notes that it lies between, from 0 to 1.
    score: f64,
    /// The number of notes that link to it.
    incoming: usize,
}

impl Operation for GraphCentrality {
    const INFO: Info = Info {
        name: "graph_centrality",
        title: "Most central notes",
        description: "Lists the most central notes of the vault's graph of links: by PageRank, or with metric betweenness those that connect parts of it. Example: {\"metric\": \"betweenness\", \"limit\": 10}",
        scopes: &[Scope::ReadVault],
        tags: &["links"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { metric, min_incoming_links, limit } = arguments;
        let rank = |view: View| async move {
            let graph = Graph::fetch(context, view).await?;
            let network = graph.network(context)?;
            let (scores, exact) = match metric {
                Metric::Pagerank => (network.page_rank(), true),
                Metric::Betweenness => {
                    let betweenness = network.betweenness();
                    (betweenness.scores.as_slice(), betweenness.sources == network.len())
                }
            };
            let mut ranked: Vec<(Node, f64)> = (0..).zip(scores.iter().copied()).collect();
            ranked.sort_by(|(_, one), (_, other)| other.total_cmp(one));
            let counted = ranked.into_iter().map(|(node, score)| (node, score, network.incoming(node).count()));
            let shown = counted.filter(|(_, _, incoming)| *incoming >= min_incoming_links.get()).take(limit.get());
            let scored = |(node, score, incoming)| Ok(Scored { path: path(&graph, &network, node)?, score, incoming });
            let results = shown.map(scored).collect::<Result<_, Error>>()?;
            Ok(Output { metric, nodes: network.len(), edges: network.edge_count(), exact, results })
        };
        context.read(rank).await
    }
}
