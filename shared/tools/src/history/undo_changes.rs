//! `undo_changes`: undoes the changes of some commits, in one commit, except where others changed files since.

use atlas_ops::arguments::{self, Given, Message, Text, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::response_limit::fitting;
use atlas_ops::read::view::View;
use atlas_ops::write::commit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::history::undo::{Left, Selection, Undo, UndoReport, Undone};

/// Undoes the changes of some commits.
pub struct UndoChanges;

/// The commits: one generation, or those of a caller or a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The generation of the one commit to undo; if not given, `by` or `of_session` selects commits.
    #[serde(default)]
    generation: Given<u64>,
    /// The name of a caller, from the log or `note_history`: undoes all their commits; of all callers if not given.
    #[serde(default)]
    by: Given<Text<200>>,
    /// The name of a session: undoes its commits; of all sessions if not given.
    #[serde(default)]
    of_session: Given<Text<200>>,
    /// Only commits at this time or later; with `by` or `of_session`; of any time if not given.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    since: Given<Text<40>>,
    /// Only commits up to this generation, with `by` or `of_session`: the `generation` of the dry run, so that exactly the shown changes are made. Only a dry run may leave it out.
    #[serde(default)]
    upto: Given<u64>,
    /// Whether to change nothing, and return what would be undone.
    #[serde(default = "arguments::yes")]
    dry_run: bool,
    /// The reason, for the log.
    #[serde(default)]
    message: Given<Message>,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The generations of the commits that are undone, at least in part.
    commits: Vec<u64>,
    /// The restored files, by path; fewer if the answer would be too large.
    undone: Vec<Undone>,
    /// How many these are.
    undone_count: usize,
    /// The files in which changes of the commits stay, by path; fewer if the answer would be too large.
    left: Vec<Left>,
    /// How many these are.
    left_count: usize,
    /// The oldest generation that was looked at, where commits before it may be selected too.
    #[serde(skip_serializing_if = "Option::is_none")]
    looked_from: Option<u64>,
    /// Whether this was a dry run, so that nothing was changed.
    dry_run: bool,
    /// The new generation; on a dry run, the one that was read.
    generation: u64,
}

impl Operation for UndoChanges {
    const INFO: Info = Info {
        name: "undo_changes",
        title: "Undo changes",
        description: "Undoes the changes of one commit (generation), or of all commits of a caller (by) or a session (of_session), in one new commit. A file that somebody else changed since stays, as does what moved with it: see left. It is a dry run unless dry_run is false; then a person has to confirm it. Searches the newest 500 generations. For one note take restore_note. Example: {\"generation\": 12, \"dry_run\": false}",
        scopes: &[Scope::ReadVault, Scope::WriteVault, Scope::DeleteVault, Scope::BulkVault],
        destructive: true,
        tags: &["history", "bulk"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        // Checked before a confirmation is used up.
        which(arguments).map(|_| Vec::new())
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        !arguments.dry_run
    }

    fn is_dry_run(arguments: &Arguments) -> bool {
        arguments.dry_run
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let undo = Undo { context, which: which(&arguments)? };
        let (kept, generation) = if arguments.dry_run {
            let plan = &undo;
            let look = |view: View| async move {
                let head = view.snapshot().clone();
                let kept = plan.plan(&head).await?.1;
                Ok((kept, head.generation()))
            };
            context.read(look).await?.value
        } else {
            let message = arguments.message.as_ref().map(Message::as_str);
            commit::commit(context, &Self::INFO, message, &undo).await?.kept()
        };
        let UndoReport { commits, mut undone, undone_count, mut left, left_count, looked_from } = kept;
        let (undone_count, left_count) = (undone_count.max(undone.len()), left_count.max(left.len()));
        // What was done must be told, also where much was.
        let half = context.limits.max_response_bytes / 2;
        undone.truncate(fitting(&undone, half));
        left.truncate(fitting(&left, half));
        let dry_run = arguments.dry_run;
        let output = Output { commits, undone, undone_count, left, left_count, looked_from, dry_run, generation };
        Ok(Answer { value: output, generation: Some(generation) })
    }
}

/// The commits that the arguments select.
fn which(arguments: &Arguments) -> Result<Selection, Error> {
    let name = |name: &Given<Text<200>>| name.as_ref().map(|name| name.as_str().to_owned());
    let (by, session) = (name(&arguments.by), name(&arguments.of_session));
    let since = arguments.since.as_ref().map(|since| {
        since.as_str().parse().map_err(|_| invalid_input("since", "write a time as 2026-01-31T12:00:00Z"))
    });
    let since = since.transpose()?;
    match *arguments.generation {
        Some(1) => Err(invalid_input("generation", "the first one is the vault itself: name a later one")),
        Some(generation) if by.is_none() && session.is_none() && since.is_none() => {
            Ok(Selection::Generation(generation))
        }
        None if by.is_some() || session.is_some() => match *arguments.upto {
            None if !arguments.dry_run => Err(invalid_input("upto", "pass the generation of the dry run")),
            upto => Ok(Selection::All { by, session, since, upto: upto.unwrap_or(u64::MAX) }),
        },
        _ => Err(invalid_input(
            "generation",
            "give either a generation, or a caller (by) or a session (of_session), and optionally since",
        )),
    }
}
