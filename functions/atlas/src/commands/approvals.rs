//! `atlas approvals`

use std::error::Error;
use std::io::{self, BufRead as _, IsTerminal as _};

use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::commands::Outcome;
use crate::local::Local;
use crate::output::{self, Ended};
use crate::vault_location::LocationArguments;
use crate::waiting::{self, Pages, Wanted, list, short};

/// Arguments of `atlas approvals`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only calls of this session
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Only calls with this status, instead of those that wait
    #[arg(long, value_name = "STATUS", default_value = "pending")]
    status: Status,
    /// Leave out the lines that would change
    #[arg(long)]
    no_diff: bool,
    /// List them, and ask nothing
    #[arg(long)]
    list: bool,
    /// Refuse all those whose files have changed since: they can be approved no more
    #[arg(long, conflicts_with_all = ["list", "json", "status"])]
    dismiss_lapsed: bool,
    #[command(flatten)]
    location: LocationArguments,
    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

/// The status of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Status {
    Pending,
    Approved,
    Refused,
    Used,
    Expired,
}

impl Status {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Refused => "refused",
            Self::Used => "used",
            Self::Expired => "expired",
        }
    }
}

/// The person's answer.
enum Decision {
    Approve,
    Refuse(Option<String>),
    Later,
    Quit,
}

/// Runs `atlas approvals`: shows the calls that wait, and at a terminal asks what to do with each.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let local = Local::open(&arguments.location.find(None, None)?).await?;
    let wanted =
        Wanted { status: arguments.status.as_str(), session: arguments.session.as_deref(), diffs: !arguments.no_diff };
    if arguments.json {
        let calls = waiting::calls(&local, wanted).await?;
        output::json(&calls)?;
        return Ended::waiting(list(&calls, "approvals").iter().any(can_be_decided));
    }
    if arguments.dismiss_lapsed {
        let calls = waiting::calls(&local, Wanted { diffs: false, ..wanted }).await?;
        return dismiss(&local, &lapsed(list(&calls, "approvals"))).await;
    }
    let asks = arguments.status == Status::Pending && !arguments.list && is_at_terminal();
    let mut undecided = 0;
    let mut first = None;
    let mut gone = Vec::new();
    let mut is_cut = false;
    let mut pages = Pages::of(wanted);
    while let Some(page) = pages.next(&local).await? {
        let calls = list(&page, "approvals");
        gone.extend(lapsed(calls));
        for call in calls {
            let id = call["id"].as_str().unwrap_or_default();
            match first {
                None => first = Some(short(id, calls).to_owned()),
                Some(_) => output::line(""),
            }
            waiting::print(call, short(id, calls));
            if !can_be_decided(call) {
                continue;
            }
            match if asks { decide(&local, id).await? } else { Decided::No } {
                Decided::Yes => {}
                Decided::No => undecided += 1,
                Decided::Quit => return Err(Ended::NeedsAttention.into()),
            }
        }
        is_cut = page["truncated"] == true;
    }
    if asks && !gone.is_empty() && wants_to_dismiss(gone.len())? {
        dismiss(&local, &gone).await?;
    } else if !gone.is_empty() {
        output::note("`atlas approvals --dismiss-lapsed` refuses all whose files have changed since");
    }
    tell_rest(first.as_deref(), arguments.status, asks);
    if is_cut {
        output::note("there are more: decide on these first");
    }
    Ended::waiting(undecided > 0)
}

/// Whether a call waits, and can still be approved.
fn can_be_decided(call: &Value) -> bool {
    call["status"] == "pending" && call["lapsed"] != true
}

/// The ids of those of `calls` that wait and can be approved no more.
fn lapsed(calls: &[Value]) -> Vec<String> {
    let is_gone = |call: &&Value| call["status"] == "pending" && call["lapsed"] == true;
    calls.iter().filter(is_gone).filter_map(|call| call["id"].as_str().map(str::to_owned)).collect()
}

/// Refuses these calls.
async fn dismiss(local: &Local, ids: &[String]) -> Outcome {
    let mut refused = 0;
    for id in ids {
        match waiting::refuse(local, id, Some(LAPSED)).await {
            Ok(_) => refused += 1,
            // It may have expired meanwhile.
            Err(error) => output::error(&*error),
        }
    }
    output::line(format_args!("dismissed: {refused}"));
    Ended::waiting(refused < ids.len())
}

/// The reason of such a refusal.
const LAPSED: &str = "a file has changed since";

fn wants_to_dismiss(count: usize) -> io::Result<bool> {
    output::question(&format!("{count} can be approved no more, since a file has changed: dismiss them? [y/N]"));
    Ok(read_line()?.as_deref() == Some("y"))
}

/// Whether a call was decided on.
enum Decided {
    Yes,
    No,
    Quit,
}

/// Asks the person about the call with this id, and does what they say.
async fn decide(local: &Local, id: &str) -> Result<Decided, Box<dyn Error>> {
    let (done, told) = match ask()? {
        Decision::Approve => (waiting::approve(local, id).await, APPROVED),
        Decision::Refuse(reason) => (waiting::refuse(local, id, reason.as_deref()).await, REFUSED),
        Decision::Later => return Ok(Decided::No),
        Decision::Quit => return Ok(Decided::Quit),
    };
    match done {
        Ok(_) => {
            output::line(told);
            Ok(Decided::Yes)
        }
        // The request may have expired meanwhile; the next one is shown all the same.
        Err(error) => {
            output::error(&*error);
            Ok(Decided::No)
        }
    }
}

/// The message for an approved call.
pub(super) const APPROVED: &str = "approved: it passes when the agent repeats it";
/// The message for a refused call.
pub(super) const REFUSED: &str = "refused: the agent gets the refusal when it repeats the call";

fn tell_rest(first: Option<&str>, status: Status, asks: bool) {
    match (status, first) {
        (Status::Pending, None) => output::note("no call waits for you"),
        (_, None) => output::note(format_args!("no call is {}", status.as_str())),
        (Status::Pending, Some(id)) if !asks => {
            output::note(format_args!("approve one with `atlas approve {id}`; refuse it with `atlas refuse {id}`"));
        }
        _ => {}
    }
}

fn is_at_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

fn ask() -> io::Result<Decision> {
    loop {
        output::question("[a]pprove, [r]efuse, [l]ater, [q]uit?");
        let Some(line) = read_line()? else { return Ok(Decision::Quit) };
        match line.as_str() {
            "a" => return Ok(Decision::Approve),
            "r" => {
                output::question("reason for the agent (Enter for none):");
                return Ok(Decision::Refuse(read_line()?.filter(|reason| !reason.is_empty())));
            }
            "l" | "" => return Ok(Decision::Later),
            "q" => return Ok(Decision::Quit),
            _ => {}
        }
    }
}

fn read_line() -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line)?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}
