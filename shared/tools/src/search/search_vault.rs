//! `search_vault`: one search for all ways to search, which it chooses by what is asked.

use atlas_ops::arguments::{Bounded, Exact, Given, Root, Text};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::cursor;
use atlas_ops::read::paging::{Limit, Page, PartialPage, clamped};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::expression::Expression;
use super::lines::number_of;
use super::search_jsonlogic::{self, LogicMatch, SearchJsonlogic};
use super::search_regex::{self, RegexMatch, SearchRegex};
use super::search_text::{self, SearchText, TextMatch};
use super::{Listing, Output as Results, SearchResult, ranking};

/// One search for all.
pub struct SearchVault;

/// What to look for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Words, a regular expression, or JSONLogic as an object.
    query: Query,
    /// How it is meant.
    #[serde(default)]
    mode: Mode,
    /// Only in this folder.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    root: String,
    /// Also tell which modes were tried, and why.
    #[serde(default)]
    explain: bool,
    /// Most results to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the page before.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// What to look for.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Query {
    /// Words or a regular expression, of 1 to 1,000 bytes.
    Text(#[schemars(length(min = 1, max = 1000))] String),
    /// JSONLogic.
    Logic(Map<String, Value>),
}

/// How a query is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// As it looks: an object is JSONLogic, `/…/` a regular expression; else words, and the text as it stands if no note has them.
    #[default]
    Auto,
    /// Words: the notes that say most about them, best first.
    Text,
    /// A regular expression, which may stand in `/…/` with flags behind it.
    Regex,
    /// A query of the plugin Dataview, which is not here.
    Dql,
    /// JSONLogic, also as a text.
    Jsonlogic,
    /// By meaning, for which there is no model here.
    Semantic,
}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    #[serde(flatten)]
    page: PartialPage<Hit>,
    /// Which modes were tried, if asked for.
    #[serde(rename = "_explain", skip_serializing_if = "Option::is_none")]
    explain: Option<Explanation>,
}

/// A note or line.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Hit {
    /// Its path.
    path: String,
    /// How much it says about the words (BM25), or about the text as it stands; 1 in the other modes.
    score: f64,
    /// How it was found: `text`, `literal`, `regex`, `jsonlogic`.
    mode_used: Way,
    /// The section that the snippet is of: the path, and the heading above as `#anchor` if there is one. Where words were looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk_id: Option<String>,
    /// What it says there.
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<String>,
    /// The line of that, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
}

/// A way to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Ranked words.
    Text,
    /// A text as it stands.
    Literal,
    /// A regular expression.
    Regex,
    /// JSONLogic.
    Jsonlogic,
}

/// Which modes were tried.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Explanation {
    /// Those, in order.
    modes_tried: Vec<Way>,
    /// The one that the results are of.
    chosen: Way,
    /// Why that one.
    reason: &'static str,
}

/// A page of one way; its own cursor within.
#[derive(Serialize, Deserialize)]
struct Begin {
    way: Way,
    cursor: String,
}

/// What to search for, whichever way.
struct Search<'a> {
    context: &'a Context<'a>,
    query: &'a Query,
    root: &'a str,
    limit: Limit,
    /// The cursor of the way.
    cursor: Option<Text<4096>>,
}

impl Operation for SearchVault {
    const INFO: Info = Info {
        name: "search_vault",
        title: "Search the vault",
        description: "One search for all: words (the notes that say most about them, best first; if none has them, the lines with that text), a regular expression written /…/, or a JSONLogic object over properties; or the mode that is named. Example: {\"query\": \"backup strategy\"}",
        scopes: &[Scope::ReadVault],
        tags: &["search"],
        aliases: &[Alias::Ignored("verbosity")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { query, mode, root, explain, limit, cursor } = arguments;
        let begin: Option<Begin> = cursor.as_ref().map(|cursor| cursor::decode(cursor.as_str())).transpose()?;
        let (chosen, reason) = choose(&query, mode)?;
        let way = begin.as_ref().map_or(chosen, |begin| begin.way);
        // Words may have gone over to the text as it stands.
        if way != chosen && (chosen, way, mode) != (Way::Text, Way::Literal, Mode::Auto) {
            return Err(cursor::invalid());
        }
        let is_first = begin.is_none();
        let cursor = begin.map(|begin| Text::new(&begin.cursor).map_err(|_| cursor::invalid())).transpose()?;
        let search = Search { context, query: &query, root: &root, limit, cursor };
        let mut answer = search.page(way).await?;
        let mut explanation = Explanation { modes_tried: vec![way], chosen: way, reason };
        let page = &answer.value.page;
        let has_none = page.items.is_empty() && page.cursor.is_none();
        if mode == Mode::Auto && way == Way::Text && is_first && has_none {
            answer = search.page(Way::Literal).await?;
            let reason = "no note has the words, so the text was looked for as it stands";
            explanation = Explanation { modes_tried: vec![Way::Text, Way::Literal], chosen: Way::Literal, reason };
        }
        let way = explanation.chosen;
        let next = answer.value.page.cursor.take();
        answer.value.page.cursor = next.and_then(|cursor| cursor::encode(&Begin { way, cursor }));
        let output = Output { page: answer.value, explain: explain.then_some(explanation) };
        Ok(Answer { value: output, generation: answer.generation })
    }
}

/// The way that a mode and a query ask for, and why.
fn choose(query: &Query, mode: Mode) -> Result<(Way, &'static str), Error> {
    let refused = |reason, message| Error::bad_request(reason, message).with("field", "mode");
    match (mode, query) {
        (Mode::Auto, Query::Logic(_)) => Ok((Way::Jsonlogic, "the query is an object")),
        (Mode::Auto, Query::Text(text)) if delimited(text).is_some() => Ok((Way::Regex, "the query stands in /…/")),
        (Mode::Auto, Query::Text(_)) => Ok((Way::Text, "the query is words")),
        (Mode::Text, Query::Text(_)) => Ok((Way::Text, "it was asked for")),
        (Mode::Regex, Query::Text(_)) => Ok((Way::Regex, "it was asked for")),
        (Mode::Jsonlogic, _) => Ok((Way::Jsonlogic, "it was asked for")),
        (Mode::Text | Mode::Regex, Query::Logic(_)) => {
            Err(refused(Reason::InvalidInput, "mode: an object is JSONLogic: say jsonlogic or auto"))
        }
        (Mode::Dql, _) => {
            let message = "mode: the plugin Dataview is not here: say jsonlogic, or use find_notes_by_property";
            Err(Error::not_found(Reason::PluginMissing, message).with("plugin", "dataview"))
        }
        (Mode::Semantic, _) => {
            Err(refused(Reason::EmbeddingProviderError, "mode: there is no model for meanings here: say text"))
        }
    }
}

/// The error of a search that names an argument of its own: here that is a part of the query.
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

impl Search<'_> {
    async fn page(&self, way: Way) -> Result<Answer<PartialPage<Hit>>, Error> {
        match way {
            Way::Text => self.ranked().await,
            Way::Literal => {
                let (query, root) = (self.text(self.words()?)?, self.root.to_owned());
                let (case_sensitive, whole_word) = (false, false);
                let (limit, cursor) = (self.limit, Given(self.cursor.clone()));
                let arguments = search_text::Arguments { query, case_sensitive, whole_word, root, limit, cursor };
                Ok(SearchText::run(self.context, arguments).await?.map(|page| page.map(Hit::of_text)))
            }
            Way::Regex => {
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
                Ok(found.map(|page| page.map(Hit::of_regex)))
            }
            Way::Jsonlogic => {
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
                Ok(found.map(|page| page.map(Hit::of_logic)))
            }
        }
    }

    /// The query, which is no object.
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

    /// The notes that say most about the words.
    async fn ranked(&self) -> Result<Answer<PartialPage<Hit>>, Error> {
        let query = self.text(self.words()?)?;
        let of = number_of(&(SearchVault::INFO.name, &query, self.root));
        let (limit, overflow) = clamped(self.limit);
        let listing = Listing::in_root(self.context, Root::of("root", self.root)?, limit, of, self.context.limits);
        let request = ranking::Request { expression: Expression::parse(query.as_str())?, listing };
        let cursor: Option<ranking::Cursor> =
            self.cursor.as_ref().map(|cursor| cursor::decode(cursor.as_str())).transpose()?;
        if cursor.as_ref().is_some_and(|cursor| cursor.of != of) {
            return Err(cursor::invalid());
        }
        let is_first = cursor.is_none();
        let generation = cursor.as_ref().map(|cursor| cursor.generation);
        let answer =
            cursor::read(self.context, generation, |view| ranking::page(view, &request, cursor.as_ref())).await?;
        Ok(answer.map(|Results { results, cursor, partial, .. }| {
            let notes = results.into_iter().filter_map(|found| match found {
                SearchResult::Note(note) => Some(Hit::of_note(note)),
                SearchResult::Line(_) => None,
            });
            let items: Vec<Hit> = notes.collect();
            let total_count = (is_first && cursor.is_none() && partial.is_none()).then_some(items.len());
            PartialPage { page: Page { items, cursor, overflow, total_count }, partial }
        }))
    }
}

impl Hit {
    fn of_note(note: super::Note) -> Self {
        let super::Note { path, score, anchor, snippet, line, .. } = note;
        let chunk_id = Some(format!("{path}{}", anchor.unwrap_or_default()));
        Self { chunk_id, path, score, mode_used: Way::Text, snippet: Some(snippet), line: Some(line) }
    }

    fn of_text(found: TextMatch) -> Self {
        let TextMatch { path, line, snippet, score, .. } = found;
        Self { chunk_id: None, path, score, mode_used: Way::Literal, snippet: Some(snippet), line: Some(line) }
    }

    fn of_regex(found: RegexMatch) -> Self {
        let RegexMatch { path, line, snippet, .. } = found;
        Self { chunk_id: None, path, score: 1.0, mode_used: Way::Regex, snippet: Some(snippet), line: Some(line) }
    }

    fn of_logic(found: LogicMatch) -> Self {
        Self { chunk_id: None, path: found.path, score: 1.0, mode_used: Way::Jsonlogic, snippet: None, line: None }
    }
}
