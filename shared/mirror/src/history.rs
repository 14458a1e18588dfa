//! Older generations.
//!
//! A damaged manifest of an older generation counts as a missing one wherever history goes on without it: what it says
//! is lost, and only that.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use futures::future::join;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::error::MirrorError;
use crate::mirror::Mirror;
use crate::snapshot::Snapshot;

/// Manifests that a walk through history reads at once.
const HISTORY_PAGE: usize = 16;
/// Most damaged manifests that follow each other and that a walk through history passes.
const MOST_DAMAGED: usize = 1_000;

impl Mirror {
    /// The vault at `generation`; [`None`] when there is no such generation, or it was collected. It does not look whether a purge has ended
    /// history since the head was read last: for a generation that a caller names, take [`named`](Self::named).
    ///
    /// # Errors [`MirrorError::Damaged`], [`MirrorError::Newer`], [`MirrorError::Unavailable`],
    /// [`MirrorError::StoreRefused`].
    pub async fn at(&self, generation: u64) -> Result<Option<Arc<Snapshot>>, MirrorError> {
        if generation < self.history_from() {
            return Ok(None);
        }
        self.manifest_at(generation).await
    }

    /// Like [`at`](Self::at), for those who can do without that generation: also [`None`] when its manifest is damaged.
    ///
    /// # Errors [`MirrorError::Newer`], [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn at_if_readable(&self, generation: u64) -> Result<Option<Arc<Snapshot>>, MirrorError> {
        if_readable(self.at(generation).await)
    }

    /// Like [`at`](Self::at), for a generation that a caller names: also asks whether a purge, perhaps of another process, has ended its
    /// history. The request for the newest generation goes out together with that for the named one.
    ///
    /// # Errors As [`at`](Self::at), and as [`head`](Self::head).
    pub async fn named(&self, generation: u64) -> Result<Option<Arc<Snapshot>>, MirrorError> {
        let (head, found) = join(self.head(), self.manifest_at(generation)).await;
        if generation < head?.manifest().history_from { Ok(None) } else { found }
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

    /// At most `limit` generations from `from` downwards, the newest first; shorter when older ones have been collected
    /// or purged, and when one before `from` is damaged.
    ///
    /// # Errors
    /// As [`at`](Self::at); and [`MirrorError::Damaged`] when a manifest is not the parent that its successor names.
    pub async fn history(&self, from: u64, limit: usize) -> Result<Vec<Arc<Snapshot>>, MirrorError> {
        let readable = from.saturating_add(1).saturating_sub(self.history_from());
        self.chain(from, limit.min(usize::try_from(readable).unwrap_or(usize::MAX))).await
    }

    /// Like [`history`](Self::history), going on below manifests that are missing or damaged, `from` itself included: then two that follow each
    /// other in the answer do not in the mirror.
    ///
    /// # Errors As [`history`](Self::history).
    pub async fn history_over_gaps(&self, from: u64, limit: usize) -> Result<Vec<Arc<Snapshot>>, MirrorError> {
        let mut all = match self.history(from, limit).await {
            Err(MirrorError::Damaged { .. }) => Vec::new(),
            history => history?,
        };
        let mut listed = None;
        while all.len() < limit {
            let last = all.last().map_or(from.saturating_add(1), |last| last.generation());
            let oldest = self.history_from().max(1);
            if last <= oldest {
                break;
            }
            let listed = match &listed {
                Some(listed) => listed,
                None => &*listed.insert(self.written().await?),
            };
            let below = listed.range(oldest..last).rev().map(|(generation, _)| *generation).collect();
            let Some(older) = self.first_readable(below).await? else { break };
            let next = self.history(older, limit - all.len()).await?;
            if next.is_empty() {
                break;
            }
            all.extend(next);
        }
        Ok(all)
    }

    /// The first of `generations` whose manifest is there and readable.
    async fn first_readable(&self, generations: Vec<u64>) -> Result<Option<u64>, MirrorError> {
        for generation in generations.into_iter().take(MOST_DAMAGED) {
            if if_readable(self.manifest_at(generation).await)?.is_some() {
                return Ok(Some(generation));
            }
        }
        Ok(None)
    }

    /// The generations below `newest` that are lost, the newest first: their manifests are missing though an older one is there, or damaged,
    /// as far as the newest `looked_at` of them show. A collection deletes only the oldest, so those that it deleted do not count.
    ///
    /// # Errors [`MirrorError::Newer`], [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn gaps(&self, newest: u64, looked_at: usize) -> Result<Vec<RangeInclusive<u64>>, MirrorError> {
        let mut there: BTreeSet<u64> = self.written().await?.into_keys().collect();
        there.retain(|generation| (self.history_from()..newest).contains(generation));
        let Some(mut next) = there.first().copied() else { return Ok(Vec::new()) };
        let looked_at: Vec<u64> = there.iter().rev().take(looked_at).copied().collect();
        let look = |generation: u64| async move {
            Ok::<_, MirrorError>((generation, if_readable(self.manifest_at(generation).await)?.is_some()))
        };
        let mut looks = stream::iter(looked_at).map(look).buffered(HISTORY_PAGE);
        while let Some((generation, is_readable)) = looks.try_next().await? {
            if !is_readable {
                there.remove(&generation);
            }
        }
        drop(looks);
        let mut gaps = Vec::new();
        for generation in there.into_iter().chain([newest]) {
            if generation > next {
                gaps.push(next..=generation - 1);
            }
            next = generation.saturating_add(1);
        }
        gaps.reverse();
        Ok(gaps)
    }

    /// Like [`history`](Self::history), including generations that a purge ended: their manifests identify the mirror,
    /// but their documents cannot be read.
    ///
    /// # Errors As [`history`](Self::history).
    pub async fn chain(&self, from: u64, limit: usize) -> Result<Vec<Arc<Snapshot>>, MirrorError> {
        let generations = (1..=from).rev().take(limit);
        let mut walk = stream::iter(generations).map(|generation| self.manifest_at(generation)).buffered(HISTORY_PAGE);
        let mut history: Vec<Arc<Snapshot>> = Vec::new();
        while let Some(found) = walk.next().await {
            let found = if history.is_empty() { found } else { if_readable(found) };
            let Some(snapshot) = found? else { break };
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

/// The generation; [`None`] also if its manifest is damaged.
pub(crate) fn if_readable<T>(found: Result<Option<T>, MirrorError>) -> Result<Option<T>, MirrorError> {
    match found {
        Err(MirrorError::Damaged { object, reason }) => {
            // No repair recovers it, though the error's own text names one.
            tracing::warn!(object, reason, "an older generation is lost");
            Ok(None)
        }
        found => found,
    }
}
