//! `atlas doctor`

use std::sync::Arc;

use atlas_mirror::probe::clock;
use atlas_mirror::{Mirror, MirrorError, Options, PartCache, Snapshot, probe_conditional_writes};
use clap::Args;
use indicatif::DecimalBytes;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::commands::Outcome;
use crate::output;
use crate::vault_location::LocationArguments;

/// Greatest accepted difference between the clocks: S3 refuses requests at 15 minutes, and the log's times must be
/// reliable.
const MAX_SKEW: SignedDuration = SignedDuration::from_secs(60);
/// Most damaged objects that are listed.
const MOST_FLAWS: usize = 20;
/// The number of generations that are read.
const HISTORY: usize = 100;

/// Arguments of `atlas doctor`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    location: LocationArguments,
    /// Check only what a reader needs, and write nothing
    #[arg(long)]
    read_only: bool,
    /// Read all attachments, and check their hashes
    #[arg(long)]
    checksum: bool,
    /// Print the checks as a JSON array
    #[arg(long)]
    json: bool,
}

/// A check, and its result.
#[derive(Debug, Serialize)]
struct Check {
    what: &'static str,
    ok: bool,
    detail: String,
}

/// Runs `atlas doctor`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    let mut checks = Vec::new();
    let mut tell = |what: &'static str, found: Result<String, String>| {
        let ok = found.is_ok();
        let detail = found.unwrap_or_else(|error| error);
        if !arguments.json {
            output::line(format_args!("{} {what}: {detail}", if ok { "ok    " } else { "FAILED" }));
        }
        checks.push(Check { what, ok, detail });
        ok
    };
    examine(&arguments, &mut tell).await;
    if arguments.json {
        output::json(&checks)?;
    }
    match checks.iter().filter(|check| !check.ok).count() {
        0 => Ok(()),
        count => Err(format!("{count} of {} checks failed", checks.len()).into()),
    }
}

async fn examine(arguments: &Arguments, tell: &mut impl FnMut(&'static str, Result<String, String>) -> bool) {
    let found = arguments.location.find(None, None).map_err(|error| error.to_string());
    let opened = found.and_then(|location| {
        // To look makes no store.
        location.check_store_folder().map_err(|error| error.to_string())?;
        Ok((location.store().map_err(|error| error.to_string())?, location))
    });
    let Ok((store, location)) = &opened else {
        tell("settings", opened.map(|_| String::new()));
        return;
    };
    let vault = &location.vault.value;
    let cache = Arc::new(PartCache::new(0));
    let mirror = match Mirror::open(store.clone(), vault.clone(), cache, Options::default()) {
        Ok(mirror) => mirror,
        Err(error) => {
            tell("settings", Err(error.to_string()));
            return;
        }
    };
    tell("settings", Ok(format!("the vault {vault} in {}", store.name())));
    let head = match mirror.head().await {
        Ok(head) => Some(head),
        Err(MirrorError::NotPublished { .. }) => None,
        Err(error @ MirrorError::Damaged { .. }) => {
            tell("newest generation", Err(error.to_string()));
            return;
        }
        Err(error) => {
            tell("store", Err(error.to_string()));
            return;
        }
    };
    tell("store", Ok("it answers".to_owned()));
    if !arguments.read_only {
        let probed = probe_conditional_writes(store).await;
        let refused = |error: MirrorError| format!("{error} (if you may only read: --read-only)");
        let kept = || "of several writers that create one object, one succeeds".to_owned();
        if tell("conditional writes", probed.map(|()| kept()).map_err(refused)) {
            tell("clock", skew(clock(store).await));
        }
    }
    let Some(head) = head else {
        tell("newest generation", Err(mirror.not_published().to_string()));
        return;
    };
    tell("newest generation", Ok(described(&head)));
    tell("latest", latest(&mirror).await);
    tell("history", history(&mirror, &head).await);
    tell("times", times(&mirror).await);
    objects(arguments, &mirror, &head, tell).await;
}

fn described(head: &Snapshot) -> String {
    let manifest = head.manifest();
    let (number, time, author) = (manifest.generation, manifest.time, &manifest.author);
    format!(
        "{number} of {time:.0} by {author}: {} notes, {} attachments",
        manifest.totals.notes, manifest.totals.attachments
    )
}

/// Compares the store's clock with this machine's.
fn skew(theirs: Result<Timestamp, MirrorError>) -> Result<String, String> {
    let ahead = theirs.map_err(|error| error.to_string())?.duration_since(Timestamp::now());
    let text = format!(
        "the store's is {} s {} this machine's",
        ahead.as_secs().abs(),
        if ahead.is_negative() { "behind" } else { "ahead of" }
    );
    if ahead.abs() <= MAX_SKEW { Ok(text) } else { Err(format!("{text}: set this machine's clock")) }
}

/// Checks that the manifests of the generations follow each other: the newest to their parents, all without a gap.
async fn history(mirror: &Mirror, head: &Snapshot) -> Result<String, String> {
    let failed = |error: MirrorError| match error {
        MirrorError::Damaged { object, reason } => {
            format!(
                "{object} is damaged: {reason}: history ends there; no repair recovers that, so put the object back if a backup has it"
            )
        }
        error => error.to_string(),
    };
    let history = mirror.history(head.generation(), HISTORY).await.map_err(failed)?;
    let gaps = mirror.gaps(head.generation(), HISTORY).await.map_err(failed)?;
    let count: u64 = gaps.iter().map(|gap| gap.end() - gap.start() + 1).sum();
    match gaps.first() {
        None => Ok(format!("the last {} generations follow each other", history.len())),
        Some(gap) => Err(format!(
            "the manifests of {count} older generations are missing or damaged, the newest of them {}: what these changed cannot be shown or undone; \
             no repair recovers that, and the newest generation lacks nothing; put the objects back if the store or a backup has them, else this \
             passes when these generations are too old to be kept",
            gap.end()
        )),
    }
}

/// Checks that the generations' times, by the store's clock, are in order.
async fn times(mirror: &Mirror) -> Result<String, String> {
    match mirror.ran_back().await.map_err(|error| error.to_string())? {
        None => Ok("each generation is younger than those before it".to_owned()),
        Some(generation) => Err(format!(
            "the store's clock ran backwards before generation {generation}: history is kept longer; set the store's clock; this passes when that generation is deleted"
        )),
    }
}

/// Checks that `latest` is an existing generation.
async fn latest(mirror: &Mirror) -> Result<String, String> {
    match mirror.lost_generation().await.map_err(|error| error.to_string())? {
        None => Ok("it is ahead of no generation".to_owned()),
        Some(generation) => Err(format!(
            "it is generation {generation}, whose manifest is missing: run `atlas sync --repair` to put it back; a write before that replaces it"
        )),
    }
}

/// Checks every object that the newest generation refers to, and records damage for later syncs.
async fn objects(
    arguments: &Arguments,
    mirror: &Mirror,
    head: &Snapshot,
    tell: &mut impl FnMut(&'static str, Result<String, String>) -> bool,
) {
    let found = match mirror.inspect(head, arguments.checksum).await {
        Ok(found) => found,
        Err(error) => {
            tell("objects", Err(error.to_string()));
            return;
        }
    };
    for flaw in found.flaws.iter().take(MOST_FLAWS) {
        tell("objects", Err(format!("{flaw}; `atlas sync --repair` publishes again what can be recovered")));
    }
    match found.flaws.len() {
        0 => {
            let how = if arguments.checksum { "are whole" } else { "are there (attachments' hashes: --checksum)" };
            tell("objects", Ok(format!("{} {how}, {} in all", found.objects, DecimalBytes(found.bytes))));
        }
        many if many > MOST_FLAWS => {
            tell("objects", Err(format!("{} more are damaged", many - MOST_FLAWS)));
        }
        _ => {}
    }
    if arguments.read_only {
        return;
    }
    if let Err(error) = mirror.note_damage(found.flaws.first()).await {
        tell("objects", Err(error.to_string()));
    }
}
