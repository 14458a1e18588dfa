//! Garbage collection: deletes every object that no kept generation refers to.
//!
//! A generation is kept for some time after the next one replaced it, so an idle vault keeps its last version however
//! old it is. The newest generations are always kept. References decide which objects stay: those of the oldest kept
//! generation, and those that later ones added (`added`). Times, by the store's clock, decide only how long a
//! generation is kept, and protect uploads that are not committed yet. A clock that jumps keeps generations longer: a
//! manifest never counts as older than an earlier one, and of the store's and the caller's clock the slower one counts.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use object_store::path::Path;
use serde::Serialize;

use crate::added::{KeptGenerations, objects_of};
use crate::commit::LONGEST_DEADLINE;
use crate::error::MirrorError;
use crate::mirror::Mirror;
use crate::snapshot::{MAX_MANIFEST, Snapshot};
use crate::store::ListedObject;

/// How long, and how many, generations are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// How long a generation is kept after the next one replaced it.
    pub time: Duration,
    /// How many of the newest generations are always kept.
    pub generations: u64,
    /// Most manifests that one collection reads. The next one continues; until all are read, no object is deleted that
    /// they might refer to.
    pub reads: usize,
}

impl Default for Retention {
    /// 30 days, and 10 generations; 50,000 manifests.
    fn default() -> Self {
        Self { time: Duration::from_secs(30 * 24 * 3600), generations: 10, reads: 50_000 }
    }
}

/// The result of a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// Generations that were deleted.
    pub generations: u64,
    /// Other objects that were deleted.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Generations that the next collection must read before it can delete objects.
    #[serde(skip_serializing_if = "is_zero")]
    pub unread: u64,
    /// The newest generation that has an older time, by the store's clock, than an earlier one: the clock ran
    /// backwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran_back: Option<u64>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Objects younger than this are not deleted: a commit may still refer to them.
pub(crate) const UPLOAD_TIME: Duration = Duration::from_secs(24 * 3600);
/// Most objects that one collection deletes. The next one continues.
const MOST: usize = 100_000;
/// The clocks of a store's machines differ by less than this.
const SAME_TIME: SignedDuration = SignedDuration::from_secs(60);
/// No retention is shorter: a stalled writer must not find its number free, nor a reader its generation gone.
const SHORTEST: Duration = Duration::from_secs(2 * LONGEST_DEADLINE.as_secs());

impl Mirror {
    /// Deletes the generations that are not kept, the oldest first; the objects that no kept one refers to; and expired
    /// state. `now` is the time by the caller's clock.
    ///
    /// It is safe beside writers, readers and other collections, and when it is interrupted.
    ///
    /// # Errors As [`head`](Self::head), and [`MirrorError::Damaged`] when the newest generation lacks objects that it
    /// refers to; earlier deletions stay.
    pub async fn collect(&self, retention: Retention, now: Timestamp) -> Result<Collected, MirrorError> {
        let keys = self.shared.keys.clone();
        // Objects are listed before references are read, so that nothing committed meanwhile counts as garbage.
        let listed = [self.store.list(&keys.segments(), None).await?, self.store.list(&keys.blobs(), None).await?];
        let written = self.written().await?;
        let hinted = self.known_hint().await?;
        let head = self.head().await?;
        if let Some(lost) = hinted.and_then(|hinted| hinted.lost_after(&head)) {
            return Err(lost_manifest(&keys.manifest(lost.generation())));
        }
        let [segments, _] = &listed;
        self.check_sizes(&head, segments).await?;
        // The hint is written first, so that no reader begins at a deleted generation. Its time is the store's.
        let manifest = self.store.get(&keys.manifest(head.generation()), MAX_MANIFEST).await?;
        let gone = || MirrorError::unavailable("the newest generation does not exist any more");
        self.store.put(&keys.latest(), &manifest.ok_or_else(gone)?).await?;
        let now = self.store.modified(&keys.latest()).await?.ok_or_else(gone)?.min(now);
        let mut collected = self.collect_state(now, retention.time, MOST).await?;
        collected.ran_back = ran_back(&written);
        let ended = now - retention.time.max(SHORTEST);
        let oldest = oldest_kept(&in_order(&written), head.generation(), retention.generations, ended);
        // A purge leaves the manifests, since folders that were synced before recognise their mirror by them.
        let (past, oldest) = (oldest, oldest.max(head.manifest().history_from));
        // While the oldest one is damaged, nothing more is deleted: as below.
        let Some(kept) = self.at_if_readable(oldest).await? else { return Ok(collected) };
        for generation in written.range(..past).map(|(generation, _)| *generation).take(MOST) {
            self.store.delete(&keys.manifest(generation)).await?;
            collected.generations += 1;
        }
        // A manifest newer than the listing exists, though it is not listed.
        let is_there =
            |generation: &u64| written.contains_key(generation) || written.range(*generation..).next().is_none();
        let between = (oldest + 1..head.generation()).filter(is_there).collect();
        let kept = KeptGenerations { oldest: kept, between, head };
        let needed = match self.needed(&kept, retention.reads).await {
            Ok(Ok(needed)) => needed,
            Ok(Err(unread)) => return Ok(Collected { unread, ..collected }),
            Err(MirrorError::Damaged { object, .. } | MirrorError::Gone { object }) => {
                tracing::warn!(object, "an older generation is damaged: no objects are deleted while it is kept");
                return Ok(collected);
            }
            Err(error) => return Err(error),
        };
        let before = ended.min(now - UPLOAD_TIME);
        for folder in listed {
            for ListedObject { key, bytes, .. } in garbage(folder, &needed, before).take(MOST) {
                self.store.delete(&key).await?;
                collected.objects += 1;
                collected.bytes += bytes;
            }
        }
        Ok(collected)
    }

    /// Checks that all objects of `head` below `segments/` are in the listing, with their sizes.
    async fn check_sizes(&self, head: &Snapshot, listed: &[ListedObject]) -> Result<(), MirrorError> {
        let sizes: HashMap<&Path, u64> = listed.iter().map(|listed| (&listed.key, listed.bytes)).collect();
        for (index, id) in objects_of(head) {
            let key = self.keys().segment(id);
            let size = index.and_then(|index| head.segments().get(index)).map(|entry| entry.bytes);
            if sizes.get(&key).is_some_and(|found| size.is_none_or(|size| size == *found)) {
                continue;
            }
            // It may have been committed since the listing.
            match (self.store.size(&key).await?, size) {
                (None, _) => return Err(MirrorError::damaged(key, "it is missing")),
                (Some(found), Some(size)) if found != size => {
                    return Err(MirrorError::damaged(key, format!("it has {found} bytes instead of {size}")));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The newest generation that has an older time, by the store's clock, than an earlier one: the clock ran
    /// backwards.
    ///
    /// # Errors [`MirrorError::Unavailable`], [`MirrorError::StoreRefused`].
    pub async fn ran_back(&self) -> Result<Option<u64>, MirrorError> {
        Ok(ran_back(&self.written().await?))
    }

    /// The time of each generation's manifest, by the store's clock.
    pub(crate) async fn written(&self) -> Result<BTreeMap<u64, Timestamp>, MirrorError> {
        let keys = &self.shared.keys;
        let listed = self.store.list(&keys.manifests(), None).await?;
        Ok(listed.iter().filter_map(|listed| Some((keys.generation(&listed.key)?, listed.written))).collect())
    }

    /// The objects that the kept generations refer to. If there are too many generations to read at once, the error is
    /// the number left.
    async fn needed(&self, kept: &KeptGenerations, reads: usize) -> Result<Result<HashSet<Path>, u64>, MirrorError> {
        let added = match self.added(kept, reads).await? {
            Ok(added) => added,
            Err(unread) => return Ok(Err(unread)),
        };
        let mut needed = added.keys(self);
        for snapshot in [&kept.oldest, &kept.head] {
            needed.extend(objects_of(snapshot).map(|(_, id)| self.keys().segment(id)));
        }
        let all: Vec<usize> = (0..kept.oldest.segments().len()).collect();
        let blobs = self.blobs_of(&kept.oldest, &all, true).await?;
        needed.extend(blobs.iter().filter_map(|name| name.parse().ok()).map(|key| self.keys().blob(&key)));
        Ok(Ok(needed))
    }
}

/// The error for a missing manifest at `key` of which the hint has a copy.
pub(crate) fn lost_manifest(key: &Path) -> MirrorError {
    MirrorError::damaged(key, "it is missing, and `latest` has a copy of it")
}

/// The times of generations, each at least as late as the one before.
fn in_order(written: &BTreeMap<u64, Timestamp>) -> BTreeMap<u64, Timestamp> {
    let mut latest = Timestamp::MIN;
    let in_order = written.iter().map(|(generation, time)| {
        latest = latest.max(*time);
        (*generation, latest)
    });
    in_order.collect()
}

/// The newest generation whose time is well before an earlier one's.
fn ran_back(written: &BTreeMap<u64, Timestamp>) -> Option<u64> {
    let in_order = in_order(written).into_values();
    let is_before = |((_, time), latest): &((&u64, &Timestamp), Timestamp)| **time < *latest - SAME_TIME;
    written.iter().zip(in_order).filter(is_before).map(|((generation, _), _)| *generation).next_back()
}

/// The oldest kept generation, by the times at which all were `written`: it is among the newest, or was not replaced
/// before `ended`. All later ones are kept.
fn oldest_kept(written: &BTreeMap<u64, Timestamp>, head: u64, generations: u64, ended: Timestamp) -> u64 {
    let newest = head.saturating_sub(generations.max(1)) + 1;
    let superseded = written.iter().zip(written.values().skip(1));
    let recent = superseded.filter(|(_, next)| **next >= ended).map(|((generation, _), _)| *generation);
    recent.chain([newest.max(1)]).min().unwrap_or(head).max(written.keys().next().copied().unwrap_or(head)).min(head)
}

/// The objects that were written before `before` and are not needed.
fn garbage(listed: Vec<ListedObject>, needed: &HashSet<Path>, before: Timestamp) -> impl Iterator<Item = ListedObject> {
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
