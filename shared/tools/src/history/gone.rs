//! Notes that are no longer at their paths: the commit that removed one, and where it moved it.

use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::Snapshot;
use atlas_ops::error::Error;
use atlas_ops::operation::Context;
use atlas_ops::read::notes::{self, Found};
use atlas_segment::Kind;
use atlas_vault::VaultPath;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::history::{commit, renames};

/// Most changes of a commit in which the other path of a moved note is looked for.
pub(super) const MAX_CHANGES: u64 = 500;
/// Most generations that are looked at for the one that removed a note.
const MAX_SEARCHED: u64 = 200;
/// Most moves of a note that are followed.
const MAX_MOVES: usize = 10;
/// Generations that are looked into at once.
const PARALLEL: usize = 16;
/// The number of generations that are fetched at once.
const PAGE: usize = 50;

/// The removal of a note.
pub(crate) struct Removal {
    /// The first generation that is known to be without the note.
    pub(crate) after: Arc<Snapshot>,
    /// The last one that is known to have it.
    pub(crate) before: Arc<Snapshot>,
}

/// The note at `path`.
pub(super) async fn note(snapshot: &Snapshot, path: &str) -> Result<Option<Found>, Error> {
    let found = notes::find(snapshot, path, |_| false).await?;
    Ok(found.filter(|found| matches!(found.record.kind, Kind::Note | Kind::Text)))
}

/// The newest removal of the note at `path`, up to generation `newest`; [`None`] if there was none, or too long ago.
pub(crate) async fn removed(context: &Context<'_>, newest: u64, path: &str) -> Result<Option<Removal>, Error> {
    let (mut next, oldest) = (newest, newest.saturating_sub(MAX_SEARCHED));
    while next > oldest {
        // One more, since what a commit removed shows in the generation before it.
        let page = context.vault.mirror.history_over_gaps(next, PAGE + 1).await?;
        context.work.check()?;
        let mut looks = Vec::new();
        for (after, before) in page.iter().zip(page.iter().skip(1)) {
            // Nobody knows what the lost ones between removed.
            let is_after_gap = before.generation() + 1 < after.generation();
            if is_after_gap || after.manifest().changes.removed > 0 {
                let (after, before) = (after.clone(), before.clone());
                looks
                    .push(async move { Ok::<_, Error>(note(&before, path).await?.map(|_| Removal { after, before })) });
            }
        }
        let mut looked = stream::iter(looks).buffered(PARALLEL);
        while let Some(found) = looked.try_next().await? {
            if found.is_some() {
                return Ok(found);
            }
        }
        match page.last() {
            Some(last) if page.len() > PAGE => next = last.generation(),
            _ => break,
        }
    }
    Ok(None)
}

/// The path at which the note that was at `path` is on `head`; [`None`] if it was not moved, or to where the caller may not read.
pub(crate) async fn moved_to(
    context: &Context<'_>,
    head: &Snapshot,
    path: &VaultPath,
) -> Result<Option<VaultPath>, Error> {
    let mut at = path.clone();
    for _ in 0..MAX_MOVES {
        let Some(Removal { after, before }) = removed(context, head.generation(), at.as_str()).await? else {
            return Ok(None);
        };
        if after.manifest().changes.sum() > MAX_CHANGES {
            return Ok(None);
        }
        let changed = commit::changed(context, Some(&before), &after, false, MAX_CHANGES).await?;
        let paths: Vec<&str> = changed.paths.iter().map(String::as_str).collect();
        let moved = renames::moved(&before, &after, &paths).await?;
        let to = moved.sure().find(|(from, _)| *from == at.as_str()).map(|(_, to)| to);
        let Some(to) = to.and_then(|to| VaultPath::parse(to).ok()) else { return Ok(None) };
        if context.check(Access::Read, &to).is_err() {
            return Ok(None);
        }
        if note(head, to.as_str()).await?.is_some() {
            return Ok(Some(to));
        }
        at = to;
    }
    Ok(None)
}
