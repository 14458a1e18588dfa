//! `reset_vault_cache`: has the process forget what it fetched of a vault.

use atlas_ops::arguments::{VAULT, yes};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Has the process that answers drop what it holds in memory of a vault.
pub struct ResetVaultCache;

/// The cache to drop.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The caches to drop; all of this process for the vault if not given.
    #[serde(default)]
    include: Include,
}

/// The cache to drop.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Include {
    /// Parts of the index, and what was made of them.
    #[serde(default = "yes")]
    chunks: bool,
    /// Without effect: nothing is embedded.
    #[serde(default = "yes")]
    #[allow(dead_code, reason = "the surface has it")]
    embeddings: bool,
    /// Without effect: idempotency keys are in the store, where all processes need them.
    #[serde(default = "yes")]
    #[allow(dead_code, reason = "the surface has it")]
    idempotency_keys: bool,
    /// Without effect: the audit log is not kept here.
    #[serde(default)]
    #[allow(dead_code, reason = "the surface has it")]
    event_log: bool,
}

impl Default for Include {
    fn default() -> Self {
        Self { chunks: true, embeddings: true, idempotency_keys: true, event_log: false }
    }
}

/// The caches dropped.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The vault.
    vault: String,
    /// When.
    #[schemars(with = "String", extend("format" = "date-time"))]
    reset_at: Timestamp,
    /// How many things of each kind.
    rows_dropped: Dropped,
    /// Bytes of memory that they took.
    bytes_dropped: u64,
}

/// How many things of each kind were dropped.
#[derive(Debug, Serialize, JsonSchema)]
struct Dropped {
    /// Parts of the index.
    chunks: u64,
    /// Always 0.
    embeddings: u64,
    /// Always 0.
    idempotency_keys: u64,
    /// Always 0.
    event_log: u64,
}

impl Operation for ResetVaultCache {
    const INFO: Info = Info {
        name: "reset_vault_cache",
        title: "Drop a vault's cache",
        description: "Has the process that answers drop what it holds in memory of the vault, and tells how many bytes that were. Nothing is lost: the next calls fetch it again. Other processes are not asked. Example: {}",
        scopes: &[Scope::Admin],
        tags: &["admin"],
        idempotent: true,
        acts: true,
        aliases: &[Alias::Name("vault_id", VAULT)],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let head = super::head(context.vault).await?.filter(|_| arguments.include.chunks);
        let forgotten = head.map(|head| context.vault.forget(&head)).unwrap_or_default();
        let value = Output {
            vault: context.vault.id.clone(),
            reset_at: context.now,
            rows_dropped: Dropped { chunks: forgotten.parts, embeddings: 0, idempotency_keys: 0, event_log: 0 },
            bytes_dropped: forgotten.bytes,
        };
        Ok(Answer { value, generation: None })
    }
}
