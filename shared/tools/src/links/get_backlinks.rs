//! `get_backlinks`: the notes that link to a file, and their number of links.

use atlas_access::Access;
use atlas_ops::arguments::{self, Given, ReadPath, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::response_limit::bytes_of;
use atlas_ops::read::excerpt::{TextLines, cut_at};
use atlas_ops::read::graph::Graph;
use atlas_ops::read::index::DocumentRef;
use atlas_ops::read::paging::{Limit, Page, Paging};
use atlas_ops::read::view::View;
use atlas_segment::text::decoded;
use atlas_vault::VaultPath;
use atlas_vault::resolve::{Files, resolve};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lists the other notes that link to a note or another file, by path, and their number of links.
pub struct GetBacklinks;

/// The file, and options.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault, with its extension.
    path: ReadPath,
    /// Also return the lines, on shorter pages.
    #[serde(default)]
    include_context: bool,
    /// Count embeds as links; true if not given.
    #[serde(default = "arguments::yes")]
    include_embeds: bool,
    /// Most notes to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// A note that links to the file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Backlink {
    /// Its path.
    source_path: String,
    /// The number of its links to the file.
    link_count: u32,
    /// The lines of these links, each once, at most 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    contexts: Option<Vec<LinkContext>>,
}

/// A line with a link.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LinkContext {
    /// Its number, counted from 1.
    line: u32,
    /// The line; a long one cut around the link, the cuts marked with `…`.
    text: String,
}

/// Bytes of linking notes after which a page with lines ends.
const MAX_READ_BYTES: u64 = 512 << 10;
/// Most lines of a note, and most bytes of a line.
const MAX_CONTEXTS: usize = 100;
const LINE_BYTES: usize = 400;

impl Operation for GetBacklinks {
    const INFO: Info = Info {
        name: "get_backlinks",
        title: "Get backlinks",
        description: "Lists the notes that link to a note or another file, and how often each does; with include_context also the lines of the links. Links are resolved as in Obsidian. Example: {\"path\": \"Projects/Atlas.md\", \"include_context\": true}",
        scopes: &[Scope::ReadVault],
        tags: &["links"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Page<Backlink>;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Self::Output>, Error> {
        let Arguments { path, include_context, include_embeds, limit, cursor } = arguments;
        let path = VaultPath::from(path);
        let listing = (Self::INFO.name, path.as_str(), include_context, include_embeds);
        let paging = Paging::new(limit, cursor.as_ref(), &listing)?;
        let page = |view: View| {
            let (path, paging) = (&path, &paging);
            async move {
                let generation = view.generation();
                let graph = Graph::fetch(context, view).await?;
                let found = sources(&graph, path, include_embeds)?;
                let page = paging.of(&found);
                let mut items = Vec::new();
                if include_context {
                    let files = graph.rivals(path)?;
                    let mut room = context.limits.max_response_bytes;
                    let (count, _) = graph.index().begin_of(page, MAX_READ_BYTES, |(document, _)| *document)?;
                    let page = page.get(..count).unwrap_or(page);
                    let documents: Vec<DocumentRef> = page.iter().map(|(document, _)| *document).collect();
                    for ((document, link_count), text) in page.iter().zip(graph.index().texts(&documents).await?) {
                        let source_path = graph.path(*document)?;
                        let contexts = contexts(path, &source_path, &decoded(&text), &files, include_embeds)?;
                        let item = Backlink { source_path, link_count: *link_count, contexts: Some(contexts) };
                        room = room.saturating_sub(bytes_of(&item));
                        items.push(item);
                        if room == 0 {
                            break;
                        }
                    }
                } else {
                    for (document, link_count) in page {
                        let source_path = graph.path(*document)?;
                        items.push(Backlink { source_path, link_count: *link_count, contexts: None });
                    }
                }
                paging.page(context, generation, found.len(), items)
            }
        };
        paging.read(context, page).await
    }
}

/// The other notes that link to the file at `path`, with their number of links to it.
fn sources(graph: &Graph, path: &VaultPath, with_embeds: bool) -> Result<Vec<(DocumentRef, u32)>, Error> {
    let own = graph.file(path)?;
    let mut sources: Vec<(DocumentRef, u32)> = Vec::new();
    for (document, links) in graph.links_to(path)? {
        let count = if with_embeds { links.count } else { links.count - links.embeds };
        match sources.last_mut() {
            Some((last, sum)) if *last == document => *sum += count,
            _ => sources.push((document, count)),
        }
    }
    sources.retain(|(document, count)| *count > 0 && *document != own);
    Ok(sources)
}

/// The lines of a note's `text` with links to the file at `path`, whose rivals are `files`.
fn contexts(
    path: &VaultPath,
    from: &str,
    text: &str,
    files: &Files,
    with_embeds: bool,
) -> Result<Vec<LinkContext>, Error> {
    let from = arguments::path("path", from)?;
    let mut links = atlas_vault::links(&from, text);
    links.retain(|link| {
        !link.is_external()
            && !link.target.is_empty()
            && (with_embeds || !link.is_embed())
            && resolve(&link.target, &from, files) == Some(path)
    });
    links.sort_by_key(|link| (link.line, link.range.start));
    links.dedup_by_key(|link| link.line);
    let lines = TextLines::new(text.as_bytes());
    let context = |link: &atlas_vault::Link| {
        let before = text.get(..link.range.start).unwrap_or_default();
        let at = link.range.start - before.rfind('\n').map_or(0, |end| end + 1);
        let line = lines.get(link.line as usize)?;
        Some(LinkContext { line: link.line.saturating_add(1), text: cut_at(line, at, LINE_BYTES) })
    };
    Ok(links.iter().filter_map(context).take(MAX_CONTEXTS).collect())
}
