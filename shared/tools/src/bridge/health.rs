//! `health`: whether the service is up, and its version.

use atlas_mirror::MirrorError;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation};
use futures::future::join;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Returns that the service is up, its version, the newest published generation of the vault, and the time of the last
/// sync.
pub struct Health;

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// Liveness.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Whether the vault can be read.
    ok: bool,
    /// The version of Atlas Mirror.
    version: &'static str,
    /// The newest generation of the vault; null if the store does not answer or nothing is published.
    generation: Option<u64>,
    /// The last sync of the vault with its folder, which is recorded every five minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    sync: Option<Sync>,
}

/// A sync.
#[derive(Debug, Serialize, JsonSchema)]
struct Sync {
    /// When it began.
    time: String,
    /// The newest generation then.
    generation: u64,
    /// Whether that is longer ago than the deployment expects: its host may be asleep, but published notes can still be read.
    stale: bool,
}

impl Operation for Health {
    const INFO: Info = Info {
        name: "health",
        title: "Health",
        description: "Returns that the service is up, its version, the newest published generation of the vault, and the time of its last sync. Example: {}",
        scopes: &[],
        tags: &["admin"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, _: Arguments) -> Result<Answer<Output>, Error> {
        let mirror = &context.vault.mirror;
        let (head, synced) = join(mirror.head(), mirror.synced()).await;
        if let Err(error) = &head {
            tracing::warn!(%error, "the newest generation is not known");
        }
        // An unpublished vault is missing, but the service is up.
        let ok = matches!(head, Ok(_) | Err(MirrorError::NotPublished { .. }));
        let generation = head.ok().map(|snapshot| snapshot.generation());
        let sync = synced.unwrap_or_else(|error| {
            tracing::warn!(%error, "the last sync is not known");
            None
        });
        let sync = sync.map(|beat| Sync {
            time: beat.time.to_string(),
            generation: beat.generation,
            stale: context.now.duration_since(beat.time).unsigned_abs() > context.limits.max_sync_age,
        });
        Ok(Answer { value: Output { ok, version: env!("CARGO_PKG_VERSION"), generation, sync }, generation })
    }
}
