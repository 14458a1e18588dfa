//! `find_link_cycles`: notes whose links lead back to them.

use atlas_ops::arguments::Bounded;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::graph::Graph;
use atlas_ops::read::view::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;

/// Lists cycles of links.
pub struct FindLinkCycles;

/// Limits.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Most cycles to return; 50 if not given.
    #[serde(default)]
    limit: Bounded<1, 1000, 50>,
}

/// Cycles of links.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The number of cycles returned.
    total: usize,
    /// The number of notes on cycles.
    note_count: usize,
    /// The cycles, the shorter ones first. Each is a list of paths whose notes link from one to the next; the last is the first again. If there are fewer than `limit`, they cover every note that is on a cycle.
    cycles: Vec<Vec<String>>,
}

impl Operation for FindLinkCycles {
    const INFO: Info = Info {
        name: "find_link_cycles",
        title: "Find cycles of links",
        description: "Lists cycles of links, chains that lead back to their first note, the shortest first: two notes that link to each other are the shortest. Example: {\"limit\": 20}",
        scopes: &[Scope::ReadVault],
        tags: &["links"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let limit = arguments.limit.get();
        let find = |view: View| async move {
            let graph = Graph::fetch(context, view).await?;
            let network = graph.network(context)?;
            let found = network.cycles(limit);
            let closed = |cycle: &Vec<u32>| {
                let nodes = cycle.iter().chain(cycle.first());
                nodes.map(|node| path(&graph, &network, *node)).collect::<Result<Vec<_>, Error>>()
            };
            let cycles = found.cycles.iter().map(closed).collect::<Result<Vec<_>, Error>>()?;
            Ok(Output { total: cycles.len(), note_count: found.nodes, cycles })
        };
        context.read(find).await
    }
}
