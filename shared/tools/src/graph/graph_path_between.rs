//! `graph_path_between`: a shortest path between two notes.

use atlas_access::Access;
use atlas_ops::arguments::ReadPath;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::graph::Graph;
use atlas_ops::read::view::View;
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{node, path};

/// Finds a shortest path between two notes.
pub struct GraphPathBetween;

/// The two notes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The path of the first note.
    from: ReadPath,
    /// The path of the last note.
    to: ReadPath,
    /// Only follow links forwards; backlinks too if not given.
    #[serde(default)]
    directed: bool,
}

/// A path between two notes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The first note.
    from: String,
    /// The last note.
    to: String,
    /// Whether links were only followed forwards.
    directed: bool,
    /// Whether there is a path.
    connected: bool,
    /// Whether the first note has any link or backlink.
    from_in_graph: bool,
    /// Whether the last note has any.
    to_in_graph: bool,
    /// The steps, in order; empty if there is no path.
    hops: Vec<Hop>,
    /// The number of steps; null if there is no path.
    length: Option<usize>,
}

/// A step from a note to another.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Hop {
    /// The note before it.
    from: String,
    /// The note after it.
    to: String,
    /// The connection: `link` if the first links to the second, `backlink` if the second links to the first.
    via: Vec<&'static str>,
}

impl Operation for GraphPathBetween {
    const INFO: Info = Info {
        name: "graph_path_between",
        title: "Path between two notes",
        description: "Finds a shortest chain of links and backlinks from one note to another, with the kind of each step. With directed it only follows links. For all notes near one take graph_neighbors. Example: {\"from\": \"Projects/Atlas.md\", \"to\": \"People/Ada.md\"}",
        scopes: &[Scope::ReadVault],
        tags: &["links"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        let paths = [&arguments.from, &arguments.to];
        Ok(paths.map(|path| (Access::Read, path.clone().into())).into())
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { from, to, directed } = arguments;
        let (from, to) = (VaultPath::from(from), VaultPath::from(to));
        let find = |view: View| {
            let (from, to) = (&from, &to);
            async move {
                let graph = Graph::fetch(context, view).await?;
                let network = graph.network(context)?;
                let ends = (node(&graph, &network, "from", from)?, node(&graph, &network, "to", to)?);
                let is_in_graph = |node| network.outgoing(node).chain(network.incoming(node)).next().is_some();
                let found = network.path(ends.0, ends.1, directed);
                let pairs = found.as_deref().unwrap_or_default().windows(2);
                let hop = |pair: &[u32]| {
                    let [one, other] = *pair else { return Ok(None) };
                    let leads = |from, to| network.outgoing(from).any(|next| next == to);
                    let ways = [(leads(one, other), "link"), (leads(other, one), "backlink")];
                    let via = ways.into_iter().filter(|(leads, _)| *leads).map(|(_, way)| way).collect();
                    let (from, to) = (path(&graph, &network, one)?, path(&graph, &network, other)?);
                    Ok(Some(Hop { from, to, via }))
                };
                let hops = pairs.filter_map(|pair| hop(pair).transpose()).collect::<Result<Vec<_>, Error>>()?;
                Ok(Output {
                    from: from.as_str().to_owned(),
                    to: to.as_str().to_owned(),
                    directed,
                    connected: found.is_some(),
                    from_in_graph: is_in_graph(ends.0),
                    to_in_graph: is_in_graph(ends.1),
                    length: found.map(|_| hops.len()),
                    hops,
                })
            }
        };
        context.read(find).await
    }
}
