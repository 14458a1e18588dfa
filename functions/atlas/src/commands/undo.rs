//! `atlas undo`

use std::io::{self, BufRead as _, IsTerminal as _};

use atlas_tools::history::undo_changes::UndoChanges;
use clap::{ArgGroup, Args};
use jiff::{Span, Timestamp, Zoned};
use serde_json::Value;

use crate::commands::Outcome;
use crate::local::{Local, given};
use crate::output::{self, Ended};
use crate::vault_location::LocationArguments;

/// Arguments of `atlas undo`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true).multiple(true).args(["generation", "by", "session"]))]
pub(crate) struct Arguments {
    /// The generation of one commit, as in `atlas log`
    #[arg(conflicts_with_all = ["by", "session"])]
    generation: Option<u64>,
    /// All commits of this caller, by the name in `atlas log`
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// All commits of this session, by the name in brackets in `atlas log`
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Only since then: a time such as 2026-01-31T12:00:00Z, or an age such as 2h or 3d
    #[arg(long, value_name = "TIME", conflicts_with = "generation", value_parser = time)]
    since: Option<Timestamp>,
    /// Undo the changes without asking
    #[arg(long)]
    yes: bool,
    /// The reason, for the log
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    #[command(flatten)]
    location: LocationArguments,
    /// Print what would be undone, or with --yes what was, as JSON
    #[arg(long)]
    json: bool,
}

/// Runs `atlas undo`: shows what would be undone, asks, and does it.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let local = Local::open(&arguments.location.find(None, None)?).await?;
    let mut call = given([
        ("generation", arguments.generation.map(Value::from)),
        ("by", arguments.by.clone().map(Value::from)),
        ("of_session", arguments.session.map(Value::from)),
        ("since", arguments.since.map(|since| since.to_string().into())),
        ("message", arguments.message.map(Value::from)),
    ]);
    let operation = atlas_tools::entry::<UndoChanges>();
    let plan = local.call(operation, call.clone()).await?;
    if arguments.json && !arguments.yes {
        return output::json(&plan);
    }
    if !arguments.json {
        print(&plan);
    }
    if list(&plan, "undone").is_empty() {
        return Err(Ended::NothingFound.into());
    }
    if !arguments.yes && !is_wanted() {
        output::note("nothing was changed: to take these back, answer y, or add --yes");
        return Err(Ended::NeedsAttention.into());
    }
    // Undoes exactly what was shown.
    if arguments.generation.is_none() {
        call["upto"] = plan["generation"].clone();
    }
    call["dry_run"] = Value::Bool(false);
    let done = local.call(operation, call).await?;
    if arguments.json {
        return output::json(&done);
    }
    let (count, left) = (list(&done, "undone").len(), list(&done, "left"));
    if list(&plan, "left").len() != left.len() {
        left.iter().for_each(print_left);
    }
    if count == 0 {
        output::note("nothing was taken back: others changed these files meanwhile");
        return Err(Ended::NothingFound.into());
    }
    output::line(format_args!(
        "{count} of {} files restored: generation {}; the next sync writes them into the folder",
        count + left.len(),
        done["generation"]
    ));
    Ok(())
}

fn print(plan: &Value) {
    for file in list(plan, "undone") {
        let path = file["path"].as_str().unwrap_or_default();
        match file["from_generation"].as_u64() {
            Some(generation) => output::line(format_args!("~ {path} (as generation {generation} wrote it)")),
            None => output::line(format_args!("- {path} (into the trash)")),
        }
    }
    list(plan, "left").iter().for_each(print_left);
}

fn print_left(file: &Value) {
    let text = |name: &str| file[name].as_str().unwrap_or_default();
    output::line(format_args!("  {} stays: {}", text("path"), text("reason")));
}

/// Whether the person at the terminal agrees.
fn is_wanted() -> bool {
    if !io::stdin().is_terminal() {
        return false;
    }
    output::question("take these back? [y/N]");
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).is_ok() && answer.trim().eq_ignore_ascii_case("y")
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A time, or an age.
fn time(text: &str) -> Result<Timestamp, String> {
    let ago = |span: Span| Zoned::now().checked_sub(span).map(|time| time.timestamp());
    let found = text.parse::<Timestamp>().or_else(|_| text.parse::<Span>().and_then(ago));
    found.map_err(|_| "write a time as 2026-01-31T12:00:00Z, or how long ago, as 2h or 3d".to_owned())
}
