//! `backlinks_search`: the notes that link to a file.

use atlas_access::Access;
use atlas_ops::arguments::{self, Bounded, Given, ReadPath, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::response_limit::{bytes_of, fitting};
use atlas_ops::read::cursor;
use atlas_ops::read::excerpt::{TextLines, cut_at};
use atlas_ops::read::graph::Graph;
use atlas_ops::read::index::DocumentRef;
use atlas_ops::read::view::View;
use atlas_segment::SectionName;
use atlas_segment::text::decoded;
use atlas_vault::resolve::{Files, resolve};
use atlas_vault::{Link, VaultPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lists the notes that link to a note or another file, by wikilink, embed or markdown link, with the line of the first link.
pub struct BacklinksSearch;

/// The file, and the page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault, with its extension.
    path: ReadPath,
    /// Most notes to return; 50 if not given.
    #[serde(default)]
    limit: Bounded<1, 1000, 50>,
    /// The `cursor` of the previous page. All pages show the same generation.
    #[serde(default)]
    cursor: Given<Text<4096>>,
    /// Only the paths, without the lines of the links: faster.
    #[serde(default)]
    paths_only: bool,
}

/// The notes that link to it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The notes, by path.
    results: Vec<Backlink>,
    /// The number on all pages.
    total: usize,
    /// The argument for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// A note that links to the file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Backlink {
    /// Its path.
    path: String,
    /// The number of the line with its first link to the file, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// That line; a long one cut around the link, the cuts marked with `…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// The start of a page.
#[derive(Serialize, Deserialize)]
struct Cursor {
    generation: u64,
    of: u32,
    after: String,
}

/// Most bytes of a line.
const LINE_BYTES: usize = 400;

impl Operation for BacklinksSearch {
    const INFO: Info = Info {
        name: "backlinks_search",
        title: "Backlinks",
        description: "Lists the notes that link to a note or another file, by wikilink, embed or markdown link, with the line of the first link. Links are resolved as in Obsidian. Example: {\"path\": \"Projects/Atlas.md\"}",
        scopes: &[Scope::ReadVault],
        tags: &["links"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let of = crc32fast::hash(path.as_str().as_bytes());
        let cursor: Option<Cursor> =
            arguments.cursor.as_ref().map(|cursor| cursor::decode(cursor.as_str())).transpose()?;
        if cursor.as_ref().is_some_and(|cursor| cursor.of != of) {
            return Err(cursor::invalid());
        }
        let generation = cursor.as_ref().map(|cursor| cursor.generation);
        let after = cursor.as_ref().map(|cursor| cursor.after.as_str());
        let limit = arguments.limit.get();
        let with_lines = !arguments.paths_only;
        let page = |view: View| {
            let path = &path;
            async move {
                let generation = view.generation();
                let sections: &[SectionName] = if with_lines { &[SectionName::LinkLines] } else { &[] };
                let graph = Graph::fetch_with(context, view, sections).await?;
                let all = linking(&graph, path)?;
                let total = all.len();
                let begin = all.partition_point(|(document, _)| {
                    after.is_some_and(|after| graph.path(*document).is_ok_and(|path| path.as_str() <= after))
                });
                let page = all.get(begin..).unwrap_or_default();
                let (page, rest) = page.split_at(limit.min(page.len()));
                let mut results = Vec::with_capacity(page.len());
                for (document, _) in page {
                    results.push(Backlink { path: graph.path(*document)?, line: None, text: None });
                }
                if with_lines {
                    let files = graph.rivals(path)?;
                    let mut room = context.limits.max_response_bytes;
                    let mut shown = 0;
                    while let Some(rest) = page.get(shown..).filter(|rest| !rest.is_empty() && room > 0) {
                        let (count, _) = graph.index().wave(rest, |(document, _)| *document)?;
                        let wave = rest.get(..count).unwrap_or(rest);
                        let documents: Vec<DocumentRef> = wave.iter().map(|(document, _)| *document).collect();
                        let texts = graph.index().texts(&documents).await?;
                        let of_wave = results.iter_mut().skip(shown).zip(wave);
                        for ((result, (document, firsts)), text) in of_wave.zip(texts) {
                            let lines = graph.facts().link_lines(document.segment)?.of(document.document);
                            let line = firsts.iter().filter_map(|first| lines.get(*first as usize)).min();
                            if let Some(line) = line {
                                result.show(*line, path, &decoded(&text), &files)?;
                            }
                            room = room.saturating_sub(bytes_of(result));
                            shown += 1;
                            if room == 0 {
                                break;
                            }
                        }
                    }
                    // The remaining ones have no room, and so are on the next page.
                }
                let fitting = fitting(&results, context.limits.max_response_bytes);
                let is_last = rest.is_empty() && fitting == results.len();
                results.truncate(fitting);
                let last = results.last().filter(|_| !is_last);
                let cursor = last.map(|last| Cursor { generation, of, after: last.path.clone() });
                Ok(Output { results, total, cursor: cursor.as_ref().and_then(cursor::encode) })
            }
        };
        cursor::read(context, generation, page).await
    }
}

/// The other notes that link to the file at `path`, by path, each with the indexes of the first links to each target
/// that means it.
fn linking(graph: &Graph, path: &VaultPath) -> Result<Vec<(DocumentRef, Vec<u32>)>, Error> {
    let own = graph.file(path)?;
    let mut all: Vec<(DocumentRef, Vec<u32>)> = Vec::new();
    for (document, links) in graph.links_to(path)? {
        match all.last_mut() {
            Some((last, firsts)) if *last == document => firsts.push(links.first),
            _ if document == own => {}
            _ => all.push((document, vec![links.first])),
        }
    }
    Ok(all)
}

impl Backlink {
    /// Adds a line of the note's `text` that links to the file at `path`, whose rivals are `files`.
    fn show(&mut self, line: u32, path: &VaultPath, text: &str, files: &Files) -> Result<(), Error> {
        let from = arguments::path("path", &self.path)?;
        let Some(shown) = TextLines::new(text.as_bytes()).get(line as usize) else { return Ok(()) };
        let is_meant = |link: &Link| {
            !link.is_external() && !link.target.is_empty() && resolve(&link.target, &from, files) == Some(path)
        };
        // The position around which to cut the line. A line of a note may have another meaning by itself; a line of
        // another file has none.
        let at = if from.is_note() {
            let links = atlas_vault::parse(&String::from_utf8_lossy(shown)).links;
            links.iter().find(|link| is_meant(link)).map(|link| link.range.start)
        } else {
            let links = atlas_vault::links(&from, text);
            let link = links.iter().find(|link| link.line == line && is_meant(link));
            let line_start = |at: usize| text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
            link.map(|link| link.range.start - line_start(link.range.start))
        };
        self.line = Some(line + 1);
        self.text = Some(cut_at(shown, at.unwrap_or_default(), LINE_BYTES));
        Ok(())
    }
}
