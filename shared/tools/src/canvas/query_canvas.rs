//! `query_canvas`: the nodes of many canvases that match a filter.

use std::collections::HashSet;

use atlas_access::Access;
use atlas_ops::arguments::{Given, Root, Text, invalid_input};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::index::{DocumentRef, Index, Want};
use atlas_ops::read::notes;
use atlas_ops::read::paging::{Limit, Page, Paging};
use atlas_ops::read::view::View;
use atlas_segment::text::decoded;
use atlas_vault::canvas::{Canvas, Fields};
use atlas_vault::fold;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{is_canvas, path};
use crate::attachments::list_attachments::files;

/// Finds nodes of canvases.
pub struct QueryCanvas;

/// The canvases, and a filter of nodes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only these canvases, at most 200; all below `root` if not given.
    #[serde(default)]
    paths: Given<Vec<String>>,
    /// Only canvases in this folder; all if not given.
    #[serde(default)]
    root: String,
    /// The conditions for nodes.
    filter: Filter,
    /// Most nodes to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// The conditions for a node, all of which must hold. Case does not matter.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// Only of this type: `text`, `file`, `link`, `group`.
    #[serde(default, rename = "type")]
    kind: Given<Text<50>>,
    /// Only of this color: `1` to `6`, or as `#ff0000`.
    #[serde(default)]
    color: Given<Text<50>>,
    /// Only nodes with a file whose path contains this.
    #[serde(default)]
    file_path_contains: Given<Text<1000>>,
    /// Only nodes whose text or label contains this.
    #[serde(default)]
    text_contains: Given<Text<1000>>,
    /// Only nodes with an edge to the node with this id.
    #[serde(default)]
    has_edge_to: Given<Text<1000>>,
}

/// A node of a canvas.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FoundNode {
    /// The canvas's path.
    canvas_path: String,
    /// The node's id.
    node_id: String,
    /// Its type.
    #[serde(rename = "type")]
    kind: String,
    /// The beginning of its text, its file, URL or label.
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<String>,
}

/// Nodes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    #[serde(flatten)]
    page: Page<FoundNode>,
    /// Files named like canvases that cannot be read, or are larger than 1 MiB; at most 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<String>,
}

const MAX_PATHS: usize = 200;
const MAX_UNREADABLE: usize = 100;
/// Most bytes of canvases that are searched.
const MAX_TEXT_BYTES: u64 = 32 << 20;
const SNIPPET_CHARS: usize = 200;

impl Operation for QueryCanvas {
    const INFO: Info = Info {
        name: "query_canvas",
        title: "Find nodes of canvases",
        description: "Finds the nodes of some or all canvases by type, color, file, text, or an edge to a node. Read a whole canvas with read_canvas. Example: {\"filter\": {\"type\": \"file\", \"file_path_contains\": \"Projects/\"}}",
        scopes: &[Scope::ReadVault],
        tags: &["canvas"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        let paths = arguments.paths.as_deref().unwrap_or_default();
        if paths.len() > MAX_PATHS {
            return Err(invalid_input("paths", &format!("name at most {MAX_PATHS}")));
        }
        paths.iter().map(|written| Ok((Access::Read, path("paths", written)?))).collect()
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { paths, root, filter, limit, cursor } = arguments;
        let paging = Paging::new(limit, cursor.as_ref(), &(Self::INFO.name, &paths, &root, &filter))?;
        let root = Root::of("root", &root)?;
        let named = paths.iter().flatten().map(|written| path("paths", written)).collect::<Result<Vec<_>, _>>()?;
        let page = |view: View| {
            let (paging, filter, root, named, paths) = (&paging, &filter, &root, &named, &paths);
            async move {
                let generation = view.generation();
                let index = Index::fetch(view, Want::default()).await?;
                let documents = match paths.is_some() {
                    true => {
                        let find = |path: &atlas_vault::VaultPath| {
                            index.find(path.as_str())?.ok_or_else(|| notes::missing(path.as_str()))
                        };
                        named.iter().map(find).collect::<Result<Vec<_>, Error>>()?
                    }
                    false => files(&index, root, is_canvas)?,
                };
                let mut bytes = 0;
                for document in &documents {
                    bytes += u64::from(index.span(*document)?.length);
                }
                if bytes > MAX_TEXT_BYTES {
                    let message = format!(
                        "the canvases have {bytes} bytes; at most {MAX_TEXT_BYTES} are searched: name a root or paths"
                    );
                    return Err(Error::new(Code::TooLarge, Reason::NotesTooLarge, message));
                }
                let too_large = without_text(&index, &documents).await?;
                let mut found = Vec::new();
                let mut unreadable = Vec::new();
                for (document, text) in documents.iter().zip(index.texts(&documents).await?) {
                    context.work.check()?;
                    let path = index.path(*document)?;
                    let text = decoded(&text);
                    match Canvas::read(&text) {
                        Ok(canvas) if !too_large.contains(document) => add(&canvas, &path, filter, &mut found),
                        _ if unreadable.len() < MAX_UNREADABLE => unreadable.push(path),
                        _ => {}
                    }
                }
                let items = paging.of(&found).to_vec();
                Ok(Output { page: paging.page(context, generation, found.len(), items)?, unreadable })
            }
        };
        paging.read(context, page).await
    }
}

/// Those of `documents` that have bytes and no text here: they are too large.
async fn without_text(index: &Index, documents: &[DocumentRef]) -> Result<HashSet<DocumentRef>, Error> {
    let mut empty = Vec::new();
    for document in documents {
        if index.span(*document)?.length == 0 {
            empty.push(*document);
        }
    }
    let records = index.records(&empty).await?;
    let has_bytes = empty.into_iter().zip(records).filter(|(_, record)| record.bytes > 0);
    Ok(has_bytes.map(|(document, _)| document).collect())
}

/// Adds the nodes of a canvas that match the filter.
fn add(canvas: &Canvas<'_>, path: &str, filter: &Filter, found: &mut Vec<FoundNode>) {
    let linked: Option<HashSet<&str>> = filter.has_edge_to.as_ref().map(|to| {
        let leads = |edge: &&Fields| text(edge, "toNode") == Some(to.as_str());
        canvas.edges().iter().filter(leads).filter_map(|edge| text(edge, "fromNode")).collect()
    });
    let nodes = canvas.nodes().iter().filter(|node| {
        let id = text(node, "id").unwrap_or_default();
        filter.allows(node) && linked.as_ref().is_none_or(|linked| linked.contains(id))
    });
    found.extend(nodes.map(|node| {
        let shown = ["text", "file", "url", "label"].iter().find_map(|name| text(node, name));
        FoundNode {
            canvas_path: path.to_owned(),
            node_id: text(node, "id").unwrap_or_default().to_owned(),
            kind: text(node, "type").unwrap_or_default().to_owned(),
            snippet: shown.map(|shown| shown.chars().take(SNIPPET_CHARS).collect()),
        }
    }));
}

impl Filter {
    fn allows(&self, node: &Fields) -> bool {
        let is = |name: &str, wanted: &Option<Text<50>>| {
            wanted
                .as_ref()
                .is_none_or(|wanted| text(node, name).is_some_and(|is| is.eq_ignore_ascii_case(wanted.as_str())))
        };
        let has = |names: &[&str], wanted: &Option<Text<1000>>| {
            wanted.as_ref().is_none_or(|wanted| {
                let wanted = fold(wanted.as_str());
                names.iter().filter_map(|name| text(node, name)).any(|text| fold(text).contains(&wanted))
            })
        };
        is("type", &self.kind)
            && is("color", &self.color)
            && has(&["file"], &self.file_path_contains)
            && has(&["text", "label"], &self.text_contains)
    }
}

fn text<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str()
}
