//! `search`: the lines that match, as ripgrep finds them in the folder, or the notes that say most about some words, best first;
//! both from the index alone.
//!
//! # Layout
//! - `matching`: pages of lines, each a `page` under way; `plan`: what the index is asked for a pattern; `regions`: the
//!   text to look at; `pattern`: what matches there
//! - `ranking`: pages of notes; `scores`: how they rank; `merge`: lists of documents, merged; `ranked`: the best of them in order; `closer`: how the best do; `anchors`: what links say of them; `expression`: what words are looked for; [`expansion`]: all their spellings; `properties`: conditions on these; `lists`: what the
//!   index has of them; `language`: which words have one stem; `snippet`: what is shown of a note; `sieve`: which words of its text are looked up
//! - `meaning`: the vector of a query; `nearest`: the passages near it, by `clustered` where all are too many, and `near`, what comes into question; `fused`: notes by words and meaning; `chunks`: passages as results
//! - `surroundings`: the lines beside one, and its page
//! - `filter`: which paths are looked at; `listing`: what all of these have in common
//! - [`search_text`], by `relevance`, [`search_regex`], by `lines`; [`search_jsonlogic`]; [`search_vault`], which chooses among them: as obsidian-tc has them; [`search_semantic`], and [`find_similar`] notes

mod anchors;
pub(crate) mod chunks;
pub(crate) mod closer;
mod clustered;
pub(crate) mod common_words;
mod engine;
pub mod expansion;
pub(crate) mod expression;
pub(crate) mod filter;
pub mod find_similar;
mod fused;
mod language;
mod lines;
mod listing;
pub(crate) mod lists;
mod matching;
pub(crate) mod meaning;
mod merge;
pub(crate) mod near;
pub(crate) mod nearest;
mod page;
mod pattern;
mod plan;
mod properties;
pub(crate) mod ranked;
pub(crate) mod ranking;
mod regions;
mod relevance;
mod request;
pub(crate) mod scores;
pub mod search_jsonlogic;
pub mod search_regex;
pub mod search_semantic;
pub mod search_text;
pub mod search_vault;
mod sieve;
pub(crate) mod snippet;

pub(crate) use self::surroundings::has_pages;
mod surroundings;

use std::ops::Range;

use atlas_ops::arguments::{Bounded, Exact, Given, Text};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::cursor;
use atlas_ops::read::excerpt::cut_at;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::search::expression::Expression;
use crate::search::filter::Filter;
use crate::search::listing::Listing;
use crate::search::meaning::Asked;
use crate::search::pattern::Pattern;
use crate::search::plan::Plan;

/// Finds notes by words, best first, with title, nearest heading and a snippet (mode text.
pub struct Search;

/// The search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The query. As text: words, `"phrases"`, `word*`, `-word`, `tag:name`, `path:text`, `[property:value]`. Else the regular expression (ripgrep's) or the literal text to find in each line.
    query: Exact<1000>,
    /// The mode of `query`; if not given `hybrid`, which is `text` where the vault has no embedding model.
    #[serde(default)]
    mode: Given<Mode>,
    /// Only files whose paths match, like `rg --glob`: `devlog/*.md`; without a slash at any depth; with `!` in front only others.
    #[serde(default, deserialize_with = "filter::given")]
    path_filter: Given<Text<500>>,
    /// Whether case matters: only for `regex` and `literal`, where it does if not given.
    #[serde(default)]
    case: Given<Case>,
    /// Lines to return before and after each match; only for `regex` and `literal`.
    #[serde(default)]
    context_lines: Given<Bounded<0, 5>>,
    /// Most results to return; if not given 50 lines, or 10 notes.
    #[serde(default)]
    limit: Given<Bounded<1, 1000>>,
    /// The `cursor` of the previous page, with the same arguments. All pages show the same generation.
    #[serde(default)]
    cursor: Given<Text<4096>>,
    /// Also return how the index was used, and what scores are made of.
    #[serde(default)]
    explain: bool,
}

/// The mode of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Words and their meaning: the most relevant notes, best first.
    #[default]
    Hybrid,
    /// Words: the most relevant notes, best first.
    Text,
    /// Meaning only: the notes with the nearest passages, best first.
    Semantic,
    /// A regular expression.
    Regex,
    /// A literal text.
    Literal,
}

/// Whether case matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Case {
    /// Case matters.
    #[default]
    Sensitive,
    /// Case does not matter.
    Insensitive,
    /// Case matters if the query has an upper-case letter.
    Smart,
}

/// The results.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Notes, best first; or lines, by path and line.
    pub(crate) results: Vec<SearchResult>,
    /// The argument for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cursor: Option<String>,
    /// Why the page is not full, if it is not. To continue, pass the cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    partial: Option<&'static str>,
    /// Words that no note contains, and the similar words searched for instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    corrections: Vec<Correction>,
    /// How notes were found: `hybrid`, `semantic` or `text`. Absent where that is as it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode_used: Option<&'static str>,
    /// Notes that cannot be found by meaning yet: the next sync embeds them.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<u64>,
    /// Why meaning did not count, if it was to; and the words that did not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
    /// How the index was used, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<Explained>,
}

/// One result.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SearchResult {
    /// In the modes `hybrid`, `text` and `semantic`.
    Note(Note),
    /// In the modes `regex` and `literal`.
    Line(Line),
}

/// A note with the words.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Note {
    /// Its path.
    pub(crate) path: String,
    /// Its title: the property, else its first heading of level 1, else its name.
    pub(crate) title: String,
    /// Its relevance for the words. Comparable within one query.
    pub(crate) score: f64,
    /// The heading nearest above the snippet, as `#anchor`; null if there is none.
    pub(crate) anchor: Option<String>,
    /// The number of the snippet's first line, counted from 1.
    pub(crate) line: u64,
    /// The page of the snippet, counted from 1, in a file with pages, such as a PDF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) page: Option<u64>,
    /// The most relevant line of its most relevant section; a long one cut around the words, the cuts marked with `…`.
    snippet: String,
    /// The parts of its score, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Why>,
}

/// The parts of a score.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Why {
    /// By the words of the whole note.
    words: f64,
    /// By those that stand in its best section.
    passage: f64,
    /// By the similarity of its name.
    name: f64,
    /// By its meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning: Option<f64>,
    /// By the files that link to it.
    links: f64,
    /// The number of these, up to 100.
    linked_from: usize,
    /// The searched words that its text has.
    has: Vec<String>,
}

/// The replacement of a word.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Correction {
    /// The word, folded.
    word: String,
    /// Its possible meanings.
    instead: Vec<String>,
}

/// A line that matches.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Line {
    /// The file's path.
    pub(crate) path: String,
    /// The line's number, counted from 1.
    pub(crate) line: u64,
    /// Its page, counted from 1, in a file with pages, such as a PDF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) page: Option<u64>,
    /// The line; a long one cut around the match, the cuts marked with `…`.
    pub(crate) text: String,
    /// The lines before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<String>,
    /// The lines after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<String>,
    /// The position of its first match, if requested.
    #[serde(skip)]
    pub(crate) place: Option<MatchPlace>,
    /// Bytes of the file's text.
    #[serde(skip)]
    file_bytes: u32,
}

/// A match in its line.
#[derive(Debug)]
pub(crate) struct MatchPlace {
    /// The column of its first character, counted from 1.
    pub(crate) column: usize,
    /// The match; a long one cut, with `…` at its end.
    pub(crate) text: String,
}

/// Most bytes of a match.
const PLACE_BYTES: usize = 400;

impl MatchPlace {
    fn of(line: &[u8], range: Range<usize>) -> Self {
        let before = line.get(..range.start).unwrap_or_default();
        let text = line.get(range).unwrap_or_default();
        Self { column: String::from_utf8_lossy(before).chars().count() + 1, text: cut_at(text, 0, PLACE_BYTES) }
    }
}

/// How the index was used.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Explained {
    /// `ranking`; or `index` if it narrows the search, `scan` if every text had to be read.
    kind: &'static str,
    /// Files that were ranked or read.
    files: usize,
    /// Bytes of text that were read.
    bytes: u64,
}

const DEFAULT_LINES: usize = 50;

impl Operation for Search {
    const INFO: Info = Info {
        name: "search",
        title: "Search",
        description: "Finds notes by words, and by meaning where the vault has an embedding model, best first, with title, nearest heading and a snippet (words, \"phrases\", word*, -word, tag:name, path:text); or, with mode regex or literal, the lines that match, in notes and other text files, by path and line. To find notes by a property take find_notes_by_property, for tasks list_tasks. Example: {\"query\": \"backup strategy\", \"limit\": 5}",
        scopes: &[Scope::ReadVault],
        tags: &["search"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let of = arguments.listing();
        let mode = arguments.mode.unwrap_or_default();
        let is_text = !matches!(mode, Mode::Regex | Mode::Literal);
        let limits = context.limits;
        let default = if is_text { limits.max_results } else { DEFAULT_LINES };
        let listing = Listing {
            filter: arguments.path_filter.as_ref().map(|filter| Filter::new(filter.as_str())).transpose()?,
            limit: arguments.limit.map_or(default, Bounded::get),
            explain: arguments.explain,
            of,
            limits,
        };
        let query = arguments.query.as_str();
        if is_text {
            arguments.refuse_for_text()?;
            let meaning = (mode != Mode::Text).then(|| Asked::new(context, query, mode == Mode::Semantic));
            let expression = Expression::parse(query)?;
            let asks_for_meaning = arguments.mode.is_some();
            let request = ranking::Request { context, expression, listing, meaning, asks_for_meaning };
            let cursor = arguments.cursor_of(|cursor: &ranking::Cursor| cursor.of == of)?;
            let generation = cursor.as_ref().map(|cursor| cursor.generation);
            return cursor::read(context, generation, |view| ranking::page(view, &request, cursor.as_ref())).await;
        }
        let is_literal = mode == Mode::Literal;
        let pattern = Pattern::new(query, is_literal, arguments.case.unwrap_or_default())?;
        let request = request::Request {
            plan: pattern.hir.as_ref().map_or_else(|| Plan::of_literal(query), Plan::of_regex),
            pattern,
            context_lines: arguments.context_lines.map_or(0, Bounded::get),
            has_places: false,
            most_of_file: None,
            deadline: context.deadline(limits.max_scan_time),
            listing,
        };
        let cursor = arguments.cursor_of(|cursor: &request::Cursor| cursor.of == of)?;
        let generation = cursor.as_ref().map(|cursor| cursor.generation);
        cursor::read(context, generation, |view| matching::page(view, &request, cursor.as_ref())).await
    }
}

impl Arguments {
    /// The first `limit` results.
    pub(crate) fn of(
        query: Exact<1000>,
        mode: Option<Mode>,
        path_filter: Option<Text<500>>,
        limit: Option<Bounded<1, 1000>>,
    ) -> Self {
        let (path_filter, limit) = (Given(path_filter), Given(limit));
        let (case, context_lines, cursor) = (Given(None), Given(None), Given(None));
        let mode = Given(mode);
        Self { query, mode, path_filter, case, context_lines, limit, cursor, explain: false }
    }

    /// A hash of the listing's arguments, to which a cursor belongs.
    fn listing(&self) -> u32 {
        let listing = (self.query.as_str(), self.mode.unwrap_or_default(), self.case, &self.path_filter);
        crc32fast::hash(format!("{listing:?}").as_bytes())
    }

    fn cursor_of<C: serde::de::DeserializeOwned>(&self, is_of_this: impl Fn(&C) -> bool) -> Result<Option<C>, Error> {
        let Some(cursor) = &*self.cursor else { return Ok(None) };
        Some(cursor::decode(cursor.as_str())).transpose()?.filter(is_of_this).map(Some).ok_or_else(cursor::invalid)
    }

    fn refuse_for_text(&self) -> Result<(), Error> {
        let needless = [("case", self.case.is_some()), ("context_lines", self.context_lines.is_some())];
        match needless.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((field, _)) => {
                let message =
                    format!("{field}: leave it out where notes are found by words, or say mode regex or literal");
                Err(Error::bad_request(Reason::ValidationError, message).with("field", field))
            }
        }
    }
}
