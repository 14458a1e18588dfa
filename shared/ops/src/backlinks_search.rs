//! `backlinks_search`: the notes that link to a file.

use atlas_access::Access;
use atlas_segment::text::decoded;
use atlas_vault::VaultPath;
use atlas_vault::resolve::{Files, resolve};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arguments::{self, Bounded, Text};
use crate::cursor;
use crate::error::Error;
use crate::excerpt::{Lines, cut_at};
use crate::governor::fitting;
use crate::graph::Graph;
use crate::operation::{Answer, Context, Info, Operation, Scope, Touch};
use crate::view::View;

/// The operation.
pub struct BacklinksSearch;

/// Of which file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BacklinksSearchRequest")]
pub struct Arguments {
    /// Its path from the root of the vault, with its extension.
    path: String,
    /// Most notes to return; 50 if not given.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Bounded<1, 1000>")]
    limit: Option<Bounded<1, 1000>>,
    /// The `cursor` of the page before. All pages show the vault as it was at the first.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Text<4096>")]
    cursor: Option<Text<4096>>,
    /// Only the paths, without the lines that the links stand on: faster.
    #[serde(default)]
    paths_only: bool,
}

/// The notes that link to it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "BacklinksSearchResponse")]
pub struct Output {
    /// The notes, by path.
    results: Vec<Backlink>,
    /// How many there are on all pages.
    total: usize,
    /// What to pass for the next page; absent on the last.
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

/// Where a page begins.
#[derive(Serialize, Deserialize)]
struct Cursor {
    generation: u64,
    of: u32,
    after: String,
}

const DEFAULT_LIMIT: usize = 50;
/// Most bytes of a line.
const LINE_BYTES: usize = 400;

impl Operation for BacklinksSearch {
    const INFO: Info = Info {
        name: "backlinks_search",
        title: "Backlinks",
        description: "Lists the notes that link to a note or another file, by wikilink, embed or markdown link, with the line of the first link. Links mean what they mean in Obsidian. Pages by cursor.",
        scopes: &[Scope::ReadVault],
        destructive: false,
        tags: &["links"],
    };
    type Arguments = Arguments;
    type Output = Output;

    fn touches(arguments: &Self::Arguments) -> Result<Vec<Touch>, Error> {
        Ok(vec![(Access::Read, arguments::path("path", &arguments.path)?)])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path = arguments::path("path", &arguments.path)?;
        let of = crc32fast::hash(path.as_str().as_bytes());
        let cursor: Option<Cursor> =
            arguments.cursor.as_ref().map(|cursor| cursor::decode(cursor.as_str())).transpose()?;
        if cursor.as_ref().is_some_and(|cursor| cursor.of != of) {
            return Err(cursor::invalid());
        }
        let generation = cursor.as_ref().map(|cursor| cursor.generation);
        let after = cursor.as_ref().map(|cursor| cursor.after.as_str());
        let limit = arguments.limit.map_or(DEFAULT_LIMIT, Bounded::get);
        let with_lines = !arguments.paths_only;
        let page = |view: View| {
            let path = &path;
            async move {
                let generation = view.generation();
                let graph = Graph::fetch(context, view).await?;
                let all = graph.incoming(path, graph.file(path)?)?;
                let total = all.len();
                let begin = all.partition_point(|document| {
                    after.is_some_and(|after| graph.path(*document).is_ok_and(|path| path.as_str() <= after))
                });
                let page = all.get(begin..).unwrap_or_default();
                let (page, rest) = page.split_at(limit.min(page.len()));
                let mut results = Vec::with_capacity(page.len());
                for document in page {
                    results.push(Backlink { path: graph.path(*document)?, line: None, text: None });
                }
                if with_lines {
                    let files = graph.rivals(path)?;
                    for (result, text) in results.iter_mut().zip(graph.index().texts(page).await?) {
                        result.find_line(path, &decoded(&text), &files)?;
                    }
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

impl Backlink {
    /// Adds the first line of the note's `text` that links to the file at `path`, of which `files` are the rivals.
    fn find_line(&mut self, path: &VaultPath, text: &str, files: &Files) -> Result<(), Error> {
        let from = arguments::path("path", &self.path)?;
        let links = atlas_vault::parse(text).links;
        let is_meant = |target: &str| !target.is_empty() && resolve(target, &from, files) == Some(path);
        let first =
            links.iter().filter(|link| !link.is_external() && is_meant(&link.target)).min_by_key(|link| link.line);
        if let Some(link) = first {
            let at = text
                .get(..link.range.start)
                .map_or(0, |before| link.range.start - before.rfind('\n').map_or(0, |end| end + 1));
            self.line = Some(link.line + 1);
            self.text = Lines::new(text.as_bytes()).get(link.line as usize).map(|line| cut_at(line, at, LINE_BYTES));
        }
        Ok(())
    }
}
