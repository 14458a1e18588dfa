//! `search_regex`: the lines that match a regular expression.

use atlas_ops::arguments::{Bounded, Exact, Given, Root, Text};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::paging::{Limit, PartialPage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lines::{LineSearch, number_of};
use super::pattern::Pattern;
use super::plan::Plan;
use super::{Case, Line};

/// Finds the lines that match a regular expression (ripgrep's syntax), in notes and other text files, by path and line, with the column and text of the first match.
pub struct SearchRegex;

/// The search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The regular expression, in ripgrep's syntax, matched within lines.
    pub(super) pattern: Exact<1000>,
    /// Flags: `i` (case does not matter); `m`, `s` and `u` are accepted without effect. `i` if not given.
    #[serde(default = "any_case")]
    #[schemars(length(max = 8))]
    pub(super) flags: String,
    /// Only in this folder.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub(super) root: String,
    /// Most lines of one file; 10 if not given.
    #[serde(default)]
    pub(super) max_matches_per_file: Bounded<1, 1000, 10>,
    /// Most lines to return; 100 if not given, at most 1,000.
    #[serde(default)]
    pub(super) limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    pub(super) cursor: Given<Text<4096>>,
}

/// The default flags.
pub(super) fn any_case() -> String {
    "i".to_owned()
}

/// A line that matches.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RegexMatch {
    /// The file's path.
    pub(super) path: String,
    /// The line's number, counted from 1.
    pub(super) line: u64,
    /// The column of the first match in it, counted from 1.
    col: usize,
    /// That match; a long one cut, the cut marked with `…`.
    r#match: String,
    /// The line; a long one cut around the match, the cuts marked with `…`.
    pub(super) snippet: String,
}

impl Operation for SearchRegex {
    const INFO: Info = Info {
        name: "search_regex",
        title: "Search by a regular expression",
        description: "Finds the lines that match a regular expression (ripgrep's syntax), in notes and other text files, by path and line, with the column and text of the first match; in any case unless flags has no i; 10 lines per file unless max_matches_per_file is given. Example: {\"pattern\": \"TODO\\\\(\\\\w+\\\\)\", \"root\": \"Projects\"}",
        scopes: &[Scope::ReadVault],
        tags: &["search"],
        aliases: &[Alias::Ignored("verbosity")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = PartialPage<RegexMatch>;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Self::Output>, Error> {
        let Arguments { pattern, flags, root, max_matches_per_file, limit, cursor } = arguments;
        let refused = |field, message| Error::bad_request(Reason::InvalidInput, message).with("field", field);
        if let Some(flag) = flags.chars().find(|flag| !"imsu".contains(*flag)) {
            return Err(refused("flags", format!("flags: {flag:?} is none of i, m, s, u")));
        }
        let of = number_of(&(Self::INFO.name, &pattern, &flags, &root, max_matches_per_file));
        let case = if flags.contains('i') { Case::Insensitive } else { Case::Sensitive };
        let pattern = Pattern::new(pattern.as_str(), false, case)
            .map_err(|error| refused("pattern", error.message.replacen("query", "pattern", 1)))?;
        let lines = LineSearch {
            plan: pattern.hir.as_ref().map_or(Plan::Anything, Plan::of_regex),
            pattern,
            root: Root::of("root", &root)?,
            most_of_file: Some(max_matches_per_file.get()),
            of,
            limit,
            cursor: cursor.as_ref(),
        };
        let item = |Line { path, line, text, place, .. }| {
            let (col, found) = place.map_or((1, String::new()), |place| (place.column, place.text));
            RegexMatch { path, line, col, r#match: found, snippet: text }
        };
        lines.page(context, item).await
    }
}
