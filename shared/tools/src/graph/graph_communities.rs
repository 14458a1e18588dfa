//! `graph_communities`: groups of notes that link to each other.

use atlas_ops::arguments::Bounded;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::graph::Graph;
use atlas_ops::read::view::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{path, rounded};

/// Lists the communities of the graph of links.
pub struct GraphCommunities;

/// Limits.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only communities of at least this many notes; 2 if not given.
    #[serde(default)]
    min_size: Bounded<1, 100, 2>,
    /// Most communities to return; 20 if not given.
    #[serde(default)]
    limit: Bounded<1, 100, 20>,
    /// Most notes to name of each community; 50 if not given.
    #[serde(default)]
    max_paths: Bounded<1, 1000, 50>,
}

/// The communities.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The number of notes, canvases and bases.
    nodes: usize,
    /// The share of links within communities above what chance would give: from -0.5 to 1.
    modularity: f64,
    /// Whether the communities are significant: the modularity is at least 0.3.
    meaningful: bool,
    /// A caveat.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
    /// The number of communities, including those of one note.
    community_count: usize,
    /// The communities, the largest first.
    communities: Vec<Community>,
}

/// A group of notes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Community {
    /// Its number, from 0.
    id: usize,
    /// The number of its notes.
    size: usize,
    /// The paths of its notes: those with the highest PageRank first.
    paths: Vec<String>,
}

const MEANINGFUL: f64 = 0.3;
const CHANCE: &str = "The modularity is below 0.3: these groups are hardly better than chance. Do not present them as the topics of the vault.";

impl Operation for GraphCommunities {
    const INFO: Info = Info {
        name: "graph_communities",
        title: "Communities of notes",
        description: "Groups the notes of the vault by their links (Louvain): the notes of a group link to each other more than to others. Check `meaningful` before you call the groups topics. Example: {\"min_size\": 5}",
        scopes: &[Scope::ReadVault],
        tags: &["links"],
        aliases: &[Alias::Ignored("seed")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { min_size, limit, max_paths } = arguments;
        let group = |view: View| async move {
            let graph = Graph::fetch(context, view).await?;
            let network = graph.network(context)?;
            let found = network.communities();
            let ranks = network.page_rank();
            let shown = found.groups.iter().enumerate().filter(|(_, nodes)| nodes.len() >= min_size.get());
            let mut communities = Vec::new();
            for (id, nodes) in shown.take(limit.get()) {
                let rank = |node: u32| ranks.get(node as usize).copied().unwrap_or_default();
                let mut best = nodes.clone();
                best.sort_by(|one, other| rank(*other).total_cmp(&rank(*one)));
                let paths = best.iter().take(max_paths.get()).map(|node| path(&graph, &network, *node));
                communities.push(Community { id, size: nodes.len(), paths: paths.collect::<Result<_, Error>>()? });
            }
            let meaningful = found.modularity >= MEANINGFUL;
            Ok(Output {
                nodes: network.len(),
                modularity: rounded(found.modularity),
                meaningful,
                note: (!meaningful).then_some(CHANCE),
                community_count: found.groups.len(),
                communities,
            })
        };
        context.read(group).await
    }
}
