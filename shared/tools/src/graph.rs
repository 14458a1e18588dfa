//! Questions about the whole graph of links. Its nodes are the files that can have links: notes, canvases and bases.

pub mod find_link_cycles;
pub mod get_link_strength;
pub mod graph_centrality;
pub mod graph_communities;
pub mod graph_path_between;
pub mod suggest_links;
pub mod vault_health_score;

use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::read::graph::Graph;
use atlas_ops::read::network::{Network, Node};
use atlas_vault::VaultPath;

/// The node of the file at `path`, from argument `field`.
fn node(graph: &Graph, network: &Network, field: &str, path: &VaultPath) -> Result<Node, Error> {
    let document = graph.file(path).map_err(|error| error.with("field", field))?;
    network.node(document).ok_or_else(|| {
        let message = format!("{field}: {path} is an attachment, which has no links: name a note, a canvas or a base");
        Error::bad_request(Reason::InvalidInput, message).with("field", field)
    })
}

/// The path of a node.
fn path(graph: &Graph, network: &Network, node: Node) -> Result<String, Error> {
    let unknown = || Error::new(Code::Internal, Reason::Internal, "a node has no file");
    graph.path(network.document(node).ok_or_else(unknown)?)
}

/// The number of nodes in both ascending lists.
fn shared(mut one: impl Iterator<Item = Node>, mut other: impl Iterator<Item = Node>) -> usize {
    let (mut left, mut right, mut count) = (one.next(), other.next(), 0);
    while let (Some(a), Some(b)) = (left, right) {
        count += usize::from(a == b);
        if a <= b {
            left = one.next();
        }
        if b <= a {
            right = other.next();
        }
    }
    count
}

/// A number rounded to three decimals, for answers.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}
