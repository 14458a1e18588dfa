//! `search`: the lines that match, as ripgrep finds them in the folder, from the index alone.
//!
//! # Layout
//! - `plan`: what the index is asked; `lines`: what matches in one text

mod lines;
mod plan;

use std::sync::Arc;

use atlas_mirror::Snapshot;
use globset::{GlobBuilder, GlobMatcher};
use grep_searcher::Searcher;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arguments::{self, Bounded, Exact, Text};
use crate::cursor;
use crate::error::Error;
use crate::excerpt::{Lines, cut_at};
use crate::index::{Blocks, DocumentRef, Index, Want};
use crate::merge::Merge;
use crate::operation::{Answer, Context, Info, Operation, Scope};
use crate::passages::Passages;
use crate::search::lines::Pattern;
use crate::search::plan::Plan;

/// The operation.
pub struct Search;

/// What to look for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SearchRequest")]
pub struct Arguments {
    /// The regular expression (ripgrep's syntax) or the literal text to look for in each line.
    query: Exact<1000>,
    /// How `query` is meant.
    mode: Mode,
    /// Only files whose paths match, as `rg --glob`: `devlog/*.md`; without a slash at any depth; with `!` in front only others.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Text<500>")]
    path_filter: Option<Text<500>>,
    /// Whether case counts.
    #[serde(default)]
    case: Case,
    /// Lines to return before and after each match.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Bounded<0, 5>")]
    context_lines: Option<Bounded<0, 5>>,
    /// Most matches to return; 50 if not given.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Bounded<1, 1000>")]
    limit: Option<Bounded<1, 1000>>,
    /// The `cursor` of the page before, with the same arguments. All pages show the vault as it was at the first.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Text<4096>")]
    cursor: Option<Text<4096>>,
    /// Also tell how the index was used.
    #[serde(default)]
    explain: bool,
}

/// How a query is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A regular expression.
    Regex,
    /// Just this text.
    Literal,
}

/// Whether case counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Case {
    /// It does.
    #[default]
    Sensitive,
    /// It does not.
    Insensitive,
    /// It does if the query has an upper-case letter.
    Smart,
}

/// What matches.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SearchResponse")]
pub struct Output {
    /// The lines, by path and line.
    results: Vec<Match>,
    /// What to pass for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// Why the page ends before it is full, where it does; its cursor goes on from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    partial: Option<&'static str>,
    /// How the index was used, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<Explained>,
}

/// A line that matches.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Match {
    /// The file's path.
    path: String,
    /// The line's number, counted from 1.
    line: u64,
    /// The line; a long one cut around the match, the cuts marked with `…`.
    text: String,
    /// The lines before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<String>,
    /// The lines after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<String>,
}

/// How the index was used.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Explained {
    /// `index` if it says where matches can be, `scan` if every text had to be looked at.
    kind: &'static str,
    /// Files that were looked at.
    files: usize,
    /// Bytes of their text.
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct Cursor {
    generation: u64,
    /// Of the arguments that make the listing.
    of: u32,
    path: String,
    line: u64,
}

const DEFAULT_LIMIT: usize = 50;
/// Bytes fetched in one wave, about.
const WAVE_BYTES: u64 = 4 << 20;
/// Most files looked through after one wave.
const MAX_BATCH: usize = 1024;
/// Most bytes of a line that matched, and of one beside it.
const MATCH_BYTES: usize = 1_200;
const BESIDE_BYTES: usize = 400;

impl Operation for Search {
    const INFO: Info = Info {
        name: "search",
        title: "Search",
        description: "Finds the lines that match a regular expression or a literal text, with ripgrep's syntax and answers, in notes and other text files. Returns path, line number and line, in that order; pages by cursor.",
        scopes: &[Scope::ReadVault],
        destructive: false,
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let query = arguments.query.as_str();
        let pattern = Pattern::new(query, arguments.mode, arguments.case)?;
        let plan = pattern.hir.as_ref().map_or_else(|| Plan::of_literal(query), Plan::of_regex);
        let filter = arguments.path_filter.as_ref().map(|filter| Filter::new(filter.as_str())).transpose()?;
        let of = crc32fast::hash(
            format!("{:?}", (query, arguments.mode, arguments.case, &arguments.path_filter)).as_bytes(),
        );
        let request = Request {
            pattern,
            plan,
            filter,
            context_lines: arguments.context_lines.map_or(0, Bounded::get),
            limit: arguments.limit.map_or(DEFAULT_LIMIT, Bounded::get),
            explain: arguments.explain,
            max_bytes: context.limits.max_scanned_bytes,
            of,
        };
        let cursor: Option<Cursor> =
            arguments.cursor.as_ref().map(|cursor| cursor::decode(cursor.as_str())).transpose()?;
        if cursor.as_ref().is_some_and(|cursor| cursor.of != of) {
            return Err(cursor::invalid());
        }
        let generation = cursor.as_ref().map(|cursor| cursor.generation);
        cursor::read(context, generation, |snapshot| search(snapshot, &request, cursor.as_ref())).await
    }
}

struct Request {
    pattern: Pattern,
    plan: Plan,
    filter: Option<Filter>,
    context_lines: usize,
    limit: usize,
    explain: bool,
    max_bytes: u64,
    of: u32,
}

/// Which paths are looked at.
struct Filter {
    glob: GlobMatcher,
    is_negated: bool,
}

impl Filter {
    fn new(text: &str) -> Result<Self, Error> {
        let (is_negated, glob) = text.strip_prefix('!').map_or((false, text), |glob| (true, glob));
        let glob = match glob.strip_prefix('/') {
            Some(from_root) => from_root.to_owned(),
            None if glob.contains('/') => glob.to_owned(),
            None => format!("**/{glob}"),
        };
        let built = GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).build();
        let invalid = |error: globset::Error| Error::bad_request("glob_invalid", format!("path_filter: {error}"));
        Ok(Self { glob: built.map_err(invalid)?.compile_matcher(), is_negated })
    }

    fn takes(&self, path: &str) -> bool {
        self.glob.is_match(path) != self.is_negated
    }
}

async fn search(snapshot: Arc<Snapshot>, request: &Request, cursor: Option<&Cursor>) -> Result<Output, Error> {
    let generation = snapshot.generation();
    let probes = request.plan.probes(snapshot.segments().len());
    let index = Index::fetch(snapshot, Want { probes: &probes, ..Want::default() }).await?;
    let mut chunks = Vec::new();
    for segment in index.segments() {
        chunks.push(request.plan.chunks(&index, segment, &mut probes.iter().cloned())?);
    }
    let is_scan = chunks.iter().any(Option::is_none);
    let passages = Passages::of(&index, chunks)?;
    let mut candidates = Merge::new(&index);
    for segment in index.segments() {
        candidates.add(segment, passages.documents(segment)?);
    }

    let mut page = Page {
        request,
        cursor,
        searcher: Pattern::searcher(),
        results: Vec::new(),
        last: String::new(),
        files: 0,
        bytes: 0,
    };
    let mut partial = None;
    let mut waiting = None;
    loop {
        let mut blocks = Blocks::new(&index);
        let mut batch = Vec::new();
        while batch.len() < MAX_BATCH {
            let document = match waiting.take() {
                Some(document) => document,
                None => match candidates.next()? {
                    Some(document) if !page.takes(&index, document)? => continue,
                    Some(document) => document,
                    None => break,
                },
            };
            let before = blocks.len();
            blocks.want(document.segment, index.span(document)?)?;
            if !batch.is_empty() && blocks.cost()? > WAVE_BYTES {
                blocks.truncate(before);
                waiting = Some(document);
                break;
            }
            batch.push(document);
        }
        if batch.is_empty() {
            break;
        }
        if page.bytes >= request.max_bytes {
            partial = Some(
                "there is more text than one call looks through: go on with the cursor, or narrow path_filter or the query",
            );
            break;
        }
        let blocks = blocks.fetch().await?;
        for document in batch {
            let text = blocks.text(document.segment, index.span(document)?)?;
            page.look(index.path(document)?, &text)?;
        }
        if page.results.len() > request.limit {
            break;
        }
    }
    Ok(page.finish(generation, partial, is_scan))
}

/// A page of matches.
struct Page<'a> {
    request: &'a Request,
    cursor: Option<&'a Cursor>,
    searcher: Searcher,
    results: Vec<Match>,
    /// The path of the last file that was looked at.
    last: String,
    files: usize,
    bytes: u64,
}

impl Page<'_> {
    /// Whether a document is live, has text, and comes into question.
    fn takes(&self, index: &Index, document: DocumentRef) -> Result<bool, Error> {
        if !index.is_live(document) || index.span(document)?.length == 0 {
            return Ok(false);
        }
        let path = index.path(document)?;
        Ok(self.cursor.is_none_or(|cursor| cursor.path <= path)
            && !path.starts_with(".obsidian/")
            && self.request.filter.as_ref().is_none_or(|filter| filter.takes(&path)))
    }

    /// Adds the matches of a file, one more than the page holds at most.
    fn look(&mut self, path: String, text: &[u8]) -> Result<(), Error> {
        let Self { request, cursor, .. } = self;
        let room = (request.limit + 1).saturating_sub(self.results.len());
        if room == 0 {
            return Ok(());
        }
        self.files += 1;
        self.bytes += text.len() as u64;
        let after = cursor.filter(|cursor| cursor.path == path).map_or(0, |cursor| cursor.line);
        let lines = request.pattern.lines(&mut self.searcher, text, after, room)?;
        let beside = if request.context_lines > 0 && !lines.is_empty() { Some(Lines::new(text)) } else { None };
        for line in lines {
            let number = line.number as usize;
            let range = |from: usize, to: usize| -> Vec<String> {
                let lines = beside.iter().flat_map(|lines| (from..to).filter_map(|line| lines.get(line)));
                lines.map(|line| cut_at(line, 0, BESIDE_BYTES)).collect()
            };
            self.results.push(Match {
                path: path.clone(),
                line: line.number,
                text: cut_at(line.bytes.strip_suffix(b"\r").unwrap_or(&line.bytes), line.at, MATCH_BYTES),
                before: range((number - 1).saturating_sub(request.context_lines), number - 1),
                after: range(number, number + request.context_lines),
            });
        }
        self.last = path;
        Ok(())
    }

    fn finish(mut self, generation: u64, partial: Option<&'static str>, is_scan: bool) -> Output {
        let more = self.results.len() > self.request.limit;
        self.results.truncate(self.request.limit);
        let last = match self.results.last() {
            Some(last) if more => Some((last.path.clone(), last.line)),
            _ => partial.map(|_| (self.last, u64::MAX)),
        };
        let of = self.request.of;
        let cursor = last.and_then(|(path, line)| cursor::encode(&Cursor { generation, of, path, line }));
        let kind = if is_scan { "scan" } else { "index" };
        let plan = self.request.explain.then_some(Explained { kind, files: self.files, bytes: self.bytes });
        Output { results: self.results, cursor, partial, plan }
    }
}
