//! `query_notes`: rows of notes, in either language.

use atlas_access::Access;
use atlas_ops::arguments::{Given, ReadPath, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::paging::{Limit, Paging};
use atlas_ops::read::view::View;
use atlas_vault::VaultPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::run::{self, Language};
use super::table::{Table, TablePage};

/// Runs a query over the notes, in the language of Dataview or of Bases.
pub struct QueryNotes;

/// The query, and the page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The query: in `dql` a Dataview query, in `base` a base document in YAML (`filters`, `formulas`, `views`).
    query: Text<20_000>,
    /// The language; `dql` if not given.
    #[serde(default)]
    language: Language,
    /// The view of the base; its first if not given.
    #[serde(default)]
    #[schemars(with = "Text<256>")]
    view: Given<Text<256>>,
    /// The note that the query stands in, which it means by `this`; none if not given.
    #[serde(default)]
    #[schemars(with = "ReadPath")]
    this: Given<ReadPath>,
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
    columns: Vec<String>,
    /// The rows, each with a value for each column. Links are objects with a `path`, dates are texts.
    #[schemars(extend("items" = { "type": "array", "items": { "description": "A value of any type." } }))]
    rows: Vec<Vec<Value>>,
    /// For each row the path of its note; null for groups.
    paths: Vec<Option<String>>,
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

impl Operation for QueryNotes {
    const INFO: Info = Info {
        name: "query_notes",
        title: "Query notes",
        description: "Runs a query over notes, their properties, inline fields, links and tasks, from the index: a Dataview query (DQL), or with language base a base document. Says the columns. Example: {\"query\": \"TABLE status, due FROM #project WHERE status != \\\"done\\\" SORT due\"}",
        scopes: &[Scope::ReadVault],
        tags: &["search"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(arguments.this.iter().map(|path| (Access::Read, path.clone().into())).collect())
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { query, language, view: of_base, this, limit, cursor } = arguments;
        let this = this.0.map(VaultPath::from);
        let listing = (Self::INFO.name, &query, language, &of_base, &this);
        let paging = Paging::new(limit, cursor.as_ref(), &listing)?;
        let query = run::Query::of(language, query.as_str(), of_base.as_ref().map(Text::as_str))?;
        let page = |view: View| {
            let (paging, query, this) = (&paging, &query, this.as_ref().map(VaultPath::as_str));
            async move {
                let generation = view.generation();
                let table = query.run(context, view, this).await?;
                let TablePage { rows, paths, cursor, overflow } = table.page(context, paging, generation)?;
                let Table { columns, rows: all, warnings } = table;
                Ok(Output { columns, rows, paths, total_count: all.len(), cursor, overflow, warnings })
            }
        };
        paging.read(context, page).await
    }
}
