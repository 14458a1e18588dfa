//! `vault_search` of obsidian-vault-mcp: the lines that match a regular expression, like `rg --glob`.

use atlas_ops::arguments::{Bounded, Exact, Given, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::search::filter::{self, from_here};
use crate::search::{self, Mode, Search, SearchResult};

/// Full-text search with ripgrep's regular expressions.
pub struct VaultSearch;

/// Most lines in an answer.
const MAX_LINES: u32 = 1000;
const TOO_MANY: &str = "there may be more matches than these: narrow path_filter or the query";

/// The search.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A regular expression, in ripgrep's syntax.
    query: Exact<1000>,
    /// Only files whose paths match this glob, at any depth: `devlog/*.md` means `**/devlog/*.md`; with a `/` in front from the root, with `!` in front all others.
    #[serde(default, deserialize_with = "filter::given")]
    path_filter: Given<Text<500>>,
}

/// The results.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The lines that match, by path and line; at most 1,000.
    results: Vec<Line>,
    /// Why there may be more, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    partial: Option<&'static str>,
}

/// A line that matches.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Line {
    /// The file's path, from the root of the vault.
    path: String,
    /// The line's number, counted from 1.
    line: u64,
    /// The line; a long one cut around the match, the cuts marked with `…`.
    text: String,
}

impl Operation for VaultSearch {
    const INFO: Info = Info {
        name: "vault_search",
        title: "Search for lines",
        description: "Full-text search with ripgrep's regular expressions: the lines that match, by path and line, in all notes and text files or those that match a glob. Example: {\"query\": \"backup strategy\"}",
        scopes: &[Scope::ReadVault],
        tags: &["search"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let filter = arguments.path_filter.as_ref().map(|filter| filter.map(at_any_depth));
        let wanted =
            search::Arguments::of(arguments.query, Some(Mode::Regex), filter, Some(Bounded::nearest(MAX_LINES)));
        let Answer { value: found, generation } = Search::run(context, wanted).await?;
        let line = |found| match found {
            SearchResult::Line(search::Line { path, line, text, .. }) => Some(Line { path, line, text }),
            SearchResult::Note(_) => None,
        };
        let partial = found.cursor.is_some().then_some(TOO_MANY);
        Ok(Answer {
            value: Output { results: found.results.into_iter().filter_map(line).collect(), partial },
            generation,
        })
    }
}

/// A glob that begins at the root only if it starts with `/`.
fn at_any_depth(glob: &str) -> String {
    let (not, glob) = glob.strip_prefix('!').map_or(("", glob), |glob| ("!", glob));
    let glob = from_here(glob);
    let anywhere = if glob.starts_with('/') || glob.starts_with("**/") { "" } else { "**/" };
    format!("{not}{anywhere}{glob}")
}

#[cfg(test)]
mod tests {
    use super::at_any_depth;

    #[test]
    fn a_glob_matches_at_any_depth_unless_it_begins_at_the_root() {
        for (glob, meant) in [
            ("devlog/*.md", "**/devlog/*.md"),
            ("*.md", "**/*.md"),
            ("**/a.md", "**/a.md"),
            ("/a.md", "/a.md"),
            ("!x/*.md", "!**/x/*.md"),
            ("!./x/", "!**/x/"),
            ("./x/", "**/x/"),
        ] {
            assert_eq!(at_any_depth(glob), meant);
        }
    }
}
