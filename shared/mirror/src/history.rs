//! Older generations.

use std::ops::RangeInclusive;
use std::sync::Arc;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::error::MirrorError;
use crate::mirror::Mirror;
use crate::snapshot::Snapshot;

/// Manifests that a walk through history reads at once.
const HISTORY_PAGE: usize = 16;

impl Mirror {
    /// The vault at `generation`; [`None`] when there is no such generation, or it was collected.
    ///
    /// # Errors [`MirrorError::Damaged`], [`MirrorError::Newer`], [`MirrorError::Unavailable`],
    /// [`MirrorError::StoreRefused`].
    pub async fn at(&self, generation: u64) -> Result<Option<Arc<Snapshot>>, MirrorError> {
        if generation < self.history_from() {
            return Ok(None);
        }
        self.manifest_at(generation).await
    }

    /// The vault at `generation`, also where a purge ended its history.
    pub(crate) async fn manifest_at(&self, generation: u64) -> Result<Option<Arc<Snapshot>>, MirrorError> {
        let head = self.head_at(generation).await?;
        Ok(head.map(|head| self.snapshot(&head)))
    }

    /// The oldest generation that may be read, if known; 0 if no purge ended history.
    fn history_from(&self) -> u64 {
        self.known_head().map_or(0, |head| head.state.manifest.history_from)
    }

    /// At most `limit` generations from `from` downwards, the newest first; shorter when older ones have been collected or purged.
    ///
    /// # Errors
    /// As [`at`](Self::at); and [`MirrorError::Damaged`] when a manifest is not the parent that its successor names.
    pub async fn history(&self, from: u64, limit: usize) -> Result<Vec<Arc<Snapshot>>, MirrorError> {
        let readable = (from + 1).saturating_sub(self.history_from());
        self.chain(from, limit.min(usize::try_from(readable).unwrap_or(usize::MAX))).await
    }

    /// Like [`history`](Self::history), going on below manifests that are missing: then two that follow each other in
    /// the answer do not in the mirror.
    ///
    /// # Errors As [`history`](Self::history).
    pub async fn history_over_gaps(&self, from: u64, limit: usize) -> Result<Vec<Arc<Snapshot>>, MirrorError> {
        let mut all = self.history(from, limit).await?;
        let mut gaps = None;
        while let Some(last) = all.last().map(|last| last.generation()).filter(|last| *last > 1 && all.len() < limit) {
            let gaps = match &gaps {
                Some(gaps) => gaps,
                None => &*gaps.insert(self.gaps(from).await?),
            };
            let Some(gap) = gaps.iter().find(|gap| gap.end() + 1 == last) else { break };
            all.extend(self.history(gap.start() - 1, limit - all.len()).await?);
            if all.last().is_none_or(|older| older.generation() >= last) {
                break;
            }
        }
        Ok(all)
    }

    /// The generations below `newest` whose manifests are missing though an older one is there, the newest first. A
    /// collection deletes only the oldest, so these are lost.
    ///
    /// # Errors [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn gaps(&self, newest: u64) -> Result<Vec<RangeInclusive<u64>>, MirrorError> {
        let listed = self.written().await?;
        let is_of_history = |generation: &u64| (self.history_from()..newest).contains(generation);
        let there: Vec<u64> = listed.into_keys().filter(is_of_history).chain([newest]).collect();
        let pairs = there.windows(2).rev().filter_map(|pair| Some((pair.first()?, pair.last()?)));
        Ok(pairs.filter(|(older, newer)| *older + 1 < **newer).map(|(older, newer)| older + 1..=newer - 1).collect())
    }

    /// Like [`history`](Self::history), including generations that a purge ended: their manifests identify the mirror,
    /// but their documents cannot be read.
    ///
    /// # Errors As [`history`](Self::history).
    pub async fn chain(&self, from: u64, limit: usize) -> Result<Vec<Arc<Snapshot>>, MirrorError> {
        let generations = (1..=from).rev().take(limit);
        let mut walk = stream::iter(generations).map(|generation| self.manifest_at(generation)).buffered(HISTORY_PAGE);
        let mut history: Vec<Arc<Snapshot>> = Vec::new();
        while let Some(Some(snapshot)) = walk.try_next().await? {
            if let Some(child) = history.last()
                && child.manifest().parent != Some(snapshot.hash())
            {
                let key = self.shared.keys.manifest(snapshot.generation());
                return Err(MirrorError::damaged(key, "it is not the parent that its successor names"));
            }
            history.push(snapshot);
        }
        Ok(history)
    }
}
