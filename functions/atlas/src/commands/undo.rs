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
    let is_empty = list(&plan, "undone").is_empty();
    let is_asked = !is_empty && !arguments.yes;
    if !arguments.json {
        print(&plan);
    } else if is_empty || is_asked {
        output::json(&plan)?;
    }
    if is_empty {
        let why = match list(&plan, "left").is_empty() {
            true => "nothing to take back: of these commits no change is left",
            false => "nothing can be taken back: all of it stays",
        };
        return nothing(&plan, why);
    }
    if is_asked && (arguments.json || !is_wanted()) {
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
        output::json(&done)?;
    } else if plan["left"] != done["left"] {
        print_left(&done);
    }
    if list(&done, "undone").is_empty() {
        return nothing(&done, "nothing was taken back: others changed these files meanwhile");
    }
    if !arguments.json {
        output::line(told(&done));
    }
    Ended::waiting(stays(&done))
}

/// How an undo ends that changed nothing. It found nothing to do if all that it found stays.
fn nothing(plan: &Value, why: &str) -> Outcome {
    output::note(why);
    match (list(plan, "left").is_empty(), stays(plan)) {
        (false, _) => Err(Ended::NothingFound.into()),
        (true, stays) => Ended::waiting(stays),
    }
}

/// Whether changes of the commits stay, or may.
fn stays(plan: &Value) -> bool {
    !list(plan, "left").is_empty() || plan["looked_from"].is_u64()
}

/// What was done, in a line.
fn told(done: &Value) -> String {
    let undone = list(done, "undone");
    let files = |count: u64| if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    let all = done["undone_count"].as_u64().unwrap_or_default();
    let of = |how: &str| undone.iter().filter(|file| file["how"] == how).count() as u64;
    let (removed, copied) = (of("removed"), of("copied"));
    let parts = [
        (all.saturating_sub(removed + copied), "restored"),
        (removed, "put into the trash"),
        (copied, "added as conflict copies"),
        (done["left_count"].as_u64().unwrap_or_default(), "with changes that stay"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|part| part.0 > 0).map(|(count, what)| format!("{} {what}", files(*count))).collect();
    format!("{}: generation {}; the next sync writes that into the folder", parts.join(", "), done["generation"])
}

fn print(plan: &Value) {
    for file in list(plan, "undone") {
        let path = file["path"].as_str().unwrap_or_default();
        match file["from_generation"].as_u64() {
            Some(generation) => output::line(format_args!("~ {path} (as generation {generation} wrote it)")),
            None => output::line(format_args!("- {path} (into the trash)")),
        }
    }
    print_left(plan);
    let unlisted = |list_name: &str, count: &str| {
        plan[count].as_u64().unwrap_or_default().saturating_sub(list(plan, list_name).len() as u64)
    };
    let more = unlisted("undone", "undone_count") + unlisted("left", "left_count");
    if more > 0 {
        output::line(format_args!("  and {more} more files"));
    }
    if let Some(from) = plan["looked_from"].as_u64() {
        output::line(format_args!("  older commits were not looked at, before generation {from}"));
    }
}

/// A file may be restored in part.
fn print_left(plan: &Value) {
    for file in list(plan, "left") {
        let text = |name: &str| file[name].as_str().unwrap_or_default();
        output::line(format_args!("  {} stays: {}", text("path"), text("reason")));
    }
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
