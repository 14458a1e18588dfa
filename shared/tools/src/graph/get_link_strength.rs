//! `get_link_strength`: how closely two notes are connected.

use atlas_access::Access;
use atlas_ops::arguments::ReadPath;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::graph::Graph;
use atlas_ops::read::view::View;
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{node, rounded, shared};

/// Measures how closely two notes are connected.
pub struct GetLinkStrength;

/// The notes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The path of the first note.
    from: ReadPath,
    /// The path of the second note.
    to: ReadPath,
}

/// The connection of two notes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The path of the first note.
    from: String,
    /// The path of the second note.
    to: String,
    /// Whether one links to the other.
    direct: bool,
    /// The number of notes that link to both.
    co_citation: usize,
    /// The number of notes that both link to.
    shared_out_neighbors: usize,
    /// The number of links or backlinks on the shortest path between them; null if there is none.
    distance: Option<usize>,
    /// A combined score from 0 to 1.
    strength: f64,
}

impl Operation for GetLinkStrength {
    const INFO: Info = Info {
        name: "get_link_strength",
        title: "Strength of a connection",
        description: "Measures how closely two notes are connected, from 0 to 1: whether one links to the other, how many notes link to both or are linked from both, and how far apart they are. Example: {\"from\": \"Projects/Atlas.md\", \"to\": \"People/Ada.md\"}",
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
        let (from, to) = (VaultPath::from(arguments.from), VaultPath::from(arguments.to));
        let measure = |view: View| {
            let (from, to) = (&from, &to);
            async move {
                let graph = Graph::fetch(context, view).await?;
                let network = graph.network(context)?;
                let (one, other) = (node(&graph, &network, "from", from)?, node(&graph, &network, "to", to)?);
                let distance = network.path(one, other, false).map(|path| path.len().saturating_sub(1));
                let direct = distance == Some(1);
                let co_citation = shared(network.incoming(one), network.incoming(other));
                let shared_out_neighbors = shared(network.outgoing(one), network.outgoing(other));
                let strength = strength(direct, co_citation, shared_out_neighbors, distance);
                let (from, to) = (from.as_str().to_owned(), to.as_str().to_owned());
                Ok(Output { from, to, direct, co_citation, shared_out_neighbors, distance, strength })
            }
        };
        context.read(measure).await
    }
}

/// A link counts 0.5, each note that links to both 0.06 and each that both link to 0.04, up to five of either; distance
/// 1 counts 0.3, and each further step 0.1 less.
fn strength(direct: bool, co_citation: usize, shared_out_neighbors: usize, distance: Option<usize>) -> f64 {
    let link = if direct { 0.5 } else { 0.0 };
    let near = match distance {
        Some(steps @ 1..) => (0.3 - 0.1 * (steps - 1) as f64).max(0.0),
        _ => 0.0,
    };
    let shared = 0.06 * co_citation.min(5) as f64 + 0.04 * shared_out_neighbors.min(5) as f64;
    rounded((link + shared + near).min(1.0))
}
