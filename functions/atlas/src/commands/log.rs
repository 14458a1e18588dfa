//! `atlas log`

use std::fmt;

use atlas_mirror::Manifest;
use atlas_mirror::manifest::Changes;
use clap::Args;
use jiff::Timestamp;
use serde::Serialize;

use crate::commands::Outcome;
use crate::output;
use crate::vault_location::LocationArguments;

/// Arguments of `atlas log`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    location: LocationArguments,
    /// How many generations to list
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    limit: u16,
    /// Print them as a JSON array
    #[arg(long)]
    json: bool,
}

/// A generation.
#[derive(Debug, Serialize)]
struct Line<'a> {
    generation: u64,
    time: Timestamp,
    author: &'a str,
    operation: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(flatten)]
    changes: Changes,
}

/// Runs `atlas log`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let mirror = arguments.location.find(None, None)?.published().await?;
    let head = mirror.head().await?;
    let history = mirror.history_over_gaps(head.generation(), usize::from(arguments.limit)).await?;
    let lines: Vec<Line<'_>> = history.iter().map(|snapshot| Line::of(snapshot.manifest())).collect();
    if arguments.json {
        return output::json(&lines);
    }
    let mut newer = None;
    for line in &lines {
        match newer.map(|newer: u64| (line.generation + 1, newer - 1)) {
            Some((first, last)) if first == last => {
                output::note(format_args!("generation {first} is missing: see `atlas doctor`"))
            }
            Some((first, last)) if first < last => {
                output::note(format_args!("generations {first} to {last} are missing: see `atlas doctor`"));
            }
            _ => {}
        }
        output::line(line);
        newer = Some(line.generation);
    }
    Ok(())
}

impl<'a> Line<'a> {
    fn of(manifest: &'a Manifest) -> Self {
        Self {
            generation: manifest.generation,
            time: manifest.time,
            author: &manifest.author,
            operation: &manifest.operation,
            message: manifest.message.as_deref(),
            session: manifest.session.as_deref(),
            changes: manifest.changes,
        }
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { generation, time, author, operation, message, session, changes } = self;
        let Changes { added, changed, removed } = changes;
        write!(f, "{generation:>6}  {time:.0}  {author}  {operation}  +{added} ~{changed} -{removed}")?;
        session.map_or(Ok(()), |session| write!(f, "  [{session}]"))?;
        message.map_or(Ok(()), |message| write!(f, "  {message}"))
    }
}
