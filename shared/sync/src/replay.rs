//! The commits that changed some of a mirror's files, for another memory of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use atlas_mirror::{Mirror, Snapshot};
use bytes::Bytes;
use jiff::Timestamp;

use crate::error::SyncError;
use crate::head;
use crate::only::Only;

/// Most commits that are read one by one, and most bytes of their texts.
const MAX_COMMITS: usize = 200;
const MAX_BYTES: usize = 64 << 20;

/// A commit, with its effect on some files.
#[derive(Debug)]
pub struct Replayed {
    /// Its generation.
    pub generation: u64,
    /// When it was made.
    pub time: Timestamp,
    /// The author.
    pub author: String,
    /// The operation.
    pub operation: String,
    /// The reason, in the author's words.
    pub message: Option<String>,
    /// The texts that it wrote, by path; [`None`] for a file that it removed. Attachments are left out.
    pub texts: BTreeMap<String, Option<Bytes>>,
}

/// The commits after the generation `after`, up to `head`, that changed files of `only`; the oldest first. Of long or
/// collected histories the newest.
///
/// # Errors Those of reading the mirror.
pub async fn replay(
    mirror: &Mirror,
    after: u64,
    head: &Arc<Snapshot>,
    only: &Only,
) -> Result<Vec<Replayed>, SyncError> {
    let count = usize::try_from(head.generation().saturating_sub(after)).unwrap_or(MAX_COMMITS).min(MAX_COMMITS);
    let history = mirror.history(head.generation(), count + 1).await?;
    let mut replayed = Vec::new();
    let mut room = MAX_BYTES;
    for (later, earlier) in history.iter().zip(history.iter().skip(1)) {
        match commit(mirror, earlier, later, only).await {
            Ok(commit) if commit.texts.is_empty() => {}
            Ok(commit) => {
                let bytes: usize = commit.texts.values().flatten().map(Bytes::len).sum();
                let Some(left) = room.checked_sub(bytes) else { break };
                room = left;
                replayed.push(commit);
            }
            Err(error) if head::is_gone(&error) => break,
            Err(error) => return Err(error),
        }
    }
    replayed.reverse();
    Ok(replayed)
}

/// The effect of `later` on files of `only`; it follows `earlier`.
async fn commit(mirror: &Mirror, earlier: &Snapshot, later: &Snapshot, only: &Only) -> Result<Replayed, SyncError> {
    let changed = mirror.changed_between(Some(earlier), later).await?;
    let paths: Vec<&str> = changed.iter().map(String::as_str).filter(|path| only.has(path)).collect();
    let mut texts = BTreeMap::new();
    if !paths.is_empty() {
        let documents = head::at(later, &paths).await?;
        texts.extend(head::texts(later, &paths).await?.into_iter().map(|(path, (_, text))| (path, Some(text))));
        let removed = paths.iter().filter(|path| !documents.contains_key(**path));
        texts.extend(removed.map(|path| ((*path).to_owned(), None)));
    }
    let manifest = later.manifest();
    Ok(Replayed {
        generation: later.generation(),
        time: manifest.time,
        author: manifest.author.clone(),
        operation: manifest.operation.clone(),
        message: manifest.message.clone(),
        texts,
    })
}
