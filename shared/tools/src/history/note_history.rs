//! `note_history`: the versions of a note, newest first: author, operation, time and reason of each.

use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::Snapshot;
use atlas_ops::arguments::{Bounded, Given, ReadPath};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::nearest::ShortPaths;
use atlas_ops::read::notes::{self, Found};
use atlas_vault::VaultPath;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::history::gone::{MAX_CHANGES, Removal, note, removed};
use crate::history::{commit, renames};

/// Lists the versions of a note, newest first.
pub struct NoteHistory;

/// The note, and the page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its path from the root of the vault, with its extension.
    path: ReadPath,
    /// Most versions to return; 10 if not given.
    #[serde(default)]
    limit: Bounded<1, 50, 10>,
    /// Only versions older than this generation: the `before` of the previous page.
    #[serde(default)]
    before: Given<u64>,
}

/// The versions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The note's path.
    path: String,
    /// The generation that deleted or moved it, if there is no note at the path now.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_at_generation: Option<u64>,
    /// The versions, newest first.
    versions: Vec<Version>,
    /// The argument for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<u64>,
    /// The argument `path` for the next page, if the note had another path then.
    #[serde(skip_serializing_if = "Option::is_none")]
    before_path: Option<String>,
}

/// A version of a note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Version {
    /// The generation that wrote it, or if that is no longer kept, a later one that has it: pass it to `read_note` or `restore_note`.
    generation: u64,
    /// Its path then, if the note has moved since: pass it to `read_note` too.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// SHA-256 of its bytes, in hex.
    sha256: String,
    /// Its size in bytes.
    bytes: u64,
    /// When it was written; the file's own time if the generation that wrote it is no longer kept.
    #[schemars(with = "String", extend("format" = "date-time"))]
    time: Timestamp,
    /// The author; absent if the generation that wrote it is no longer kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    /// The operation; absent where `author` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<String>,
    /// The author's message; absent if the commit also changed notes that the caller may not read, or it may name such.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// The session that the author named; absent if the commit also changed notes that the caller may not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

impl Operation for NoteHistory {
    const INFO: Info = Info {
        name: "note_history",
        title: "History of a note",
        description: "Lists the versions of a note, newest first: generation, hash, size, author, time, operation and reason. Follows moves. To read an old version, call read_note with its generation; to restore it, take restore_note. Example: {\"path\": \"Projects/Atlas.md\"}",
        scopes: &[Scope::ReadVault],
        tags: &["history"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(vec![(Access::Read, arguments.path.clone().into())])
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let path: VaultPath = arguments.path.clone().into();
        let asked = path.as_str();
        let mut path = asked.to_owned();
        let limit = arguments.limit.get();
        let newest = context.read(|view| async move { Ok(view) }).await?;
        let is_whole = newest.value.is_whole();
        let mut snapshot = match *arguments.before {
            None => newest.value.snapshot().clone(),
            Some(before) => at_or_before(context, newest.value.generation(), before.saturating_sub(1)).await?,
        };
        let mut versions = Vec::new();
        let (mut before, mut deleted_at_generation) = (None, None);
        loop {
            let Some(found) = note(&snapshot, &path).await? else {
                let is_first = versions.is_empty() && deleted_at_generation.is_none();
                // A short path means a note that is there rather than one that was.
                if !is_first || ShortPaths::of(newest.value.clone()).await?.meant(context, &path, false).is_ok() {
                    break;
                }
                let Some(Removal { after, before }) = removed(context, snapshot.generation(), &path).await? else {
                    break;
                };
                (deleted_at_generation, snapshot) = (Some(after.generation()), before);
                continue;
            };
            // The generation that wrote a version identifies its author; history may be shorter, though the note
            // exists.
            let writer = context.vault.mirror.at_if_readable(found.generation).await?;
            let manifest = writer.as_ref().map(|writer| writer.manifest());
            let modified = Timestamp::from_millisecond(found.record.modified_ms).unwrap_or_default();
            let told = manifest.map(|manifest| commit::Told::of(manifest, is_whole)).unwrap_or_default();
            versions.push(Version {
                generation: if writer.is_some() { found.generation } else { snapshot.generation() },
                path: Some(path.clone()).filter(|path| path != asked),
                sha256: found.sha256(),
                bytes: found.record.bytes,
                time: manifest.map_or(modified, |manifest| manifest.time),
                author: manifest.map(|manifest| manifest.author.clone()),
                operation: manifest.map(|manifest| manifest.operation.clone()),
                message: told.message.map(str::to_owned),
                session: told.session.map(str::to_owned),
            });
            let older = match found.replaces {
                0 => {
                    let Some((earlier, older)) = moved_from(context, &found, writer, &path).await? else { break };
                    path = earlier;
                    Some(older)
                }
                _ => with_earlier(context, &found).await?,
            };
            if versions.len() == limit {
                before = Some(found.generation);
                break;
            }
            let Some(older) = older else { break };
            snapshot = older;
        }
        if versions.is_empty() {
            let message = format!("there is no note at {asked}, and no version of one is kept");
            return Err(Error::not_found(Reason::NoteNotFound, message).with("path", asked));
        }
        let before_path = Some(path).filter(|path| before.is_some() && path != asked);
        let value = Output { path: asked.to_owned(), deleted_at_generation, versions, before, before_path };
        Ok(Answer { value, generation: newest.generation })
    }
}

/// The vault at `generation`, or where that is lost at the one before it.
async fn at_or_before(context: &Context<'_>, newest: u64, generation: u64) -> Result<Arc<Snapshot>, Error> {
    match notes::at(context, generation).await {
        Err(error) if generation <= newest && is_lost(&error) => {
            match before(context, generation.saturating_add(1)).await? {
                Some(before) => Ok(before),
                None => Err(error),
            }
        }
        found => found,
    }
}

fn is_lost(error: &Error) -> bool {
    error.code == Code::Internal || error.is(Reason::GenerationNotFound)
}

/// The newest readable generation before this one.
async fn before(context: &Context<'_>, generation: u64) -> Result<Option<Arc<Snapshot>>, Error> {
    Ok(context.vault.mirror.history_over_gaps(generation.saturating_sub(1), 1).await?.pop())
}

/// The vault with the version that `found` replaced; where that is lost, with the one before it.
async fn with_earlier(context: &Context<'_>, found: &Found) -> Result<Option<Arc<Snapshot>>, Error> {
    match notes::with_replaced(context, found).await? {
        Some(replaced) => Ok(Some(replaced)),
        None => before(context, found.generation).await,
    }
}

/// The path from which a commit moved the note at `path`, with the generation before; [`None`] if it made the note, or if the caller may not read
/// the earlier path. `writer` is that commit; where it is lost, the states beside it are compared.
async fn moved_from(
    context: &Context<'_>,
    found: &Found,
    writer: Option<Arc<Snapshot>>,
    path: &str,
) -> Result<Option<(String, Arc<Snapshot>)>, Error> {
    let mirror = &context.vault.mirror;
    let (after, earlier) = match writer {
        Some(writer) => {
            let changes = writer.manifest().changes;
            if changes.removed == 0 || changes.sum() > MAX_CHANGES {
                return Ok(None);
            }
            (Some(writer), mirror.at_if_readable(found.generation.saturating_sub(1)).await?)
        }
        None => {
            (mirror.at_if_readable(found.generation.saturating_add(1)).await?, before(context, found.generation).await?)
        }
    };
    let (Some(after), Some(earlier)) = (after, earlier) else { return Ok(None) };
    let changed = commit::changed(context, Some(&earlier), &after, false, MAX_CHANGES).await?;
    if changed.paths.len() as u64 > MAX_CHANGES {
        return Ok(None);
    }
    let paths: Vec<&str> = changed.paths.iter().map(String::as_str).collect();
    let from = renames::moved(&earlier, &after, &paths).await?.from.get(path).map(|from| (*from).to_owned());
    Ok(from.map(|from| (from, earlier)))
}
