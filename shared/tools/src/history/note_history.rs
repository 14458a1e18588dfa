//! `note_history`: the versions of a note, newest first: author, operation, time and reason of each.

use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::Snapshot;
use atlas_ops::arguments::{Bounded, Given, ReadPath};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::nearest::ShortPaths;
use atlas_ops::read::notes::{self, Found};
use atlas_segment::Kind;
use atlas_vault::VaultPath;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::history::commit;
use crate::history::renames;

/// Most changes of a commit in which an earlier path is looked for.
const MAX_CHANGES: u64 = 500;
/// Most generations that are looked at for the one that removed a note.
const MAX_SEARCHED: u64 = 200;
/// Generations that are looked into at once.
const PARALLEL: usize = 16;
/// The number of generations that are fetched at once.
const PAGE: usize = 50;

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
            Some(before) => notes::at(context, before.saturating_sub(1)).await?,
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
                let Some((generation, last)) = removed(context, snapshot.generation(), &path).await? else { break };
                (deleted_at_generation, snapshot) = (Some(generation), last);
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
            let Some(writer) = writer else { break };
            let older = match found.replaces {
                0 => {
                    let Some((earlier, older)) = moved_from(context, &writer, &path).await? else { break };
                    path = earlier;
                    Some(older)
                }
                _ => notes::with_replaced(context, &found).await?,
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

/// The note at `path`.
async fn note(snapshot: &Snapshot, path: &str) -> Result<Option<Found>, Error> {
    let found = notes::find(snapshot, path, |_| false).await?;
    Ok(found.filter(|found| matches!(found.record.kind, Kind::Note | Kind::Text)))
}

/// The generation up to `newest` that removed the note at `path`, and the vault before it; [`None`] if there was none, or too long ago.
async fn removed(context: &Context<'_>, newest: u64, path: &str) -> Result<Option<(u64, Arc<Snapshot>)>, Error> {
    let (mut next, oldest) = (newest, newest.saturating_sub(MAX_SEARCHED));
    while next > oldest {
        // One more, since what a commit removed shows in the generation before it.
        let page = context.vault.mirror.history(next, PAGE + 1).await?;
        context.work.check()?;
        let mut looks = Vec::new();
        for (after, before) in page.iter().zip(page.iter().skip(1)) {
            if after.manifest().changes.removed > 0 {
                let (generation, before) = (after.generation(), before.clone());
                looks.push(async move { Ok::<_, Error>(note(&before, path).await?.map(|_| (generation, before))) });
            }
        }
        let mut looked = stream::iter(looks).buffered(PARALLEL);
        while let Some(found) = looked.try_next().await? {
            if found.is_some() {
                return Ok(found);
            }
        }
        if page.len() <= PAGE {
            break;
        }
        next = next.saturating_sub(PAGE as u64);
    }
    Ok(None)
}

/// The path from which the commit `after` moved the note at `path`, with the generation before; [`None`] if it made
/// the note, or if the caller may not read the earlier path.
async fn moved_from(
    context: &Context<'_>,
    after: &Snapshot,
    path: &str,
) -> Result<Option<(String, Arc<Snapshot>)>, Error> {
    let changes = after.manifest().changes;
    if changes.removed == 0 || changes.sum() > MAX_CHANGES {
        return Ok(None);
    }
    let Some(before) = context.vault.mirror.at_if_readable(after.generation().saturating_sub(1)).await? else {
        return Ok(None);
    };
    let changed = commit::changed(context, Some(&before), after, false, MAX_CHANGES).await?;
    let paths: Vec<&str> = changed.paths.iter().map(String::as_str).collect();
    let from = renames::moved(&before, after, &paths).await?.from.get(path).map(|from| (*from).to_owned());
    Ok(from.map(|from| (from, before)))
}
