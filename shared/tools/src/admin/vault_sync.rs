//! `vault_sync`: requests a sync from the host of the vault's folder, and reports the current state.

use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Requests a sync of the vault's folder with the mirror from its host.
pub struct VaultSync;

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// The state of the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Whether this call made the request; false if one was waiting already.
    requested: bool,
    /// When the waiting sync was requested.
    #[schemars(with = "String")]
    requested_at: Timestamp,
    /// The newest generation, before that sync; null if nothing is published.
    generation: Option<u64>,
    /// When it was published.
    #[schemars(with = "Option<String>")]
    published_at: Option<Timestamp>,
    /// The next step.
    note: &'static str,
}

impl Operation for VaultSync {
    const INFO: Info = Info {
        name: "vault_sync",
        title: "Ask for a sync",
        description: "Requests a sync of the vault's folder with the mirror from its host. A host that runs `atlas sync --watch` does so within seconds; atlas_index shows when a newer generation is published. Example: {}",
        scopes: &[Scope::WriteVault],
        tags: &["sync"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, _: Arguments) -> Result<Answer<Output>, Error> {
        let mirror = &context.vault.mirror;
        let known = mirror.request_sync(context.caller.name(), context.now).await?;
        let head = match mirror.head().await {
            Ok(head) => Some(head),
            Err(atlas_mirror::MirrorError::NotPublished { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let generation = head.as_ref().map(|head| head.generation());
        let value = Output {
            requested: known.is_none(),
            requested_at: known.map_or(context.now, |request| request.time),
            generation,
            published_at: head.map(|head| head.manifest().time),
            note: "a host that runs `atlas sync --watch` begins within seconds; without one the request waits for the next `atlas sync`",
        };
        Ok(Answer { value, generation })
    }
}
