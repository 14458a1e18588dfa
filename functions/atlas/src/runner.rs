//! One sync of a folder, with what goes beside it: rclone's cache, the request for a sync, the heartbeat, and the record of how it went.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atlas_mirror::{Heartbeat, Mirror, MirrorError, Retention};
use atlas_sync::{Progress, Run, Runs, Summary, SyncError, SyncOptions, sync};
use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::features;
use crate::output;
use crate::rclone::RemoteControl;
use crate::vault::author;
use crate::vault_location::VaultLocation;

/// How long a sync reads the text of attachments that others follow, or none.
pub(crate) const READING_BETWEEN: Duration = Duration::from_secs(1);
pub(crate) const READING_ONCE: Duration = Duration::from_secs(12 * 3600);

const DAY: Duration = Duration::from_secs(24 * 3600);

/// What a sync may do, and how long the mirror keeps what was replaced.
#[derive(Debug, Args)]
pub(crate) struct SyncRules {
    /// Address of the remote control of the rclone that mounts the folder: rclone then reads its folders again before each sync
    #[arg(long, value_name = "URL", env = "ATLAS_RCLONE_RC", hide_env_values = true)]
    rclone_rc: Option<String>,
    /// Continue even if many files vanished or became empty
    #[arg(long)]
    allow_mass_delete: bool,
    /// Join a folder that was never synced with a vault that it has little in common with
    #[arg(long)]
    join: bool,
    /// Days to keep versions that were replaced or deleted in the mirror; the newest ten generations are always kept
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    keep_days: u32,
}

impl SyncRules {
    /// The rclone that mounts the folder, if it is named.
    pub(crate) fn rclone(&self) -> Result<Option<RemoteControl>, Box<dyn Error>> {
        self.rclone_rc.as_deref().map(RemoteControl::at).transpose()
    }
}

/// Syncs a folder.
pub(crate) struct Runner<'a> {
    pub(crate) location: &'a VaultLocation,
    pub(crate) rules: &'a SyncRules,
    pub(crate) rclone: Option<RemoteControl>,
    pub(crate) dry_run: bool,
    pub(crate) checksum: bool,
    pub(crate) repair: bool,
    pub(crate) message: Option<&'a str>,
    /// How long one sync reads the text of attachments.
    pub(crate) reading_time: Duration,
}

impl Runner<'_> {
    /// Syncs it once.
    pub(crate) async fn run(&self, mirror: &Mirror, progress: Arc<dyn Progress>) -> Result<Summary, Box<dyn Error>> {
        let begun = Instant::now();
        let began = Timestamp::now();
        let base = options(self.location, began)?;
        let runs = Runs::of(&base.state);
        let time = Duration::from_secs(u64::from(self.rules.keep_days) * DAY.as_secs());
        let options = SyncOptions {
            collect: is_due(&runs, began).then_some(Retention { time, ..Retention::default() }),
            message: self.message.map(str::to_owned),
            checksum: self.checksum,
            dry_run: self.dry_run,
            allow_mass_delete: self.rules.allow_mass_delete,
            join: self.rules.join,
            repair: self.repair,
            reading: features::reading(self.reading_time),
            code: features::code(),
            ..base
        };
        // A request that comes from now on is for the next sync. If the request may not be deleted, sync all the same.
        if !options.dry_run
            && let Err(error) = take_request(mirror).await
        {
            tracing::warn!(%error, "the request for a sync could not be removed");
        }
        if let Some(rclone) = &self.rclone {
            rclone.refresh().await;
        }
        let result = sync(mirror, &options, progress).await;
        match &result {
            Ok(summary) if !options.dry_run => {
                self.remember();
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

    /// Keeps where the vault is for commands that run in the folder, and says so where that was another place before.
    fn remember(&self) {
        // What is only in this process's memory is of no use to the next.
        let Some(folder) = self.location.folder.as_ref().filter(|_| !self.location.store.value.starts_with("memory:"))
        else {
            return;
        };
        match self.location.to_remember().keep(folder) {
            Ok(Some(before)) => {
                let (folder, store) = (folder.display(), &self.location.store.value);
                let before = before.store.unwrap_or_default();
                output::note(format_args!("{folder} is synced with {store} from now on; before it was {before}"));
            }
            Ok(None) => {}
            // A host without a home, as a container or a service has it, names everything.
            Err(error) => tracing::debug!(%error, "where the vault is could not be remembered"),
        }
    }
}

/// What a sync that begins at `began` is asked for, as far as the location says it.
pub(crate) fn options(location: &VaultLocation, began: Timestamp) -> Result<SyncOptions, Box<dyn Error>> {
    let options = SyncOptions::new(location.folder()?.to_owned(), location.state()?, author(), began);
    Ok(SyncOptions { time_zone: TimeZone::system(), ..options })
}

/// Takes away the request for a sync, if there is one.
async fn take_request(mirror: &Mirror) -> Result<(), MirrorError> {
    match mirror.sync_asked_for().await? {
        Some(_) => mirror.take_sync_request().await,
        None => Ok(()),
    }
}

/// Whether the store is to be looked through: once a day.
fn is_due(runs: &Runs, now: Timestamp) -> bool {
    let age = runs.last_collection().map(|last| now.duration_since(last.time));
    age.is_none_or(|age| age.is_negative() || age.unsigned_abs() >= DAY)
}
