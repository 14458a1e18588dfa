//! `index_vault`: requests a newer index, and reports the changes of the newest one.

use std::sync::Arc;

use atlas_mirror::Snapshot;
use atlas_mirror::manifest::{Changes, Manifest};
use atlas_ops::arguments::{Given, Root, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::index::{DocumentRef, Index, Want};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Requests a sync and index of the vault from its host, and reports the changes of the newest published generation.
pub struct IndexVault;

/// The folder to count in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Count in this folder only; in the whole vault if not given. The whole vault is always indexed.
    #[serde(default)]
    folder: Given<Text<1024>>,
}

/// The changes of the newest generation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The vault.
    vault: String,
    /// Documents added or changed by the newest generation.
    upserted: u64,
    /// Documents removed by the newest generation. Null if they cannot be counted: `folder` is given, or the token is for some folders only, and the generation before is no longer kept.
    deleted: Option<u64>,
    /// Unchanged documents.
    unchanged: u64,
    /// The newest generation; null if none is published.
    generation: Option<u64>,
    /// When the waiting sync was requested.
    #[schemars(with = "String", extend("format" = "date-time"))]
    sync_requested_at: Timestamp,
}

impl Operation for IndexVault {
    const INFO: Info = Info {
        name: "index_vault",
        title: "Index the vault",
        description: "Requests a sync and index of the vault from its host, and returns the changes of the newest published generation. A host that runs `atlas sync --watch` begins within seconds; atlas_index shows when a newer generation is published. Example: {}",
        scopes: &[Scope::Admin],
        tags: &["admin", "sync"],
        idempotent: true,
        acts: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Arguments) -> Result<Vec<PathAccess>, Error> {
        arguments.folder.as_ref().map(|folder| Root::of("folder", folder.as_str())).transpose()?;
        Ok(Vec::new())
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let folder = arguments.folder.as_ref().map(|folder| Root::of("folder", folder.as_str())).transpose()?;
        let known = context.vault.mirror.request_sync(context.caller.name(), context.now).await?;
        let head = super::head(context.vault).await?;
        let generation = head.as_ref().map(|head| head.generation());
        let Counts { upserted, deleted, unchanged } = match (&head, &folder) {
            (None, _) => Counts { deleted: Some(0), ..Counts::default() },
            (Some(head), None) if super::is_told_sizes(context) => Counts::of(head.manifest()),
            (Some(head), Some(folder)) => Counts::below(context, head, folder).await?,
            (Some(head), None) => Counts::below(context, head, &Root::default()).await?,
        };
        let value = Output {
            vault: context.vault.id.clone(),
            upserted,
            deleted,
            unchanged,
            generation,
            sync_requested_at: known.map_or(context.now, |request| request.time),
        };
        Ok(Answer { value, generation })
    }
}

/// Numbers of documents.
#[derive(Default)]
struct Counts {
    upserted: u64,
    deleted: Option<u64>,
    unchanged: u64,
}

impl Counts {
    /// Those of the whole vault.
    const fn of(manifest: &Manifest) -> Self {
        let Changes { added, changed, removed } = manifest.changes;
        let upserted = added.saturating_add(changed);
        Self { upserted, deleted: Some(removed), unchanged: manifest.totals.documents.saturating_sub(upserted) }
    }

    /// Those in a folder that the caller sees.
    async fn below(context: &Context<'_>, head: &Arc<Snapshot>, folder: &Root) -> Result<Self, Error> {
        let index = Index::fetch(context.view(head.clone()), Want::default()).await?;
        let generation = head.generation();
        let mut all = 0;
        let mut new = Vec::new();
        for (segment, entry) in head.segments().iter().enumerate() {
            for document in shown(&index, segment, folder)? {
                all += 1;
                // Only segments of the generation have versions of it.
                if entry.generation == generation {
                    new.push((document, entry));
                }
            }
        }
        let documents: Vec<DocumentRef> = new.iter().map(|(document, _)| *document).collect();
        let records = index.records(&documents).await?;
        let written = new.iter().zip(&records).map(|((_, entry), record)| entry.written_at(record));
        let upserted = written.filter(|written| *written == generation).count() as u64;
        let deleted = match head.manifest().changes.removed {
            0 => Some(0),
            _ => match context.vault.mirror.at_if_readable(generation.saturating_sub(1)).await? {
                Some(before) => Some(gone(context, before, &index, folder).await?),
                None => None,
            },
        };
        Ok(Self { upserted, deleted, unchanged: u64::saturating_sub(all, upserted) })
    }
}

/// The number of documents of a folder in `before` that `now` does not have.
async fn gone(context: &Context<'_>, before: Arc<Snapshot>, now: &Index, folder: &Root) -> Result<u64, Error> {
    let before = Index::fetch(context.view(before), Want::default()).await?;
    let mut gone = 0;
    for segment in before.segments() {
        for document in shown(&before, segment, folder)? {
            gone += u64::from(now.find(&before.path(document)?)?.is_none());
        }
    }
    Ok(gone)
}

/// The documents of a segment in a folder that the caller sees.
fn shown(index: &Index, segment: usize, folder: &Root) -> Result<Vec<DocumentRef>, Error> {
    let documents = index.paths(segment)?.with_prefix(folder.prefix());
    let documents = documents.map(|document| DocumentRef { segment, document });
    Ok(documents.filter(|document| index.shows(*document)).collect())
}
