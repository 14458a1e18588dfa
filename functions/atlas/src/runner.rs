//! One sync of a folder, and related work: rclone's cache, the request for a sync, the heartbeat, and the record of the
//! result.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atlas_mirror::{Heartbeat, LeftOut, Mirror, MirrorError, Retention};
use atlas_sync::{Background, GitSummary, LinkSummary, Progress, Run, Runs, Summary, SyncError, SyncOptions, sync};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::alerts::AlertRules;
use crate::chosen_model;
use crate::features;
use crate::git::{Due, GitRules};
use crate::output;
use crate::rclone::RemoteControl;
use crate::relinking::Following;
use crate::remembered::Remembered;
use crate::vault::author;
use crate::vault_location::VaultLocation;

/// How long a sync between others, or a single one, reads the text of attachments.
const READING_BETWEEN: Duration = Duration::from_secs(1);
const READING_ONCE: Duration = Duration::from_secs(12 * 3600);

const DAY: Duration = Duration::from_secs(24 * 3600);

/// The permissions of a sync, and how long the mirror keeps replaced versions.
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
    /// Days to keep replaced and deleted versions in the mirror; the newest ten generations are always kept
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    keep_days: u32,
    #[command(flatten)]
    merges: MergeRules,
    /// Where you moved or renamed files in the folder, rewrite the links to them, as far as it is sure where each came from
    #[arg(long, env = "ATLAS_RELINK")]
    relink: bool,
    #[command(flatten)]
    git: GitRules,
    #[command(flatten)]
    alerts: AlertRules,
}

/// The treatment of files that both sides changed.
#[derive(Debug, Args)]
pub(crate) struct MergeRules {
    /// Of files that both sides changed, merge those whose changes do not meet; or keep both versions of all
    #[arg(long, value_name = "WHICH", env = "ATLAS_MERGE", value_enum, default_value_t = MergeRule::Clean)]
    merge: MergeRule,
}

impl MergeRules {
    /// Whether some are merged.
    pub(crate) fn are_merged(&self) -> bool {
        self.merge == MergeRule::Clean
    }
}

/// Which files that both sides changed are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MergeRule {
    /// Those whose changes do not meet
    Clean,
    /// None
    Never,
}

impl SyncRules {
    /// The rclone that mounts the folder, if given.
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
    /// Whether it syncs again and again.
    pub(crate) is_watching: bool,
    /// The embedding beside these syncs.
    pub(crate) embedding: Arc<Background>,
}

impl Runner<'_> {
    /// Syncs it once, and tells a person of lasting trouble.
    pub(crate) async fn run(&self, mirror: &Mirror, progress: Arc<dyn Progress>) -> Result<Summary, Box<dyn Error>> {
        let result = self.sync(mirror, progress).await;
        self.tell(result.as_ref().map_err(|error| &**error)).await;
        result
    }

    /// Opens the mirror, and tells a person of a store that cannot be opened.
    pub(crate) async fn open(&self) -> Result<Mirror, Box<dyn Error>> {
        match if self.dry_run { self.location.open_to_look() } else { self.location.open() } {
            Ok(mirror) => Ok(mirror),
            Err(error) => Err(self.failed(error).await),
        }
    }

    /// Keeps, and tells, why no sync could begin.
    async fn failed(&self, error: Box<dyn Error>) -> Box<dyn Error> {
        if let Some(state) = self.location.recorded_state().filter(|_| !self.dry_run) {
            Runs::of(&state).failed(Timestamp::now(), &error);
        }
        self.tell(Err(&*error)).await;
        error
    }

    /// Tells a person how syncs go, if that is due.
    async fn tell(&self, result: Result<&Summary, &(dyn Error + 'static)>) {
        let is_on = self.rules.alerts.are_on() && !self.dry_run;
        if let Some((folder, state)) =
            self.location.folder.as_deref().zip(self.location.recorded_state()).filter(|_| is_on)
        {
            let vault = self.location.vault.value.as_str();
            self.rules.alerts.look(result, vault, folder, &state, Timestamp::now()).await;
        }
    }

    async fn sync(&self, mirror: &Mirror, progress: Arc<dyn Progress>) -> Result<Summary, Box<dyn Error>> {
        let begun = Instant::now();
        let began = Timestamp::now();
        let base = options(self.location, began)?;
        let runs = Runs::of(&base.state);
        let time = Duration::from_secs(u64::from(self.rules.keep_days) * DAY.as_secs());
        let (embeddings, unusable) = match chosen_model::chosen(self.location).await {
            Ok(chosen) => (chosen, None),
            Err(why) => (None, Some(why)),
        };
        let options = SyncOptions {
            collect: is_due(&runs, began).then_some(Retention { time, ..Retention::default() }),
            message: self.message.map(str::to_owned),
            checksum: self.checksum,
            dry_run: self.dry_run,
            merge: self.rules.merges.are_merged(),
            allow_mass_delete: self.rules.allow_mass_delete,
            join: self.rules.join,
            repair: self.repair,
            reading: features::reading(if self.is_watching { READING_BETWEEN } else { READING_ONCE }),
            code: features::code(),
            embeddings,
            background: self.is_watching.then(|| self.embedding.clone()),
            ..base
        };
        // A later request is for the next sync. If the request cannot be deleted, the sync continues, and fails by itself if it must.
        if !options.dry_run
            && let Err(error) = take_request(mirror).await
        {
            tracing::debug!(%error, "the request for a sync could not be removed");
        }
        if let Some(rclone) = &self.rclone {
            rclone.refresh().await;
        }
        let first = if self.is_watching { Due::BranchNowAndThen } else { Due::Branch };
        let before = self.exchange(mirror, &options, first).await;
        let mut result = sync(mirror, &options, progress.clone()).await;
        if let Ok(summary) = &mut result {
            summary.relinked = self.relink(mirror, &options, &runs, summary.generation).await;
            summary.git = joined(before, self.exchange(mirror, &options, Due::Mirror).await);
        }
        // The folder gets what the branch had, and new links, at once.
        if let Ok(summary) = &mut result
            && (summary.git.as_ref().is_some_and(|git| git.taken > 0)
                || summary.relinked.as_ref().is_some_and(|relinked| relinked.links > 0))
            && mirror.known_generation().is_some_and(|newest| newest > summary.generation)
        {
            let again = SyncOptions { collect: None, repair: false, ..options.clone() };
            match sync(mirror, &again, progress).await {
                Ok(later) => summary.continued(later),
                Err(error) => result = Err(error),
            }
        }
        match &result {
            Ok(summary) if !options.dry_run => {
                self.remember();
                let run = Run { time: began, generation: summary.generation };
                let beat = Heartbeat { time: began, generation: summary.generation };
                if beat.is_due(runs.last_success().map(|last| last.time))
                    && let Err(error) = mirror.record_sync(&beat).await
                {
                    tracing::warn!(%error, "the time of this sync could not be recorded in the store");
                }
                runs.succeeded(&run);
                record_left_out(mirror, &options.state, &summary.left_out(began)).await;
                // Even after a failure, for instance without permission to delete: trying is too expensive for every
                // run.
                if options.collect.is_some() {
                    runs.collected(&run);
                }
            }
            // The other process reports the result.
            Ok(_) | Err(SyncError::Locked { .. }) => {}
            Err(error) => runs.failed(began, error),
        }
        let mut summary = result?;
        summary.embedding_failure = unusable.or(summary.embedding_failure);
        summary.duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(summary)
    }

    /// Makes links follow what was moved in the folder, if that is wanted.
    async fn relink(
        &self,
        mirror: &Mirror,
        options: &SyncOptions,
        runs: &Runs,
        generation: u64,
    ) -> Option<LinkSummary> {
        if !self.rules.relink || options.dry_run {
            return None;
        }
        let following = Following::of(&options.state, runs.last_success().map(|last| last.generation));
        following.follow(mirror, self.location.vault.value.as_str(), generation, options.began).await
    }

    /// Exchanges changes with the Git repository, if there is one.
    async fn exchange(&self, mirror: &Mirror, options: &SyncOptions, due: Due) -> Option<GitSummary> {
        let SyncRules { git, allow_mass_delete, .. } = self.rules;
        match options.dry_run {
            true => None,
            false => git.exchange(mirror, &options.state, due, *allow_mass_delete, options.began).await,
        }
    }

    /// Stores the vault's location for later commands in the folder, and reports a change of it.
    fn remember(&self) {
        // A store in this process's memory is useless to the next.
        let Some(folder) = self.location.folder.as_ref().filter(|_| !self.location.store.value.starts_with("memory:"))
        else {
            return;
        };
        let now = self.location.to_remember();
        match now.keep(folder) {
            Ok(Some(before)) if (&before.store, &before.vault) != (&now.store, &now.vault) => {
                let place = |remembered: Remembered| {
                    let vault = remembered.vault.unwrap_or_default();
                    format!("the vault {vault} in {}", remembered.store.unwrap_or_default())
                };
                let (folder, before) = (folder.display(), place(before));
                output::note(format_args!(
                    "{folder} is synced with {} from now on; before it was {before}",
                    place(now)
                ));
            }
            Ok(_) => {}
            // On a host without a home folder, such as a container or a service, all settings are given.
            Err(error) => tracing::debug!(%error, "where the vault is could not be remembered"),
        }
    }
}

/// The options of a sync that begins at `began`, as far as the location determines them.
pub(crate) fn options(location: &VaultLocation, began: Timestamp) -> Result<SyncOptions, Box<dyn Error>> {
    let options = SyncOptions::new(location.folder()?.to_owned(), location.state()?, author(), began);
    Ok(SyncOptions { time_zone: TimeZone::system(), ..options })
}

/// The result of two exchanges.
fn joined(first: Option<GitSummary>, second: Option<GitSummary>) -> Option<GitSummary> {
    let (mut first, second) = match (first, second) {
        (Some(first), Some(second)) => (first, second),
        (one, other) => return one.or(other),
    };
    first.taken += second.taken;
    first.commits += second.commits;
    // Both exchanges see what the branch has.
    let further: Vec<_> = second.skipped.into_iter().filter(|skipped| !first.skipped.contains(skipped)).collect();
    first.skipped.extend(further);
    first.conflicts.extend(second.conflicts);
    Some(GitSummary { head: second.head.or(first.head), error: second.error.or(first.error), ..first })
}

/// Deletes the request for a sync, if there is one.
async fn take_request(mirror: &Mirror) -> Result<(), MirrorError> {
    match mirror.sync_request().await? {
        Some(_) => mirror.take_sync_request().await,
        None => Ok(()),
    }
}

/// Whether garbage collection is due: once a day.
fn is_due(runs: &Runs, now: Timestamp) -> bool {
    let age = runs.last_collection().map(|last| now.duration_since(last.time));
    age.is_none_or(|age| age.is_negative() || age.unsigned_abs() >= DAY)
}

/// The file of the sync state with what was last recorded as left out.
const LEFT_OUT: &str = "left_out.json";

/// Records in the store what the sync left out, if that differs from what this host recorded last. Without it the sync is no less a success.
async fn record_left_out(mirror: &Mirror, state: &Path, left_out: &LeftOut) {
    let files = serde_json::to_vec(&(&left_out.files, left_out.more)).unwrap_or_default();
    let known = state.join(LEFT_OUT);
    let is_known = fs::read(&known).map_or(left_out.files.is_empty(), |before| before == files);
    if is_known {
        return;
    }
    match mirror.record_left_out(left_out).await {
        Ok(()) => drop(fs::write(&known, &files)),
        Err(error) => tracing::warn!(%error, "what this sync left out could not be recorded in the store"),
    }
}
