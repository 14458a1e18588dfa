//! `atlas table`

use std::io::{self, IsTerminal as _, Write as _};

use atlas_tools::queries::lines::{Format, lines};
use atlas_tools::queries::query_notes::QueryNotes;
use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::commands::Outcome;
use crate::local::{Local, given};
use crate::output;
use crate::vault_location::LocationArguments;

/// Most rows of one page.
const PAGE: usize = 1000;

/// Arguments of `atlas table`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A Dataview query: TABLE rating FROM #book SORT rating DESC; or with --base a base document
    query: String,
    /// QUERY is a base document, in YAML
    #[arg(long)]
    base: bool,
    /// The view of the base [default: its first]
    #[arg(long, value_name = "NAME", requires = "base")]
    view: Option<String>,
    /// The note that QUERY means by `this`
    #[arg(long, value_name = "PATH")]
    this: Option<String>,
    /// Write rows so [default: markdown on a terminal, else csv]
    #[arg(short, long, value_name = "FORMAT")]
    format: Option<Shape>,
    /// Most rows [default: all]
    #[arg(short = 'n', long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    #[command(flatten)]
    location: LocationArguments,
}

/// How rows are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shape {
    /// Values between commas
    Csv,
    /// A JSON object for each row
    Jsonl,
    /// A table
    Markdown,
}

/// Runs `atlas table`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let local = Local::open(&arguments.location.find(None, None)?).await?;
    let format = match arguments.format {
        Some(Shape::Csv) => Format::Csv,
        Some(Shape::Jsonl) => Format::JsonLines,
        Some(Shape::Markdown) => Format::Markdown,
        None if io::stdout().is_terminal() => Format::Markdown,
        None => Format::Csv,
    };
    let mut left = arguments.limit.map_or(usize::MAX, |limit| limit as usize);
    let mut cursor = None;
    loop {
        let is_first = cursor.is_none();
        let call = given([
            ("query", Some(arguments.query.as_str().into())),
            ("language", arguments.base.then(|| "base".into())),
            ("view", arguments.view.as_deref().map(Value::from)),
            ("this", arguments.this.as_deref().map(Value::from)),
            ("limit", Some(left.min(PAGE).into())),
            ("cursor", cursor),
        ]);
        let page = local.call(atlas_tools::entry::<QueryNotes>(), call).await?;
        if io::stdout().write_all(lines(&page, format, is_first).as_bytes()).is_err() {
            return Ok(());
        }
        for warning in page["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str).filter(|_| is_first)
        {
            output::note(warning);
        }
        left = left.saturating_sub(page["rows"].as_array().map_or(0, Vec::len));
        cursor = page.get("cursor").cloned();
        if cursor.is_none() || left == 0 {
            return Ok(());
        }
    }
}
