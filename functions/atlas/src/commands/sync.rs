//! `atlas sync`

use std::error::Error;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use atlas_mirror::Mirror;
use atlas_sync::Summary;
use clap::Args;
use jiff::Timestamp;
use tokio::sync::watch;

use crate::app_requests;
use crate::bar::{self, Phases};
use crate::commands::Outcome;
use crate::output::{self, Ended, Verbosity};
use crate::report;
use crate::runner::{Runner, SyncRules};
use crate::signals::{until, until_told_to_stop};
use crate::vault::FolderArguments;
use crate::watch::Watch;

/// Arguments of `atlas sync`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    folder: FolderArguments,
    #[command(flatten)]
    rules: SyncRules,
    /// Keep running: sync every SECONDS, and on a local disk soon after a file changes
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    watch: Option<u64>,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Read all files, even those whose size and time have not changed
    #[arg(long)]
    checksum: bool,
    /// Publish unreadable or missing objects again from the folder, and list the files that are lost
    #[arg(long, conflicts_with_all = ["dry_run", "watch"])]
    repair: bool,
    /// The reason, for the log
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

/// Runs `atlas sync`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let location = arguments.folder.find(None, None)?;
    location.folder()?;
    let runner = Runner {
        rclone: arguments.rules.rclone()?,
        rules: &arguments.rules,
        location: &location,
        dry_run: arguments.dry_run,
        checksum: arguments.checksum,
        repair: arguments.repair,
        message: arguments.message.as_deref(),
        is_watching: arguments.watch.is_some(),
        embedding: Arc::default(),
    };
    if !arguments.json {
        runner.location.tell_store();
    }
    let Some(seconds) = arguments.watch else {
        let mirror = runner.open().await?;
        let phases = Phases::over(bar::start(arguments.json));
        let summary = tokio::select! {
            summary = runner.run(&mirror, phases.clone()) => summary,
            _ = tokio::signal::ctrl_c() => Err(phases.interrupted().into()),
        };
        // A repair is reported even if the sync then fails: the next one finds nothing to repair.
        let summary = summary.inspect_err(|_| phases.repaired().iter().for_each(report::print_repaired))?;
        print(&arguments, &summary)?;
        return Ended::waiting(summary.needs_attention());
    };
    if !arguments.dry_run {
        tokio::spawn(app_requests::follow(runner.location.clone()));
    }
    let (stop, stopped) = watch::channel(false);
    let phases = Phases::over(Arc::new(()));
    let work = follow(&arguments, &runner, Duration::from_secs(seconds), &phases, stopped);
    until_told_to_stop(work, &stop, &phases).await
}

/// Syncs again and again, until it is time to stop.
async fn follow(
    arguments: &Arguments,
    runner: &Runner<'_>,
    pause: Duration,
    phases: &Arc<Phases>,
    stopped: watch::Receiver<bool>,
) -> Outcome {
    // One mirror for all runs, so that each reads only what is new; opened late, so that a store that is away stops nothing.
    let mut mirror = None;
    let mut watch = Watch::new(pause);
    let mut failures = 0_u32;
    while !*stopped.borrow() {
        watch.begin(runner.location.folder()?);
        let is_reading = match watched(runner, &mut mirror, phases.clone()).await {
            Ok(summary) => {
                print(arguments, &summary)?;
                failures = 0;
                summary.texts_waiting > 0
            }
            Err(error) => {
                output::error(&*error);
                failures = failures.saturating_add(1);
                false
            }
        };
        tokio::select! {
            () = ready(()), if is_reading => {}
            () = watch.wait_to_try_again(failures, mirror.as_ref()), if failures > 0 => {}
            () = watch.wait(mirror.as_ref()), if !is_reading && failures == 0 => {}
            () = until(stopped.clone()) => {}
        }
    }
    Ok(())
}

async fn watched(
    runner: &Runner<'_>,
    mirror: &mut Option<Mirror>,
    progress: Arc<Phases>,
) -> Result<Summary, Box<dyn Error>> {
    let mirror = match mirror {
        Some(mirror) => mirror,
        None => mirror.insert(runner.open().await?),
    };
    runner.run(mirror, progress).await
}

fn print(arguments: &Arguments, summary: &Summary) -> Outcome {
    if arguments.json {
        return output::json(summary);
    }
    let time = arguments.watch.map(|_| format!("{:.0} ", Timestamp::now()));
    let names = arguments.dry_run || output::verbosity() >= Verbosity::Verbose;
    let time = time.or_else(|| names.then(String::new));
    report::print(summary, time.as_deref(), arguments.dry_run);
    Ok(())
}
