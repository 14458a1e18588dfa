//! `read_canvas`: the nodes and edges of a canvas.

use atlas_access::Access;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::response_limit::cut;
use atlas_ops::read::view::View;
use atlas_segment::text::decoded;
use atlas_vault::canvas::{Canvas, Fields};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{path, refused};
use crate::formats;

/// Reads a canvas.
pub struct ReadCanvas;

/// The canvas.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault; it ends in `.canvas`.
    path: String,
}

/// A canvas.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its path.
    path: String,
    /// Its nodes, the last in front. Each has `id`, `type` (`text`, `file`, `link`, `group`), `x`, `y`, `width`,
    /// `height`; and by its type `text`, `file` (with `subpath`), `url` or `label`; may have `color`, and fields of
    /// plugins.
    nodes: Vec<Fields>,
    /// Its edges. Each has `id`, `fromNode`, `toNode`; may have `fromSide`, `toSide`, `fromEnd`, `toEnd`, `color`,
    /// `label`, and fields of plugins.
    edges: Vec<Fields>,
    /// SHA-256 of the file, in hex.
    content_hash: String,
    /// Whether the canvas has more nodes or edges than fit into the answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    overflow: bool,
}

impl Operation for ReadCanvas {
    const INFO: Info = Info {
        name: "read_canvas",
        title: "Read a canvas",
        description: "Returns the nodes and edges of a canvas (.canvas, JSON Canvas 1.0). To find nodes in many canvases take query_canvas, to change some update_canvas. Example: {\"path\": \"Boards/Plan.canvas\"}",
        scopes: &[Scope::ReadVault],
        tags: &["canvas"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, path("path", &arguments.path)?)])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = path("path", &arguments.path)?;
        let read = |view: View| {
            let path = &path;
            async move {
                let found = formats::find(&view, path).await?;
                let text = decoded(&found.text);
                let canvas = Canvas::read(&text).map_err(|error| refused(path, &error))?;
                let (mut nodes, mut edges) = (canvas.nodes().to_vec(), canvas.edges().to_vec());
                let limits =
                    atlas_ops::Limits { max_response_bytes: context.limits.max_response_bytes / 2, ..*context.limits };
                let half = context.with_limits(&limits);
                let overflow = cut(&mut nodes, &half) | cut(&mut edges, &half);
                let content_hash = found.sha256();
                Ok(Output { path: path.as_str().to_owned(), nodes, edges, content_hash, overflow })
            }
        };
        context.read(read).await
    }
}
