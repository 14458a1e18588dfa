//! `validate_dql`: whether a text is a query of Dataview, and where it is not.

use atlas_expressions::dql::{Header, Query, Step};
use atlas_expressions::{Dialect, dql};
use atlas_ops::arguments::Text;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check_no_program;
use super::run::place;

/// Says whether a Dataview query can be run.
pub struct ValidateDql;

/// A query.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The query.
    dql: Text<10_000>,
}

/// The parsed query, or its error.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Output {
    /// Whether it can be run.
    valid: bool,
    /// Its parts, if it can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    ast: Option<Parts>,
    /// The error, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Fault>,
}

/// The parts of a query, as Dataview would read them back.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Parts {
    /// `table`, `list`, `task` or `calendar`.
    kind: &'static str,
    /// The names of its columns.
    columns: Vec<String>,
    /// The source after `FROM`.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// The steps over the rows, in order: `where`, `sort`, `limit`, `flatten`, `group`.
    steps: Vec<&'static str>,
    /// The whole query.
    query: String,
}

/// The error of a query.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Fault {
    /// The line, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// The character in the line, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    col: Option<usize>,
    /// The problem.
    message: String,
    /// The tokens expected there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    expected: Vec<&'static str>,
}

impl Operation for ValidateDql {
    const INFO: Info = Info {
        name: "validate_dql",
        title: "Check a Dataview query",
        description: "Says whether a Dataview query (DQL) can be run: its parts, or the line, the column and what was expected there. Runs nothing. Example: {\"dql\": \"LIST FROM #book\"}",
        scopes: &[Scope::ReadVault],
        tags: &["search"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(_: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        Ok(Answer { value: judged(arguments.dql.as_str()), generation: None })
    }
}

fn judged(text: &str) -> Output {
    if let Err(error) = check_no_program(text) {
        return wrong(Some((1, 1)), error.message, Vec::new());
    }
    match dql::parse(text) {
        Ok(query) => match query.unknown_functions().first() {
            None => Output { valid: true, ast: Some(parts(&query)), error: None },
            Some((name, offset)) => {
                wrong(Some(place(text, *offset)), format!("there is no function \"{name}\""), Vec::new())
            }
        },
        Err(error) => {
            let place = error.place(text).map(|place| (place.line, place.column));
            wrong(place, error.message, error.expected)
        }
    }
}

fn wrong(place: Option<(usize, usize)>, message: String, expected: Vec<&'static str>) -> Output {
    let (line, col) = place.unzip();
    Output { valid: false, ast: None, error: Some(Fault { line, col, message, expected }) }
}

fn parts(query: &Query) -> Parts {
    let (kind, columns) = match &query.header {
        Header::List { value, .. } => ("list", value.iter().map(|value| Dialect::Dataview.print(value)).collect()),
        Header::Table { columns, .. } => ("table", columns.iter().map(|column| column.name.clone()).collect()),
        Header::Task => ("task", Vec::new()),
        Header::Calendar(column) => ("calendar", vec![column.name.clone()]),
    };
    let step = |step: &Step| match step {
        Step::Where(_) => "where",
        Step::Sort(_) => "sort",
        Step::Limit(_) => "limit",
        Step::Flatten(_) => "flatten",
        Step::Group(_) => "group",
    };
    Parts {
        kind,
        columns,
        from: query.source.as_ref().map(ToString::to_string),
        steps: query.steps.iter().map(step).collect(),
        query: query.to_string(),
    }
}
