//! `search_text`: the lines that contain a text.

use atlas_ops::arguments::{Exact, Given, Root, Text};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::paging::{Limit, PartialPage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lines::{LineSearch, number_of};
use super::pattern::Pattern;
use super::plan::Plan;
use super::{Case, Line, relevance};

/// Finds the lines that contain a literal text, in notes and other text files, the most relevant first, with the column
/// of the first match.
pub struct SearchText;

/// The search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The text, within one line.
    pub(super) query: Exact<1000>,
    /// Whether case matters.
    #[serde(default)]
    pub(super) case_sensitive: bool,
    /// Only whole words: no letter, digit or `_` beside it.
    #[serde(default)]
    pub(super) whole_word: bool,
    /// Only in this folder.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub(super) root: String,
    /// Most lines to return; 100 if not given, at most 1,000.
    #[serde(default)]
    pub(super) limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    pub(super) cursor: Given<Text<4096>>,
}

/// A line with the text.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TextMatch {
    /// The file's path.
    pub(super) path: String,
    /// The line's number, counted from 1.
    pub(super) line: u64,
    /// The column of the first match in it, counted from 1.
    col: usize,
    /// The line; a long one cut around the match, the cuts marked with `…`.
    pub(super) snippet: String,
    /// Its relevance: how often its note contains the text for its length, and whether the note's name, a heading, or a word is the text. Comparable within one query.
    pub(super) score: f64,
}

impl Operation for SearchText {
    const INFO: Info = Info {
        name: "search_text",
        title: "Search for a text",
        description: "Finds the lines that contain a literal text, in notes and other text files, the most relevant first, with the column of the first match; in any case unless case_sensitive. For notes ranked by words use search. Example: {\"query\": \"release date\"}",
        scopes: &[Scope::ReadVault],
        tags: &["search"],
        aliases: &[Alias::Ignored("verbosity")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = PartialPage<TextMatch>;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Self::Output>, Error> {
        let Arguments { query, case_sensitive, whole_word, root, limit, cursor } = arguments;
        let of = number_of(&(Self::INFO.name, &query, case_sensitive, whole_word, &root));
        let case = if case_sensitive { Case::Sensitive } else { Case::Insensitive };
        let pattern = Pattern::with(query.as_str(), true, case, whole_word);
        let pattern =
            pattern.map_err(|error| Error::bad_request(Reason::InvalidInput, error.message).with("field", "query"))?;
        let plan = Plan::of_literal(query.as_str());
        let root = Root::of("root", &root)?;
        let needle = query.as_str();
        let lines = LineSearch { pattern, plan, root, most_of_file: None, of, limit, cursor: cursor.as_ref() };
        let item = |Line { path, line, text, place, .. }, score| TextMatch {
            path,
            line,
            col: place.map_or(1, |place| place.column),
            snippet: text,
            score,
        };
        relevance::page(lines, needle, context, item).await
    }
}
