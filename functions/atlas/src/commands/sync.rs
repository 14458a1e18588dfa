//! `atlas sync`

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atlas_mirror::manifest::Changes;
use atlas_mirror::repair::{Anew, Recovered, Repaired};
use atlas_mirror::{Collected, Heartbeat, Mirror, MirrorError, Retention};
use atlas_sync::{Changed, Conflicted, Progress, Run, Runs, Side, Summary, SyncError, SyncOptions, sync};
use clap::Args;
use indicatif::DecimalBytes;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::bar::{self, Phases};
use crate::commands::Outcome;
use crate::output::{self, Attention};
use crate::rclone::RemoteControl;
use crate::vault::{VaultArguments, author};
use crate::watch::Watch;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Arguments of `atlas sync`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    vault: VaultArguments,
    /// Keep running: sync every SECONDS, and on a local disk soon after a file changes
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    watch: Option<u64>,
    /// Address of the remote control of the rclone that mounts the folder: rclone then reads its folders again before each sync
    #[arg(long, value_name = "URL", env = "ATLAS_RCLONE_RC", hide_env_values = true)]
    rclone_rc: Option<String>,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Read all files, even those whose size and time have not changed
    #[arg(long)]
    checksum: bool,
    /// Continue even if many files vanished or became empty
    #[arg(long)]
    allow_mass_delete: bool,
    /// Join a folder that was never synced with a vault that it has little in common with
    #[arg(long)]
    join: bool,
    /// Publish again from the folder what is unreadable or missing in the store, and list what neither has any more
    #[arg(long, conflicts_with_all = ["dry_run", "watch"])]
    repair: bool,
    /// Days to keep versions that were replaced or deleted in the mirror; the newest ten generations are always kept
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    keep_days: u32,
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
    let rclone = arguments.rclone_rc.as_deref().map(RemoteControl::at).transpose()?;
    let Some(seconds) = arguments.watch else {
        let mirror = arguments.vault.store.open()?;
        let phases = Phases::over(bar::start(arguments.json));
        let summary = tokio::select! {
            summary = once(&arguments, &mirror, rclone.as_ref(), phases.clone()) => summary,
            _ = tokio::signal::ctrl_c() => Err(phases.interrupted().into()),
        };
        // A repair is told of though the sync stops behind it: the next one finds nothing to repair.
        let summary = summary.inspect_err(|_| phases.repaired().iter().for_each(print_repaired))?;
        print(&arguments, &summary)?;
        return if summary.needs_attention() { Err(Attention.into()) } else { Ok(()) };
    };
    // One mirror for all runs, so that each reads only what is new; opened late, so that a store that is away stops nothing.
    let mut mirror = None;
    let mut watch = Watch::new(Duration::from_secs(seconds));
    loop {
        watch.begin(&arguments.vault.root);
        match watched(&arguments, &mut mirror, rclone.as_ref()).await {
            Ok(summary) => print(&arguments, &summary)?,
            Err(error) => output::error(&*error),
        }
        watch.wait(mirror.as_ref()).await;
    }
}

async fn watched(
    arguments: &Arguments,
    mirror: &mut Option<Mirror>,
    rclone: Option<&RemoteControl>,
) -> Result<Summary, Box<dyn Error>> {
    let mirror = match mirror {
        Some(mirror) => mirror,
        None => mirror.insert(arguments.vault.store.open()?),
    };
    once(arguments, mirror, rclone, Arc::new(())).await
}

/// Takes away the request for a sync, if there is one.
async fn take_request(mirror: &Mirror) -> Result<(), MirrorError> {
    match mirror.sync_asked_for().await? {
        Some(_) => mirror.take_sync_request().await,
        None => Ok(()),
    }
}

async fn once(
    arguments: &Arguments,
    mirror: &Mirror,
    rclone: Option<&RemoteControl>,
    progress: Arc<dyn Progress>,
) -> Result<Summary, Box<dyn Error>> {
    let begun = Instant::now();
    let began = Timestamp::now();
    let base = options(&arguments.vault, began)?;
    let runs = Runs::of(&base.state);
    let time = Duration::from_secs(u64::from(arguments.keep_days) * DAY.as_secs());
    let options = SyncOptions {
        collect: is_due(&runs, began).then_some(Retention { time, ..Retention::default() }),
        message: arguments.message.clone(),
        checksum: arguments.checksum,
        dry_run: arguments.dry_run,
        allow_mass_delete: arguments.allow_mass_delete,
        join: arguments.join,
        repair: arguments.repair,
        ..base
    };
    // A request that comes from now on is for the next sync. If the request may not be deleted, sync all the same.
    if !options.dry_run
        && let Err(error) = take_request(mirror).await
    {
        tracing::warn!(%error, "the request for a sync could not be removed");
    }
    if let Some(rclone) = rclone {
        rclone.refresh().await;
    }
    let result = sync(mirror, &options, progress).await;
    match &result {
        Ok(summary) if !options.dry_run => {
            let run = Run { time: began, generation: summary.generation };
            let beat = Heartbeat { time: began, generation: summary.generation };
            if beat.is_due(runs.last_success().map(|last| last.time))
                && let Err(error) = mirror.tell_synced(&beat).await
            {
                tracing::warn!(%error, "the time of this sync could not be recorded in the store");
            }
            runs.succeeded(&run);
            // Also if it failed, as where nothing may be deleted: to try costs too much to do it in every run.
            if options.collect.is_some() {
                runs.collected(&run);
            }
        }
        // The other one tells how it went.
        Ok(_) | Err(SyncError::Locked { .. }) => {}
        Err(error) => runs.failed(began, error),
    }
    let mut summary = result?;
    summary.duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(summary)
}

/// Whether the store is to be looked through: once a day.
fn is_due(runs: &Runs, now: Timestamp) -> bool {
    let age = runs.last_collection().map(|last| now.duration_since(last.time));
    age.is_none_or(|age| age.is_negative() || age.unsigned_abs() >= DAY)
}

/// What `vault` says of a sync that begins at `began`.
pub(crate) fn options(vault: &VaultArguments, began: Timestamp) -> Result<SyncOptions, Box<dyn Error>> {
    let options = SyncOptions::new(vault.root.clone(), vault.state()?, author(), began);
    Ok(SyncOptions { time_zone: TimeZone::system(), ..options })
}

fn print(arguments: &Arguments, summary: &Summary) -> Outcome {
    if arguments.json {
        return output::json(summary);
    }
    if arguments.dry_run || arguments.watch.is_some() {
        let time = arguments.watch.map(|_| format!("{:.0} ", Timestamp::now())).unwrap_or_default();
        name(&time, &summary.changed, summary.pushed.sum() + summary.pulled.sum());
    }
    summary.skipped.iter().for_each(output::note);
    for Conflicted { path, copy, is_folder } in &summary.conflicts {
        match copy {
            Some(copy) if *is_folder => output::note(format_args!(
                "{path}: a folder has this name on one side and a file on the other; the folder is in its place, the file is {copy:?}"
            )),
            Some(copy) => output::note(format_args!(
                "{path}: it changed on both sides; the folder's version is in its place, the mirror's is in {copy:?}"
            )),
            None => output::note(format_args!("{path}: it changed on both sides")),
        }
    }
    if let Some(repaired) = &summary.repaired {
        print_repaired(repaired);
    }
    let Summary { generation, notes, attachments, pushed, pulled, unchanged, waiting, .. } = summary;
    let what = if arguments.dry_run { "would change" } else { "generation" };
    let seconds = Duration::from_millis(summary.duration_ms).as_secs_f64();
    output::line(format_args!(
        "{what} {generation}: {notes} notes, {attachments} attachments; to the mirror {}, to the folder {}, {unchanged} unchanged; \
         {} uploaded in {seconds:.2} s",
        changes(pushed),
        changes(pulled),
        DecimalBytes(summary.uploaded_bytes)
    ));
    if let Some(Collected { generations, objects, bytes, unread, ran_back }) = summary.collected {
        if generations + objects > 0 {
            let bytes = DecimalBytes(bytes);
            output::note(format_args!(
                "{generations} old generations and {objects} objects of {bytes} were deleted from the store"
            ));
        }
        if unread > 0 {
            output::note(format_args!(
                "{unread} more generations have to be read before more can be deleted from the store"
            ));
        }
        if let Some(generation) = ran_back {
            output::note(format_args!(
                "the store's clock ran backwards before generation {generation}: history is kept longer until that is over"
            ));
        }
    }
    if *waiting > 0 {
        output::note(format_args!("{waiting} paths changed in the mirror and could not be brought to the folder"));
    }
    Ok(())
}

/// Prints the files that change, each after `time`, or with that of the version that comes if there is none; of all so many.
pub(crate) fn name(time: &str, changed: &[Changed], all: u64) {
    for Changed { path, side, how, modified } in changed {
        let side = match side {
            Side::Folder => "folder",
            Side::Mirror => "mirror",
        };
        let of = modified.filter(|_| time.is_empty()).map(|modified| format!(", of {modified:.0}")).unwrap_or_default();
        output::line(format_args!("{time}{} {path} (to the {side}){of}", how.sign()));
    }
    let left = all.saturating_sub(changed.len() as u64);
    if left > 0 {
        output::line(format_args!("{time}and {left} more"));
    }
}

fn print_repaired(repaired: &Repaired) {
    let Repaired { put_back, rewound, anew, flaws, rescued, recovered, lost, unnamed } = repaired;
    if let Some(generation) = put_back {
        output::note(format_args!("generation {generation} was put back from `latest`"));
    }
    for generation in rewound {
        output::note(format_args!(
            "the changes of generation {generation} are lost, except those that folders have: its manifest is gone"
        ));
    }
    if let Some(Anew { generation, seen }) = anew {
        output::note(format_args!(
            "no manifest was readable, so generation {generation} was begun anew with what this folder has: what was written after generation {seen}, \
             which it was synced with last, or had not come into it, is lost, but for what other folders have"
        ));
    }
    flaws.iter().for_each(output::note);
    if !flaws.is_empty() {
        output::note(format_args!("{rescued} files of damaged objects were published again"));
    }
    for Recovered { path, generation } in recovered {
        output::note(format_args!(
            "{path}: came back as generation {generation} wrote it; it may have been changed or deleted since"
        ));
    }
    lost.iter().for_each(|path| {
        output::note(format_args!("{path}: its content is lost: neither the store nor this folder has it"))
    });
    if *unnamed > 0 {
        output::note(format_args!(
            "{unnamed} files were lost, and their names with them; those that this folder has are published again"
        ));
    }
}

/// Changes as they are printed.
pub(crate) fn changes(changes: &Changes) -> String {
    let Changes { added, changed, removed } = changes;
    format!("+{added} ~{changed} -{removed}")
}
