//! The events of the three functions, and their answers: what Step Functions and SQS send, and what a process reads from a file.

use std::collections::BTreeSet;
use std::sync::Arc;

use atlas_mirror::location::Variables;
use atlas_mirror::{Mirror, Options, PartCache, Retention, Store, VaultId, location, log_filter};
use atlas_segment::FULL_BYTES;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::compact::compact;
use crate::error::BuildError;
use crate::plan::{Planned, ShardSize, plan};
use crate::publish::{PublishedRun, Run, publish};
use crate::records::Shard;
use crate::shard::build;
use crate::source::Sources;

/// The size of the cache of decoded parts, in bytes.
const CACHE_BYTES: usize = 64 << 20;
/// The default filter of the log.
const DEFAULT_LOG: &str = "info";

/// The settings of a function.
#[derive(Clone, Debug)]
pub struct Settings {
    store: Store,
    sources: Option<Sources>,
    shard_size: ShardSize,
    /// The filter of the log.
    pub log: String,
}

/// An event of `build`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum BuildEvent {
    /// Plan a run.
    Plan {
        /// The run.
        plan: Run,
    },
    /// Build a shard: an item of the plan.
    Shard(Shard),
}

/// An answer of `build`.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum BuildAnswer {
    /// A planned run.
    Planned(Planned),
    /// A shard that is built.
    Built(BuiltShard),
}

/// A shard that is built. Its result is in the store, since that of a map may have 256 KiB at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BuiltShard {
    /// Its number.
    pub shard: u32,
    /// The files that the source has.
    pub files: u64,
    /// How many of them are new or changed.
    pub pushes: usize,
    /// How many are to be removed.
    pub removes: usize,
    /// How many are left as they are in the mirror.
    pub left: usize,
}

/// Messages of SQS.
#[derive(Clone, Debug, Deserialize)]
pub struct QueueEvent {
    /// The messages, in order.
    #[serde(rename = "Records")]
    pub records: Vec<QueueRecord>,
}

/// A message.
#[derive(Clone, Debug, Deserialize)]
pub struct QueueRecord {
    /// Its id.
    #[serde(rename = "messageId")]
    pub message_id: String,
    /// Its content: a [`CompactMessage`].
    pub body: String,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactMessage {
    /// The vault to compact.
    pub vault: String,
}

/// The messages that are to be sent again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueAnswer {
    /// They.
    pub batch_item_failures: Vec<FailedItem>,
}

/// A message that is to be sent again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedItem {
    /// Its id.
    pub item_identifier: String,
}

impl Settings {
    /// Reads the settings among `variables`: `ATLAS_STORE`, `ATLAS_SOURCE`, `ATLAS_SHARD_BYTES`, `ATLAS_LOG`, and those that configure the
    /// connection to S3. Others are for other functions of a deployment.
    ///
    /// # Errors [`BuildError::Invalid`], and the errors of opening a store.
    pub fn read(variables: impl IntoIterator<Item = (String, String)>) -> Result<Self, BuildError> {
        let variables: Vec<(String, String)> = variables.into_iter().collect();
        let get = |name: &str| variables.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str());
        let missing =
            || BuildError::Invalid("ATLAS_STORE is not set: write the store's URL, such as s3://bucket".to_owned());
        let of_store: Variables = variables.iter().cloned().collect();
        let mut shard_size = ShardSize::default();
        if let Some(text) = get("ATLAS_SHARD_BYTES") {
            let invalid =
                || BuildError::Invalid(format!("ATLAS_SHARD_BYTES={text:?}: write a number of bytes above 0"));
            shard_size.text_bytes = text.parse().ok().filter(|bytes| *bytes > 0).ok_or_else(invalid)?;
        }
        let text = get("ATLAS_LOG").unwrap_or_default();
        let invalid = || BuildError::Invalid(format!("ATLAS_LOG={text:?}: {}", log_filter::FORM));
        let log = Some(log_filter::parse(text).ok_or_else(invalid)?).filter(|log| !log.is_empty());
        Ok(Self {
            store: location::open(get("ATLAS_STORE").ok_or_else(missing)?, &of_store)?,
            sources: get("ATLAS_SOURCE").map(|url| Sources::open(url, &of_store)).transpose()?,
            shard_size,
            log: log.unwrap_or_else(|| DEFAULT_LOG.to_owned()),
        })
    }

    fn mirror(&self, vault: &str) -> Result<Mirror, BuildError> {
        let invalid = |error: &dyn std::fmt::Display| BuildError::Invalid(format!("vault {vault:?}: {error}"));
        let vault: VaultId = vault.parse().map_err(|error| invalid(&error))?;
        let cache = Arc::new(PartCache::new(CACHE_BYTES));
        Mirror::open(self.store.clone(), vault, cache, Options::default()).map_err(|error| invalid(&error))
    }

    /// Answers an event of `build`.
    ///
    /// # Errors [`BuildError`]; repeating it is harmless.
    pub async fn build(&self, event: BuildEvent, now: Timestamp) -> Result<BuildAnswer, BuildError> {
        let unset =
            || BuildError::Invalid("ATLAS_SOURCE is not set: write its URL, such as s3://bucket/sources".to_owned());
        let sources = self.sources.as_ref().ok_or_else(unset)?;
        match event {
            BuildEvent::Plan { plan: Run { vault, run, allow_mass_delete } } => {
                let mirror = self.mirror(&vault)?;
                let source = sources.vault(mirror.vault())?;
                let (planned, _) = plan(&mirror, &source, &run, self.shard_size, allow_mass_delete, now).await?;
                Ok(BuildAnswer::Planned(planned))
            }
            BuildEvent::Shard(shard) => {
                let mirror = self.mirror(&shard.vault)?;
                let source = sources.vault(mirror.vault())?;
                let result = build(&mirror, &source, &shard, FULL_BYTES, now).await?;
                Ok(BuildAnswer::Built(BuiltShard {
                    shard: shard.shard,
                    files: result.files,
                    pushes: result.pushes.len(),
                    removes: result.removes.len(),
                    left: result.left.len(),
                }))
            }
        }
    }

    /// Answers an event of `publish`.
    ///
    /// # Errors [`BuildError`]; repeating it is harmless.
    pub async fn publish(&self, run: Run, now: Timestamp) -> Result<PublishedRun, BuildError> {
        publish(&self.mirror(&run.vault)?, &run, now).await
    }

    /// Answers an event of `compact`: compacts the vault of each message, each vault once. Those that failed are sent again.
    pub async fn compact(&self, event: QueueEvent, now: Timestamp) -> QueueAnswer {
        let mut answer = QueueAnswer::default();
        let mut done = BTreeSet::new();
        for QueueRecord { message_id, body } in event.records {
            let vault = match serde_json::from_str::<CompactMessage>(&body) {
                Ok(CompactMessage { vault }) => vault,
                Err(error) => {
                    // It would be no better the next time.
                    tracing::error!(message_id, %error, "a message names no vault, and is dropped");
                    continue;
                }
            };
            if done.contains(&vault) {
                continue;
            }
            match self.compact_one(&vault, now).await {
                Ok(()) => drop(done.insert(vault)),
                Err(error) => {
                    tracing::error!(vault, %error, "a vault was not compacted");
                    answer.batch_item_failures.push(FailedItem { item_identifier: message_id });
                }
            }
        }
        answer
    }

    async fn compact_one(&self, vault: &str, now: Timestamp) -> Result<(), BuildError> {
        let compacted = compact(&self.mirror(vault)?, Retention::default(), now).await?;
        let told = serde_json::to_value(&compacted).unwrap_or(Value::Null);
        tracing::info!(vault, %told, "a vault is compacted");
        Ok(())
    }
}
