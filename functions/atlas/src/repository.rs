//! Publishes a folder into its own `.atlas/` for an agent that works in it. The folder itself is never changed: the
//! server is read-only.

use std::error::Error;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use atlas_access::Acl;
use atlas_mcp::indexing::{Asker, Indexing, State};
use atlas_mirror::{Mirror, Options, PartCache};
use atlas_ops::Vault;
use atlas_sync::rules::Tree;
use atlas_sync::{Phase, Progress, Skipped, SyncError, SyncOptions, sync};
use indicatif::{DecimalBytes, HumanCount};
use jiff::Timestamp;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use crate::features;
use crate::kept;
use crate::output;
use crate::store::{CACHE_BYTES, folder_url};
use crate::vault::author;
use crate::watch::Watch;

/// The folder's subfolder for the store.
const KEPT: &str = ".atlas";
const STORE: &str = "store";
const STATE: &str = "state";
/// The folder is scanned after this time even if no change was seen.
const PAUSE: Duration = Duration::from_secs(60);
/// While another agent's server publishes the folder: the pause between checks, and the longest wait.
const BUSY_PAUSE: Duration = Duration::from_millis(200);
const BUSY: Duration = Duration::from_secs(3600);
/// How long calls do not wait for changes at first, and at most, where these were none.
const CALM: Duration = Duration::from_secs(2);
const LONGEST_CALM: Duration = Duration::from_secs(60);
/// Most skipped files that are listed in one run.
const MAX_NAMED: usize = 100;
/// Most callers who wait for the index to be rebuilt.
const MAX_ASKERS: usize = 64;
/// The id of the vault.
const VAULT: &str = "main";

/// A folder and its store.
pub(crate) struct Repository {
    root: PathBuf,
    mirror: Mirror,
    store: String,
    generation: Option<u64>,
    state: watch::Sender<State>,
    askers: mpsc::Receiver<Asker>,
    watch: Watch,
}

impl Repository {
    /// The folder at `root`, and its index, which is built by [`follow`](Self::follow).
    pub(crate) fn at(root: PathBuf) -> Result<(Self, Indexing), Box<dyn Error>> {
        let root =
            root.canonicalize().map_err(|error| format!("the folder {} cannot be served: {error}", root.display()))?;
        let kept = root.join(KEPT);
        for folder in [kept.clone(), kept.join(STORE), kept.join(STATE)] {
            // A link's target is not in this folder.
            if folder.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
                let shown = folder.display();
                return Err(format!(
                    "{shown} is a symbolic link or a file: remove it, so that the index can be kept there"
                )
                .into());
            }
        }
        fs::create_dir_all(&kept)?;
        // Keeps the store out of Git.
        match fs::File::create_new(kept.join(".gitignore")) {
            Ok(mut file) => std::io::Write::write_all(&mut file, b"*\n")?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
        let path = kept.join(STORE);
        let store = folder_url(&path).ok_or("the folder's path is not UTF-8: start it in another folder")?;
        let cache = Arc::new(PartCache::new(CACHE_BYTES));
        let mirror = Mirror::open(kept::open(&path)?, VAULT.parse()?, cache, Options::default())?;
        let (state, seen) = watch::channel(State::default());
        let (asked, askers) = mpsc::channel(MAX_ASKERS);
        let watch = Watch::of(Tree::Code, PAUSE);
        let indexing = Indexing::new(seen, asked, watch.pending());
        Ok((Self { root, mirror, store, generation: None, state, askers, watch }, indexing))
    }

    /// The settings of its server.
    pub(crate) fn variables(&self) -> [(String, String); 3] {
        let config = r#"{"acl": {"readOnly": true}, "toolFacade": {"mode": "code"}}"#;
        [("ATLAS_STORE", self.store.as_str()), ("ATLAS_VAULT", VAULT), ("ATLAS_CONFIG", config)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    }

    /// Publishes it now, and whenever it changed or somebody asks; never ends.
    pub(crate) async fn follow(mut self) {
        let pending = self.watch.pending();
        let mut askers: Vec<Asker> = Vec::new();
        let (mut failures, mut fruitless) = (0_u32, 0_u32);
        output::note("[INFO] Starting indexing...");
        loop {
            self.watch.begin(&self.root);
            let was_pending = pending.swap(false, Ordering::AcqRel);
            let before = self.generation;
            let result = self.publish().await.map_err(|error| error.to_string());
            failures = if result.is_ok() { 0 } else { failures.saturating_add(1) };
            if let Err(error) = &result {
                output::note(format_args!("[WARN] Indexing failed: {error}"));
            }
            fruitless = match self.generation == before {
                true => fruitless.saturating_add(u32::from(was_pending && result.is_ok())),
                false => 0,
            };
            let calm_until = calm_after(fruitless).map(|calm| Instant::now() + calm);
            // A published index can be read, whatever later runs do.
            self.state.send_if_modified(|state| {
                state.calm_until = calm_until;
                let is_news = !matches!(state.ended, Some(Ok(())));
                if is_news {
                    state.ended = Some(result.clone());
                }
                is_news
            });
            for asker in askers.drain(..) {
                // A caller that no longer waits needs no answer.
                let _ = asker.send(result.clone());
            }
            tokio::select! {
                () = self.watch.wait_to_try_again(failures, None), if failures > 0 => {}
                () = self.watch.wait(None), if failures == 0 => {}
                asker = self.askers.recv() => askers.extend(asker),
            }
            while let Ok(asker) = self.askers.try_recv() {
                askers.push(asker);
            }
        }
    }

    /// The vault that it is published as.
    pub(crate) fn vault(&self) -> Vault {
        Vault::new(VAULT, self.mirror.clone(), Acl::default())
    }

    /// Publishes it, if it changed.
    ///
    /// # Errors
    /// When the folder cannot be read, or its `.atlas/` not be written.
    pub(crate) async fn publish(&mut self) -> Result<(), Box<dyn Error>> {
        let begun = Instant::now();
        let summary = loop {
            let now = Timestamp::now();
            let base = SyncOptions::new(self.root.clone(), self.root.join(KEPT).join(STATE), author(), now);
            // The folder always wins over the mirror. Objects lost in a power cut are written again at the start.
            let repair = self.generation.is_none();
            let code = features::code();
            let options =
                SyncOptions { tree: Tree::Code, push_only: true, allow_mass_delete: true, repair, code, ..base };
            let steps = Steps { state: self.state.clone(), ..Steps::default() };
            match sync(&self.mirror, &options, Arc::new(steps)).await {
                // Another agent's server publishes it, perhaps in an older state.
                Err(SyncError::Locked { .. }) if begun.elapsed() < BUSY => sleep(BUSY_PAUSE).await,
                result => break result?,
            }
        };
        self.watch.leave_out(summary.excluded.iter().map(|(path, _)| path.as_str()));
        if self.generation.replace(summary.generation) != Some(summary.generation) {
            warn_of(&summary.skipped);
            output::note(format_args!(
                "[INFO] Indexing complete: {} notes and {} other files",
                summary.notes, summary.attachments
            ));
        }
        Ok(())
    }
}

/// How long calls do not wait for changes after so many runs for changes that found none: of files that rules exclude, say. One is nothing:
/// a change may be told late.
fn calm_after(fruitless: u32) -> Option<Duration> {
    let doublings = fruitless.checked_sub(2)?;
    Some(CALM.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST_CALM))
}

fn warn_of(skipped: &[Skipped]) {
    for file in skipped.iter().take(MAX_NAMED) {
        output::note(format_args!("[WARN] Skipping file... {file}"));
    }
    if let Some(more) = skipped.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        output::note(format_args!("[WARN] Skipping file... and {more} more"));
    }
}

/// Reports the current step to those who wait.
#[derive(Default)]
struct Steps {
    state: watch::Sender<State>,
    done: AtomicU64,
    total: AtomicU64,
    phase: std::sync::Mutex<Option<Phase>>,
}

/// A step is reported again after this many files or bytes.
const FILES: u64 = 1_000;
const BYTES: u64 = 1 << 20;

impl Steps {
    fn tell(&self, phase: Option<Phase>, done: u64) {
        let total = self.total.load(Ordering::Relaxed);
        let of = |doing: &str| match total {
            0 => format!("{doing}: {}", DecimalBytes(done)),
            total => format!("{doing}: {} of {}", DecimalBytes(done), DecimalBytes(total)),
        };
        let step = match phase {
            Some(Phase::Scan) => format!("listing files: {}", HumanCount(done)),
            Some(Phase::Read) => of("reading"),
            Some(Phase::Upload) => of("keeping what is not text"),
            Some(Phase::Index) => of("indexing"),
            Some(Phase::Commit | Phase::Write | Phase::Extract | Phase::Embed) | None => "publishing".to_owned(),
        };
        self.state.send_modify(|state| state.step = step);
    }

    fn phase(&self) -> Option<Phase> {
        *self.phase.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Progress for Steps {
    fn begin(&self, phase: Phase, total: Option<u64>) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total.unwrap_or(0), Ordering::Relaxed);
        *self.phase.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(phase);
        self.tell(Some(phase), 0);
    }

    fn advance(&self, units: u64) {
        let before = self.done.fetch_add(units, Ordering::Relaxed);
        let phase = self.phase();
        let every = if phase == Some(Phase::Scan) { FILES } else { BYTES };
        if before / every != (before + units) / every {
            self.tell(phase, before + units);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_wait_less_often_the_more_changes_turn_out_to_be_none() {
        for (fruitless, seconds) in [(0, None), (1, None), (2, Some(2)), (3, Some(4)), (6, Some(32)), (7, Some(60))] {
            assert_eq!(calm_after(fruitless).map(|calm| calm.as_secs()), seconds, "{fruitless}");
        }
        assert_eq!(calm_after(u32::MAX), Some(LONGEST_CALM));
    }
}
