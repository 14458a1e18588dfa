//! `atlas_index` of Atlas Guardrails. The index is built at the host of the vault, by `atlas sync`; so this reports the
//! published one and its age.

use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::view::View;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Returns which generation of the vault is indexed, since when, and its size.
pub struct AtlasIndex;

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// The index.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Always `Indexing complete`: what is published is indexed.
    status: &'static str,
    /// The newest generation.
    generation: u64,
    /// When it was published.
    #[schemars(with = "String")]
    published_at: Timestamp,
    /// Its age.
    age_seconds: i64,
    /// Totals; absent for callers who may not read the whole vault.
    #[serde(skip_serializing_if = "Option::is_none")]
    totals: Option<Totals>,
    /// When the waiting sync was requested; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    sync_requested_at: Option<Timestamp>,
}

/// The size of a vault.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Totals {
    /// Notes.
    notes: u64,
    /// Bytes of the text of notes and other text files.
    text_bytes: u64,
    /// Segments that the index consists of.
    segments: usize,
}

impl Operation for AtlasIndex {
    const INFO: Info = Info {
        name: "atlas_index",
        title: "State of the index",
        description: "Returns which generation of the vault is indexed, since when, and its size. The host of the vault builds the index: vault_sync requests a newer one. Example: {}",
        scopes: &[Scope::ReadVault],
        tags: &["sync"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, _: Arguments) -> Result<Answer<Output>, Error> {
        let now = context.now;
        let requested = context.vault.mirror.sync_request().await?;
        let state = |view: View| {
            let requested = requested.as_ref();
            async move {
                let snapshot = view.snapshot();
                let (manifest, totals) = (snapshot.manifest(), &snapshot.manifest().totals);
                Ok(Output {
                    status: "Indexing complete",
                    generation: snapshot.generation(),
                    published_at: manifest.time,
                    age_seconds: now.duration_since(manifest.time).as_secs().max(0),
                    totals: view.is_whole().then(|| Totals {
                        notes: totals.notes,
                        text_bytes: totals.text_bytes,
                        segments: snapshot.segments().len(),
                    }),
                    sync_requested_at: requested.map(|request| request.time),
                })
            }
        };
        context.read(state).await
    }
}
