//! `atlas approvals`

use std::io::{self, BufRead as _, IsTerminal as _};

use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::commands::Outcome;
use crate::local::Local;
use crate::output::{self, Ended};
use crate::vault_location::LocationArguments;
use crate::waiting::{self, list, short};

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
    let local = Local::open(&arguments.location.find(None, None)?)?;
    let (status, session) = (arguments.status.as_str(), arguments.session.as_deref());
    let found = waiting::calls(&local, status, session, !arguments.no_diff).await?;
    if arguments.json {
        return output::json(&found);
    }
    let calls = list(&found, "approvals");
    let asks = arguments.status == Status::Pending && !arguments.list && is_at_terminal();
    let mut undecided = 0;
    for (at, call) in calls.iter().enumerate() {
        undecided += usize::from(call["status"] == "pending" && call["lapsed"] != true);
        let id = call["id"].as_str().unwrap_or_default();
        if at > 0 {
            output::line("");
        }
        waiting::print(call, short(id, calls));
        if asks && call["lapsed"] != true {
            match ask()? {
                // The request may have expired meanwhile; the next one is shown all the same.
                Decision::Approve => match waiting::approve(&local, id).await {
                    Ok(_) => {
                        undecided -= 1;
                        output::line(APPROVED);
                    }
                    Err(error) => output::error(error.as_ref()),
                },
                Decision::Refuse(reason) => match waiting::refuse(&local, id, reason.as_deref()).await {
                    Ok(_) => {
                        undecided -= 1;
                        output::line(REFUSED);
                    }
                    Err(error) => output::error(error.as_ref()),
                },
                Decision::Later => {}
                Decision::Quit => return Err(Ended::NeedsAttention.into()),
            }
        }
    }
    tell_rest(&found, arguments.status, asks);
    Ended::waiting(undecided > 0)
}

/// The message for an approved call.
pub(super) const APPROVED: &str = "approved: it passes when the agent repeats it";
/// The message for a refused call.
pub(super) const REFUSED: &str = "refused: the agent gets the refusal when it repeats the call";

fn tell_rest(found: &Value, status: Status, asks: bool) {
    let calls = list(found, "approvals");
    match (status, calls.first().and_then(|call| call["id"].as_str())) {
        (Status::Pending, None) => output::note("no call waits for you"),
        (_, None) => output::note(format_args!("no call is {}", status.as_str())),
        (Status::Pending, Some(id)) if !asks => {
            let id = short(id, calls);
            output::note(format_args!("approve one with `atlas approve {id}`; refuse it with `atlas refuse {id}`"));
        }
        _ => {}
    }
    if found["truncated"] == true {
        output::note("there are more: decide on these first, or leave out the lines with --no-diff");
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
