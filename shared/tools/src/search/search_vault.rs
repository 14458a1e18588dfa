//! `search_vault`: one search for all modes, which are chosen by the query.

use atlas_ops::arguments::{Bounded, Exact, Given, Root, Text};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::cursor;
use atlas_ops::read::nearest;
use atlas_ops::read::paging::{Limit, Page, PartialPage, clamped};
use atlas_ops::read::view::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::expression::Expression;
use super::lines::number_of;
use super::listing::Listing;
use super::meaning::Asked;
use super::search_jsonlogic::{self, LogicMatch, SearchJsonlogic};
use super::search_regex::{self, RegexMatch, SearchRegex};
use super::search_text::{self, SearchText, TextMatch};
use super::{Correction, Output as Results, SearchResult, ranking};

/// One search for all.
pub struct SearchVault;

/// The search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Words, a regular expression, or JSONLogic as an object.
    query: Query,
    /// The mode.
    #[serde(default)]
    mode: Mode,
    /// Only in this folder.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    root: String,
    /// Also return which modes were tried, and why.
    #[serde(default)]
    explain: bool,
    /// Most results to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// A query.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Query {
    /// Words or a regular expression, of 1 to 1,000 bytes.
    Text(#[schemars(length(min = 1, max = 1000))] String),
    /// JSONLogic.
    Logic(Map<String, Value>),
}

/// The mode of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// By its form: an object is JSONLogic, `/…/` a regular expression; else words and, where there is an embedding model, their meaning; and the literal text if nothing is found.
    #[default]
    Auto,
    /// Words: the most relevant notes, best first.
    Text,
    /// A regular expression, which may be written as `/…/` with flags.
    Regex,
    /// A query of the plugin Dataview, which is not available here.
    Dql,
    /// JSONLogic, also as a text.
    Jsonlogic,
    /// Meaning only: the notes with the nearest passages. The vault needs an embedding model.
    Semantic,
    /// Words and meaning.
    Hybrid,
}

/// The results.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    #[serde(flatten)]
    page: PartialPage<Hit>,
    #[serde(flatten)]
    told: Told,
    /// The modes tried, if requested.
    #[serde(rename = "_explain", skip_serializing_if = "Option::is_none")]
    explain: Option<Explanation>,
}

/// How notes were found, where that is not as the query says.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Told {
    /// Words that no note has, with the words searched for instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    corrections: Vec<Correction>,
    /// The number of notes that still wait for their vectors, and are found by words only.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<u64>,
    /// Why meaning did not count, if it was asked for; and the words that did not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

/// A note or line.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Hit {
    /// Its path.
    path: String,
    /// Its relevance for the words (BM25), or for the literal text; 1 in the other modes.
    score: f64,
    /// How it was found: `text`, `hybrid`, `semantic`, `literal`, `regex`, `jsonlogic`.
    mode_used: Method,
    /// The section of the snippet: the path, and the heading above as `#anchor` if there is one. Only for words.
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk_id: Option<String>,
    /// A snippet.
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<String>,
    /// Its line, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
}

/// A method of search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Ranked words.
    Text,
    /// Meaning.
    Semantic,
    /// Ranked words, and their meaning where there is a model.
    Hybrid,
    /// A literal text.
    Literal,
    /// A regular expression.
    Regex,
    /// JSONLogic.
    Jsonlogic,
}

/// The modes tried.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Explanation {
    /// The modes, in order.
    modes_tried: Vec<Method>,
    /// The mode of the results.
    chosen: Method,
    /// The reason.
    reason: &'static str,
}

/// The start of a page: the method, with its own cursor.
#[derive(Serialize, Deserialize)]
struct PageStart {
    way: Method,
    cursor: String,
}

/// The common parameters of all methods.
struct Search<'a> {
    context: &'a Context<'a>,
    query: &'a Query,
    mode: Mode,
    root: &'a str,
    limit: Limit,
    /// The cursor of the method.
    cursor: Option<Text<4096>>,
}

impl Operation for SearchVault {
    const INFO: Info = Info {
        name: "search_vault",
        title: "Search the vault",
        description: "One search for all modes: words (the most relevant notes, best first; if no note has them, the lines with that text), a regular expression written /…/, or a JSONLogic object over properties; or the given mode. Where the vault has an embedding model, words are found by meaning too (hybrid). Example: {\"query\": \"backup strategy\"}",
        scopes: &[Scope::ReadVault],
        tags: &["search"],
        aliases: &[Alias::Ignored("verbosity")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { query, mode, root, explain, limit, cursor } = arguments;
        let begin: Option<PageStart> = cursor.as_ref().map(|cursor| cursor::decode(cursor.as_str())).transpose()?;
        let (chosen, reason) = choose(&query, mode)?;
        let way = begin.as_ref().map_or(chosen, |begin| begin.way);
        // A search for words may have continued with the literal text.
        if way != chosen && (chosen, way, mode) != (Method::Hybrid, Method::Literal, Mode::Auto) {
            return Err(cursor::invalid());
        }
        let is_first = begin.is_none();
        let cursor = begin.map(|begin| Text::new(&begin.cursor).map_err(|_| cursor::invalid())).transpose()?;
        let search = Search { context, query: &query, mode, root: &root, limit, cursor };
        let Found { mut answer, mut used, mut told } = search.page(way).await?;
        let mut way = way;
        let mut tried = vec![used];
        let mut reason = reason;
        let page = &answer.value.page;
        let has_none = page.items.is_empty() && page.cursor.is_none();
        if mode == Mode::Auto && way == Method::Hybrid && is_first && has_none {
            (way, reason) = (Method::Literal, "no note has the words, so the text was looked for as it stands");
            Found { answer, used, told } = search.page(way).await?;
            tried.push(used);
        }
        let explanation = Explanation { modes_tried: tried, chosen: used, reason };
        let next = answer.value.page.cursor.take();
        answer.value.page.cursor = next.and_then(|cursor| cursor::encode(&PageStart { way, cursor }));
        let output = Output { page: answer.value, told, explain: explain.then_some(explanation) };
        Ok(Answer { value: output, generation: answer.generation })
    }
}

/// The method for a mode and a query, and the reason.
fn choose(query: &Query, mode: Mode) -> Result<(Method, &'static str), Error> {
    let refused = |reason, message| Error::bad_request(reason, message).with("field", "mode");
    match (mode, query) {
        (Mode::Auto, Query::Logic(_)) => Ok((Method::Jsonlogic, "the query is an object")),
        (Mode::Auto, Query::Text(text)) if delimited(text).is_some() => Ok((Method::Regex, "the query stands in /…/")),
        (Mode::Auto, Query::Text(_)) => Ok((Method::Hybrid, "the query is words")),
        (Mode::Text, Query::Text(_)) => Ok((Method::Text, "it was asked for")),
        (Mode::Regex, Query::Text(_)) => Ok((Method::Regex, "it was asked for")),
        (Mode::Jsonlogic, _) => Ok((Method::Jsonlogic, "it was asked for")),
        (Mode::Semantic, Query::Text(_)) => Ok((Method::Semantic, "it was asked for")),
        (Mode::Hybrid, Query::Text(_)) => Ok((Method::Hybrid, "it was asked for")),
        (Mode::Text | Mode::Regex | Mode::Semantic | Mode::Hybrid, Query::Logic(_)) => {
            Err(refused(Reason::InvalidInput, "mode: an object is JSONLogic: say jsonlogic or auto"))
        }
        (Mode::Dql, _) => {
            Err(refused(Reason::InvalidInput, "mode: a Dataview query gives rows, not notes: give it to search_dql"))
        }
    }
}

/// The error of a method that names its own argument, which is a part of the query here.
fn of_query(error: Error) -> Error {
    match error.details.get("field").and_then(serde_json::Value::as_str) {
        Some(field @ ("pattern" | "flags" | "logic")) => {
            let message = error.message.strip_prefix(field).map(|rest| format!("query{rest}"));
            Error { message: message.unwrap_or_else(|| error.message.clone()), ..error }.with("field", "query")
        }
        _ => error,
    }
}

/// The pattern and flags of `/pattern/flags`.
fn delimited(text: &str) -> Option<(&str, &str)> {
    let (pattern, flags) = text.strip_prefix('/')?.rsplit_once('/')?;
    (!pattern.is_empty() && flags.bytes().all(|byte| byte.is_ascii_lowercase())).then_some((pattern, flags))
}

/// A page, and how it was found.
struct Found {
    answer: Answer<PartialPage<Hit>>,
    /// By words alone where meaning cannot count.
    used: Method,
    told: Told,
}

impl Search<'_> {
    /// A page.
    async fn page(&self, way: Method) -> Result<Found, Error> {
        let answer = match way {
            Method::Text | Method::Semantic | Method::Hybrid => return self.ranked(way).await,
            Method::Literal => {
                let (query, root) = (self.text(self.words()?)?, self.root.to_owned());
                let (case_sensitive, whole_word) = (false, false);
                let (limit, cursor) = (self.limit, Given(self.cursor.clone()));
                let arguments = search_text::Arguments { query, case_sensitive, whole_word, root, limit, cursor };
                SearchText::run(self.context, arguments).await?.map(|page| page.map(Hit::of_text))
            }
            Method::Regex => {
                let written = self.words()?;
                let (pattern, flags) = delimited(written).unwrap_or((written, "i"));
                let (pattern, flags, root) = (self.text(pattern)?, flags.to_owned(), self.root.to_owned());
                let (limit, cursor) = (self.limit, Given(self.cursor.clone()));
                let arguments = search_regex::Arguments {
                    pattern,
                    flags,
                    root,
                    max_matches_per_file: Bounded::default(),
                    limit,
                    cursor,
                };
                let found = SearchRegex::run(self.context, arguments).await.map_err(of_query)?;
                found.map(|page| page.map(Hit::of_regex))
            }
            Method::Jsonlogic => {
                let logic = match self.query {
                    Query::Logic(logic) => logic.clone(),
                    Query::Text(text) => serde_json::from_str(text).map_err(|error| {
                        let message = format!("query: JSONLogic is a JSON object with one operator: {error}");
                        Error::bad_request(Reason::JsonlogicError, message).with("field", "query")
                    })?,
                };
                let (root, limit, cursor) = (self.root.to_owned(), self.limit, Given(self.cursor.clone()));
                let arguments = search_jsonlogic::Arguments { logic, root, limit, cursor };
                let found = SearchJsonlogic::run(self.context, arguments).await.map_err(of_query)?;
                found.map(|page| page.map(Hit::of_logic))
            }
        };
        Ok(Found { answer, used: way, told: Told::default() })
    }

    /// The query, if it is not an object.
    fn words(&self) -> Result<&str, Error> {
        match self.query {
            Query::Text(text) => Ok(text),
            Query::Logic(_) => Err(cursor::invalid()),
        }
    }

    fn text(&self, text: &str) -> Result<Exact<1000>, Error> {
        Exact::new(text)
            .map_err(|cause| Error::bad_request(Reason::InvalidInput, format!("query: {cause}")).with("field", "query"))
    }

    /// The most relevant notes for the words, or their meaning.
    async fn ranked(&self, way: Method) -> Result<Found, Error> {
        let query = self.text(self.words()?)?;
        let of = number_of(&(SearchVault::INFO.name, &query, self.root, way));
        let (limit, overflow) = clamped(self.limit);
        let root = Root::of("root", self.root)?;
        let listing = Listing::in_root(root.clone(), limit, of, self.context.limits);
        let asked = Asked::new(self.context, query.as_str(), way == Method::Semantic);
        let meaning = (way != Method::Text).then_some(asked);
        let asks_for_meaning = self.mode != Mode::Auto;
        let expression = Expression::parse(query.as_str())?;
        let request = ranking::Request { context: self.context, expression, listing, meaning, asks_for_meaning };
        let cursor: Option<ranking::Cursor> =
            self.cursor.as_ref().map(|cursor| cursor::decode(cursor.as_str())).transpose()?;
        if cursor.as_ref().is_some_and(|cursor| cursor.of != of) {
            return Err(cursor::invalid());
        }
        let is_first = cursor.is_none();
        let generation = cursor.as_ref().map(|cursor| cursor.generation);
        let page = |view: View| {
            let (request, root, cursor) = (&request, &root, cursor.as_ref());
            async move {
                let found = ranking::page(view.clone(), request, cursor).await?;
                if is_first {
                    nearest::check_found(self.context, view, root, found.results.len()).await?;
                }
                Ok(found)
            }
        };
        let mut answer = cursor::read(self.context, generation, page).await?;
        let found = &mut answer.value;
        let used = match found.mode_used {
            Some("semantic") => Method::Semantic,
            Some("hybrid") => Method::Hybrid,
            _ => Method::Text,
        };
        let corrections = std::mem::take(&mut found.corrections);
        let told = Told { corrections, waiting: found.waiting, notice: found.notice.take() };
        let answer = answer.map(|Results { results, cursor, partial, .. }| {
            let notes = results.into_iter().filter_map(|found| match found {
                SearchResult::Note(note) => Some(Hit::of_note(note, used)),
                SearchResult::Line(_) => None,
            });
            let items: Vec<Hit> = notes.collect();
            let total_count = (is_first && cursor.is_none() && partial.is_none()).then_some(items.len());
            PartialPage { page: Page { items, cursor, overflow, total_count }, partial }
        });
        Ok(Found { answer, used, told })
    }
}

impl Hit {
    fn of_note(note: super::Note, mode_used: Method) -> Self {
        let super::Note { path, score, anchor, snippet, line, .. } = note;
        let chunk_id = Some(format!("{path}{}", anchor.unwrap_or_default()));
        Self { chunk_id, path, score, mode_used, snippet: Some(snippet), line: Some(line) }
    }

    fn of_text(found: TextMatch) -> Self {
        let TextMatch { path, line, snippet, score, .. } = found;
        Self { chunk_id: None, path, score, mode_used: Method::Literal, snippet: Some(snippet), line: Some(line) }
    }

    fn of_regex(found: RegexMatch) -> Self {
        let RegexMatch { path, line, snippet, .. } = found;
        Self { chunk_id: None, path, score: 1.0, mode_used: Method::Regex, snippet: Some(snippet), line: Some(line) }
    }

    fn of_logic(found: LogicMatch) -> Self {
        Self { chunk_id: None, path: found.path, score: 1.0, mode_used: Method::Jsonlogic, snippet: None, line: None }
    }
}
