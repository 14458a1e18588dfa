//! Plans a run: cuts the source into shards.

use atlas_mirror::Mirror;
use atlas_sync::rules::{Class, class_of};
use jiff::Timestamp;
use serde::Serialize;

use crate::error::BuildError;
use crate::publish::last_run;
use crate::records::{LastRun, Records, Shard};
use crate::source::{Range, Source};

/// The file of a vault's rules about excluded files.
const RULES: &str = ".atlasignore";
/// Most shards of a run: a vault has at most 4,096 segments.
const MAX_SHARDS: u32 = 3_000;

/// The size of a shard.
#[derive(Clone, Copy, Debug)]
pub struct ShardSize {
    /// Bytes of text, after which it ends.
    pub text_bytes: u64,
    /// Bytes of attachments, after which it ends.
    pub attachment_bytes: u64,
    /// Objects, after which it ends.
    pub objects: u64,
}

impl Default for ShardSize {
    /// 128 MiB of text, 4 GiB of attachments, 100,000 objects: one segment usually, and minutes of one processor.
    fn default() -> Self {
        Self { text_bytes: 128 << 20, attachment_bytes: 4 << 30, objects: 100_000 }
    }
}

/// A planned run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Planned {
    /// The vault.
    pub vault: String,
    /// The run.
    pub run: String,
    /// The key of the plan in the store: a JSON list, one item for each shard.
    pub key: String,
    /// How many shards there are.
    pub shards: usize,
}

/// Cuts `source` into shards, or finds the plan that an earlier call made.
///
/// # Errors [`BuildError`]; repeating it is harmless.
pub async fn plan(
    mirror: &Mirror,
    source: &Source,
    run: &str,
    size: ShardSize,
    allow_mass_delete: bool,
    now: Timestamp,
) -> Result<(Planned, Vec<Shard>), BuildError> {
    let records = Records::of(mirror, run)?;
    let shards = match records.plan().await? {
        Some(shards) => shards,
        None => {
            let last = last_run(mirror, now).await?;
            records.keep_plan(cut(mirror, source, run, size, last, allow_mass_delete).await?).await?
        }
    };
    let name = records.name("plan");
    let key = mirror.keys().state(&name).map_err(|error| BuildError::Invalid(error.to_string()))?;
    let planned =
        Planned { vault: mirror.vault().to_string(), run: run.to_owned(), key: key.to_string(), shards: shards.len() };
    Ok((planned, shards))
}

/// Refuses rules about excluded files.
pub(crate) fn check_rules(key: &str) -> Result<(), BuildError> {
    match key.rsplit('/').next() {
        Some(RULES) => Err(BuildError::Rules { key: key.to_owned() }),
        _ => Ok(()),
    }
}

async fn cut(
    mirror: &Mirror,
    source: &Source,
    run: &str,
    size: ShardSize,
    last: Option<LastRun>,
    allow_mass_delete: bool,
) -> Result<Vec<Shard>, BuildError> {
    let mut ends: Vec<String> = Vec::new();
    let (mut objects, mut text, mut attachments, mut all) = (0u64, 0u64, 0u64, 0u64);
    let mut before: Option<String> = None;
    source
        .walk(&Range::default(), |object| {
            let is_full = objects >= size.objects || text >= size.text_bytes || attachments >= size.attachment_bytes;
            if let Some(end) = before.take().filter(|_| is_full) {
                ends.push(end);
                (objects, text, attachments) = (0, 0, 0);
            }
            if ends.len() >= MAX_SHARDS as usize {
                return Err(BuildError::TooLarge { limit: format!("{MAX_SHARDS} shards") });
            }
            check_rules(&object.key)?;
            match class_of(&object.key) {
                None => {}
                Some(Class::Attachment) => attachments += object.bytes,
                Some(_) => text += object.bytes,
            }
            (objects, all) = (objects + 1, all + 1);
            before = Some(object.key);
            Ok(())
        })
        .await?;
    if let Some(last) = last.as_ref().filter(|last| all == 0 && last.files > 0 && !allow_mass_delete) {
        return Err(BuildError::Emptied { place: source.place().to_owned(), of: last.files });
    }
    let base = last.map(|last| last.run);
    let mut after = None;
    let mut shards = Vec::with_capacity(ends.len() + 1);
    // The last one is open, so that what was removed after the last key is in it.
    for (shard, upto) in (0..).zip(ends.into_iter().map(Some).chain([None])) {
        let (vault, run, base) = (mirror.vault().to_string(), run.to_owned(), base.clone());
        shards.push(Shard { vault, run, shard, base, after: after.take(), upto: upto.clone() });
        after = upto;
    }
    Ok(shards)
}
