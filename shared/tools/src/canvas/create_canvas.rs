//! `create_canvas`: a new canvas with nodes and edges.

use atlas_access::Access;
use atlas_ops::arguments;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_vault::canvas::{self, Fields};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{path, refused, seed};
use crate::formats::{self, check_count};

/// Creates a canvas.
pub struct CreateCanvas;

/// The path, and the content.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault; it ends in `.canvas`.
    path: String,
    /// Its nodes, the last in front: each with `type` (`text`, `file`, `link`, `group`), `x`, `y`, `width`, `height`, and `text`, `file`, `url` or `label`. A missing `id` is added; none if not given.
    #[serde(default)]
    nodes: Vec<Fields>,
    /// Its edges: each with `fromNode` and `toNode`, ids of nodes. A missing `id` is added; none if not given.
    #[serde(default)]
    edges: Vec<Fields>,
    /// Replace an existing canvas, which a person has to confirm.
    #[serde(default)]
    overwrite: bool,
    /// Ignored: a folder exists as soon as it has a file.
    #[serde(default = "arguments::yes")]
    #[expect(dead_code, reason = "it means nothing")]
    create_dirs: bool,
}

/// The created canvas.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its path.
    path: String,
    /// When it was created.
    #[schemars(with = "String", extend("format" = "date-time"))]
    created_at: Timestamp,
    /// The number of its nodes.
    node_count: usize,
    /// The number of its edges.
    edge_count: usize,
    /// SHA-256 of the file, in hex.
    content_hash: String,
    /// The ids of its nodes, in the order of the argument.
    node_ids: Vec<String>,
}

impl Operation for CreateCanvas {
    const INFO: Info = Info {
        name: "create_canvas",
        title: "Create a canvas",
        description: "Creates a canvas (.canvas, JSON Canvas 1.0) with nodes and edges. Fails if one exists at the path; with overwrite it is replaced, after a person has confirmed it. To change a canvas take update_canvas. Example: {\"path\": \"Boards/Plan.canvas\", \"nodes\": [{\"id\": \"a\", \"type\": \"file\", \"file\": \"Projects/Atlas.md\", \"x\": 0, \"y\": 0, \"width\": 400, \"height\": 300}]}",
        scopes: &[Scope::WriteVault],
        destructive: true,
        tags: &["canvas"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Write, path("path", &arguments.path)?)])
    }

    fn needs_confirmation(_: &Arguments) -> bool {
        // Only if a canvas exists, which is known at the write.
        false
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = path("path", &arguments.path)?;
        let Arguments { nodes, edges, overwrite, .. } = arguments;
        check_count("nodes", nodes.len())?;
        check_count("edges", edges.len())?;
        let make = |before: &str| {
            let created =
                canvas::create(&nodes, &edges, seed(&path, before)).map_err(|error| refused(&path, &error))?;
            Ok((created.text, (created.nodes_added, created.edges_added.len())))
        };
        let Answer { value: edited, generation } =
            formats::create(context, &Self::INFO, &path, overwrite, "update_canvas", make).await?;
        let (node_ids, edge_count) = edited.told;
        let value = Output {
            path: path.as_str().to_owned(),
            created_at: edited.updated_at,
            node_count: node_ids.len(),
            edge_count,
            content_hash: edited.content_hash.to_string(),
            node_ids,
        };
        Ok(Answer { value, generation })
    }
}
