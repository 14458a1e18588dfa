//! Garbage collection: what no generation refers to that is still kept is deleted.
//!
//! A generation is kept for a time after it was superseded, so an idle vault keeps its yesterday however long that was ago; and the newest
//! ones are kept in any case. All times are the store's own. What a later generation refers to is referred to by the oldest that
//! is kept, or was uploaded for one that came after it, for a commit refers to nothing else than what its parent does and what
//! was uploaded for it: by itself, or by whoever had a URL for that, no long time before. So one manifest tells of every old object whether it is needed.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;
use object_store::path::Path;
use serde::Serialize;

use crate::commit::LONGEST_DEADLINE;
use crate::error::MirrorError;
use crate::keys::BlobKey;
use crate::mirror::Mirror;
use crate::snapshot::Snapshot;
use crate::store::Listed;
use crate::tombstones::Tombstones;

/// What is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// How long a generation is kept after it was superseded.
    pub time: Duration,
    /// The newest generations are kept whatever their age: so many.
    pub generations: u64,
}

impl Default for Retention {
    /// 30 days, and 10 generations.
    fn default() -> Self {
        Self { time: Duration::from_secs(30 * 24 * 3600), generations: 10 }
    }
}

/// What a collection did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// Generations that are there no more.
    pub generations: u64,
    /// Other objects that are there no more.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// An object that was written less than this before a generation may have been uploaded for it, or for one after.
pub(crate) const UPLOAD_TIME: Duration = Duration::from_secs(24 * 3600);
/// Most objects that one collection deletes; the next one goes on.
const MOST: usize = 100_000;
/// No retention is shorter: a stalled writer must not find its number free, nor a reader its generation gone.
const SHORTEST: Duration = Duration::from_secs(2 * LONGEST_DEADLINE.as_secs());

impl Mirror {
    /// Deletes the generations that are not kept, the oldest first, the objects that none of the kept ones needs, and state that has had its time. `blobs` gives
    /// the names of the attachments' objects that a generation refers to; it is asked once, for the oldest that is kept.
    ///
    /// Safe beside writers, readers and other collections, and when it is ended at any moment.
    ///
    /// # Errors
    /// As [`head`](Self::head); what was deleted until then stays deleted.
    pub async fn collect<F, E>(
        &self,
        retention: Retention,
        blobs: impl FnOnce(std::sync::Arc<Snapshot>) -> F,
    ) -> Result<Collected, E>
    where
        F: Future<Output = Result<HashSet<BlobKey>, E>>,
        E: From<MirrorError>,
    {
        let head = self.head().await?;
        let keys = self.shared.keys.clone();
        // The hint first, so that no reader begins at a generation that goes; its time says what time it is.
        let manifest = self.store.get(&keys.manifest(head.generation()), crate::snapshot::MAX_MANIFEST).await?;
        let gone = || MirrorError::unavailable("the newest generation is not there any more");
        self.store.put(&keys.latest(), &manifest.ok_or_else(gone)?).await?;
        let now = self.store.modified(&keys.latest()).await?.ok_or_else(gone)?;
        let mut written: BTreeMap<u64, Timestamp> = BTreeMap::new();
        for listed in self.store.list(&keys.manifests(), None).await? {
            if let Some(generation) = keys.generation(&listed.key) {
                written.insert(generation, listed.written);
            }
        }
        let mut collected = self.collect_state(now, MOST).await?;
        let ended = now - retention.time.max(SHORTEST);
        let oldest = oldest_kept(&written, head.generation(), retention.generations, ended);
        let Some(kept) = self.at(oldest).await? else { return Ok(collected) };
        let Some(kept_since) = written.get(&oldest) else { return Ok(collected) };
        for generation in written.range(..oldest).map(|(generation, _)| *generation).take(MOST) {
            self.store.delete(&keys.manifest(generation)).await?;
            collected.generations += 1;
        }
        let before = ended.min(*kept_since - UPLOAD_TIME);
        let mut needed = segments_of(&kept, |id| keys.segment(id));
        needed.extend(blobs(kept).await?.iter().map(|key| keys.blob(key)));
        for folder in [keys.segments(), keys.blobs()] {
            let listed = self.store.list(&folder, None).await?;
            for Listed { key, bytes, .. } in garbage(listed, &needed, before).take(MOST) {
                self.store.delete(&key).await?;
                collected.objects += 1;
                collected.bytes += bytes;
            }
        }
        Ok(collected)
    }
}

/// The oldest generation that is kept, of those that were `written` when: one that is among the newest, or was not superseded before `ended`.
/// Everything after it is kept as well.
fn oldest_kept(written: &BTreeMap<u64, Timestamp>, head: u64, generations: u64, ended: Timestamp) -> u64 {
    let newest = head.saturating_sub(generations.max(1)) + 1;
    let superseded = written.iter().zip(written.values().skip(1));
    let recent = superseded.filter(|(_, next)| **next >= ended).map(|((generation, _), _)| *generation);
    recent.chain([newest.max(1)]).min().unwrap_or(head).max(written.keys().next().copied().unwrap_or(head)).min(head)
}

/// The objects below `segments/` that a generation refers to.
fn segments_of(snapshot: &Snapshot, key: impl Fn(crate::id::SegmentId) -> Path) -> HashSet<Path> {
    let mut needed = HashSet::new();
    for entry in snapshot.segments() {
        needed.insert(key(entry.id));
        if let Tombstones::Stored(stored) = &entry.deleted {
            needed.insert(key(stored.id));
        }
    }
    needed
}

/// What was written before `before` and is not needed.
fn garbage(listed: Vec<Listed>, needed: &HashSet<Path>, before: Timestamp) -> impl Iterator<Item = Listed> {
    listed.into_iter().filter(move |listed| listed.written < before && !needed.contains(&listed.key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn an_idle_vault_keeps_its_yesterday_and_the_newest_are_kept_in_any_case() {
        let written: BTreeMap<u64, Timestamp> =
            (1..=20).map(|generation| (generation, at(generation as i64))).collect();
        assert_eq!(oldest_kept(&written, 20, 10, at(1000)), 11);
        assert_eq!(oldest_kept(&written, 20, 1, at(1000)), 20);
        // The fifth was superseded when the sixth came.
        assert_eq!(oldest_kept(&written, 20, 1, at(6)), 5);
        assert_eq!(oldest_kept(&written, 20, 10, at(0)), 1);
        let idle = BTreeMap::from([(1, at(0)), (2, at(1_000_000))]);
        assert_eq!(oldest_kept(&idle, 2, 1, at(999_999)), 1);
        assert_eq!(oldest_kept(&BTreeMap::from([(7, at(0))]), 7, 10, at(9)), 7);
    }

    proptest! {
        #[test]
        fn what_is_kept_is_all_that_has_to_be(
            times in prop::collection::vec(0..100_i64, 1..40), first in 1..9_u64, generations in 0..12_u64, ended in 0..100_i64,
        ) {
            let written: BTreeMap<u64, Timestamp> = (first..).zip(times.iter().map(|time| at(*time))).collect();
            let head = *written.keys().last().unwrap();
            let oldest = oldest_kept(&written, head, generations, at(ended));
            prop_assert!(written.contains_key(&oldest));
            for gone in written.range(..oldest).map(|(generation, _)| *generation) {
                prop_assert!(gone + generations.max(1) <= head);
                prop_assert!(written[&(gone + 1)] < at(ended));
            }
        }
    }
}
