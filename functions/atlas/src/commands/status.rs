//! `atlas status`

use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::Mirror;
use atlas_mirror::manifest::Changes;
use atlas_sync::{Changed, Conflicted, Failure, Merged, Run, Runs, Skipped, Summary, SyncError, SyncOptions, sync};
use clap::Args;
use jiff::Timestamp;
use serde::Serialize;

use crate::commands::Outcome;
use crate::output::{self, Ended};
use crate::report::{changes, fate, name};
use crate::runner::{MergeRules, options};
use crate::vault::FolderArguments;

/// Arguments of `atlas status`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    folder: FolderArguments,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    /// Fail if no host has synced the vault for an hour
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    merges: MergeRules,
}

/// The age of the last sync from which a vault counts as stale.
const STALE: Duration = Duration::from_secs(3600);

/// The differences between folder and mirror.
#[derive(Debug, Serialize)]
struct Status {
    /// The last completed sync.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_success: Option<Run>,
    /// The last failed sync, if it was later.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_failure: Option<Failure>,
    /// Whether a sync is running now, so that nothing more is known.
    running: bool,
    #[serde(flatten)]
    waiting: Option<Waiting>,
}

/// The changes of the next sync.
#[derive(Debug, Serialize)]
struct Waiting {
    /// The newest generation; 0 if there is none.
    generation: u64,
    /// The folder's changes.
    to_mirror: Changes,
    /// The mirror's changes.
    to_folder: Changes,
    /// The files of both, by path; at most a thousand.
    changed: Vec<Changed>,
    /// Paths that changed on both sides, and would be merged.
    merged: Vec<Merged>,
    /// Others that changed on both sides, and would become conflict copies.
    conflicts: Vec<Conflicted>,
    /// Conflict copies that a person should resolve.
    copies: Vec<String>,
    /// Files and folders that cannot be synced.
    skipped: Vec<Skipped>,
}

/// Runs `atlas status`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let location = arguments.folder.find(None, None)?;
    let merge = arguments.merges.are_merged();
    let options = SyncOptions { dry_run: true, merge, ..options(&location, Timestamp::now())? };
    let runs = Runs::of(&options.state);
    let (waiting, running) = match sync(&location.open_to_look()?, &options, Arc::new(())).await {
        Ok(summary) => (Some(Waiting::of(summary)), false),
        Err(SyncError::Locked { .. }) => (None, true),
        Err(error) => return Err(error.into()),
    };
    let status = Status { last_success: runs.last_success(), last_failure: runs.last_failure(), running, waiting };
    if arguments.json {
        output::json(&status)?;
    } else {
        print(&status);
    }
    if arguments.check {
        return check(&location.published().await?).await;
    }
    Ended::waiting(status.waiting.as_ref().is_some_and(Waiting::is_some))
}

/// Fails unless any host has synced the vault recently.
async fn check(mirror: &Mirror) -> Outcome {
    match mirror.synced().await? {
        None => Err("no sync of this vault is recorded: run `atlas sync`".into()),
        Some(beat) if Timestamp::now().duration_since(beat.time).unsigned_abs() > STALE => {
            Err(format!("the vault was last synced at {:.0}: check that `atlas sync` still runs", beat.time).into())
        }
        Some(_) => Ok(()),
    }
}

impl Waiting {
    /// Whether the next sync, or a person, has something to do.
    fn is_some(&self) -> bool {
        self.to_mirror.sum() + self.to_folder.sum() > 0 || !self.conflicts.is_empty() || !self.copies.is_empty()
    }

    fn of(summary: Summary) -> Self {
        let Summary { generation, pushed, pulled, changed, merged, conflicts, copies, skipped, .. } = summary;
        Self { generation, to_mirror: pushed, to_folder: pulled, changed, merged, conflicts, copies, skipped }
    }
}

fn print(status: &Status) {
    match &status.last_success {
        Some(Run { time, generation }) => output::line(format_args!("synced {time:.0} with generation {generation}")),
        None => output::line("never synced from here"),
    }
    if let Some(Failure { time, reason }) = &status.last_failure {
        output::line(format_args!("failed {time:.0}: {reason}"));
    }
    let Some(waiting) = &status.waiting else {
        output::line("a sync is running now");
        return;
    };
    output::line(format_args!(
        "waiting with generation {}: to the mirror {}, to the folder {}, conflicts {}",
        waiting.generation,
        changes(&waiting.to_mirror),
        changes(&waiting.to_folder),
        waiting.conflicts.len()
    ));
    name("", &waiting.changed, waiting.to_mirror.sum() + waiting.to_folder.sum());
    for Merged { path, .. } in &waiting.merged {
        output::line(format_args!("changed on both sides: {path}; its changes do not meet, so they are merged"));
    }
    for one in &waiting.conflicts {
        output::line(format_args!("changed on both sides: {}; {}", one.path, fate(one)));
    }
    waiting.copies.iter().for_each(|copy| output::line(format_args!("look at the copy: {copy}")));
    waiting.skipped.iter().for_each(|skipped| output::line(format_args!("left out: {skipped}")));
}
