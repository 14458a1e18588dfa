//! `index_vault`: asks for a newer index, and tells what the newest one changed.

use atlas_mirror::manifest::Changes;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arguments::{self, Root, Text};
use crate::error::Error;
use crate::operation::{Answer, Context, Info, Operation, Scope, Touch};

/// The operation.
pub struct IndexVault;

/// What to index.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A folder. The whole vault is indexed whatever it is.
    #[serde(default, deserialize_with = "arguments::present")]
    #[schemars(with = "Text<1024>")]
    folder: Option<Text<1024>>,
}

/// What the newest generation changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The vault.
    vault: String,
    /// Documents that came or changed with the newest generation.
    upserted: u64,
    /// Documents that went with it.
    deleted: u64,
    /// Documents that stayed as they were.
    unchanged: u64,
    /// The newest generation; null if none is published.
    generation: Option<u64>,
    /// When the sync that is waiting was asked for.
    #[schemars(with = "String", extend("format" = "date-time"))]
    sync_requested_at: Timestamp,
}

impl Operation for IndexVault {
    const INFO: Info = Info {
        name: "index_vault",
        title: "Index the vault",
        description: "Asks the host of the vault to sync and index it now, and tells what the newest generation that is published changed. A host that runs `atlas sync --watch` begins within seconds; atlas_index tells when a newer generation is there.",
        scopes: &[Scope::Admin],
        destructive: false,
        tags: &["admin", "sync"],
    };
    type Arguments = Arguments;
    type Output = Output;

    fn touches(arguments: &Arguments) -> Result<Vec<Touch>, Error> {
        arguments.folder.as_ref().map(|folder| Root::of("folder", folder.as_str())).transpose()?;
        Ok(Vec::new())
    }

    async fn run(context: &Context<'_>, _: Arguments) -> Result<Answer<Output>, Error> {
        let known = context.vault.mirror.ask_for_sync(context.caller.name(), context.now).await?;
        let head = super::head(context.vault).await?;
        let manifest = head.as_ref().map(|head| head.manifest());
        let Changes { added, changed, removed } = manifest.map(|manifest| manifest.changes).unwrap_or_default();
        let generation = manifest.map(|manifest| manifest.generation);
        let value = Output {
            vault: context.vault.id.clone(),
            upserted: added + changed,
            deleted: removed,
            unchanged: manifest.map_or(0, |manifest| manifest.totals.documents.saturating_sub(added + changed)),
            generation,
            sync_requested_at: known.map_or(context.now, |request| request.time),
        };
        Ok(Answer { value, generation })
    }
}
