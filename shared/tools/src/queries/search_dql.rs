//! `search_dql`: rows of a Dataview query.

use atlas_ops::arguments::{Given, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::paging::{Limit, Paging};
use atlas_ops::read::view::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::run::{dataview, parsed};
use super::table::{Table, TablePage};

/// Runs a Dataview query over the notes, without the app.
pub struct SearchDql;

/// The query, and the page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The query.
    dql: Text<10_000>,
    /// `table`, `list`, `task` or `calendar`; the query itself says it.
    #[serde(default)]
    #[schemars(with = "Text<64>", extend("default" = "table"))]
    #[allow(dead_code, reason = "the query says it")]
    format: Given<Text<64>>,
    /// Most rows to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the previous page.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// The rows.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The names of the columns.
    headers: Vec<String>,
    /// The rows, each with a value for each column. Links are objects with a `path`, dates are texts.
    #[schemars(extend("items" = { "type": "array", "items": { "description": "A value of any type." } }))]
    rows: Vec<Vec<Value>>,
    /// For each row the path of its note; empty for groups.
    note_paths: Vec<String>,
    /// The number of rows on all pages.
    total_count: usize,
    /// The argument for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// Whether the limit exceeded the most rows of a page.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    overflow: bool,
    /// Errors in some rows, which are left out; and columns that are always empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Operation for SearchDql {
    const INFO: Info = Info {
        name: "search_dql",
        title: "Dataview query",
        description: "Runs a Dataview query (DQL: TABLE, LIST, TASK, CALENDAR) over the notes, from the index: headers, rows, and the path of each row's note. Not DataviewJS. Example: {\"dql\": \"TABLE rating FROM #book WHERE rating > 7 SORT rating DESC\"}",
        scopes: &[Scope::ReadVault],
        tags: &["search"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { dql: text, limit, cursor, .. } = arguments;
        let paging = Paging::new(limit, cursor.as_ref(), &(Self::INFO.name, &text))?;
        let query = parsed(text.as_str())?;
        let page = |view: View| {
            let (paging, query, text) = (&paging, &query, text.as_str());
            async move {
                let generation = view.generation();
                let table = dataview(context, view, text, query, None).await?;
                let TablePage { rows, paths, cursor, overflow } = table.page(context, paging, generation)?;
                let note_paths = paths.into_iter().map(Option::unwrap_or_default).collect();
                let Table { columns: headers, rows: all, warnings } = table;
                Ok(Output { headers, rows, note_paths, total_count: all.len(), cursor, overflow, warnings })
            }
        };
        paging.read(context, page).await
    }
}
