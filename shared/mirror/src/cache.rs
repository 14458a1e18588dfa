//! Decoded parts of segments in memory, within a byte budget. One cache serves all vaults of a process.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

use atlas_segment::part::{Part, PartKind, PartRef};
use quick_cache::sync::Cache;
use quick_cache::{OptionsBuilder, Weighter};

use crate::id::SegmentId;
use crate::tombstones::DocumentSet;

/// Bytes charged for an entry besides its content: key, table slot, allocation.
const OVERHEAD: usize = 128;
/// Bytes of an average part; determines only the size of the cache's table.
const AVERAGE_PART: usize = 16 << 10;
/// A part of the budget that an entry may take. Else one would push out all others.
const MAX_SHARE: u64 = 4;

/// A cache of decoded parts. Everything in it is immutable, so nothing is ever out of date.
///
/// An entry that was not asked for again is dropped before those that were, so that a scan does not push out what queries use. There is one
/// shard: several would each have a part of the budget, and a query's few large entries would fill one while others have room.
#[derive(Debug)]
pub struct PartCache {
    entries: Cache<PartKey, Entry, ByWeight>,
    budget: u64,
}

/// How a cache is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheFigures {
    /// Bytes charged for the entries.
    pub bytes: u64,
    /// Most of them.
    pub budget: u64,
    /// How often a part was found, …
    pub hits: u64,
    /// … and how often not.
    pub misses: u64,
}

/// Plain data, so that a look-up allocates nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PartKey {
    segment: SegmentId,
    /// [`None`] for the tombstones in the object.
    kind: Option<PartKind>,
    start: u64,
    end: u64,
}

/// The dropped parts and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// How many parts.
    pub parts: u64,
    /// Bytes charged for them.
    pub bytes: u64,
}

#[derive(Clone, Debug)]
enum Value {
    Part(Arc<Part>),
    Tombstones(Arc<DocumentSet>),
}

#[derive(Clone, Debug)]
struct Entry {
    value: Value,
    /// The weight charged on insertion. It must not change while the entry is cached.
    weight: u64,
}

#[derive(Clone, Debug)]
struct ByWeight;

impl Weighter<PartKey, Entry> for ByWeight {
    fn weight(&self, _: &PartKey, entry: &Entry) -> u64 {
        entry.weight
    }
}

impl PartCache {
    /// A cache of about `budget` bytes. An entry larger than a quarter of it is not cached.
    pub fn new(budget: usize) -> Self {
        let capacity = budget as u64;
        // All options are set, so building them cannot fail; a cache of default shards would do as well.
        let options = OptionsBuilder::new()
            .estimated_items_capacity(budget / AVERAGE_PART + 1)
            .weight_capacity(capacity)
            .shards(1)
            .build();
        let entries = match options {
            Ok(options) => Cache::with_options(options, ByWeight, Default::default(), Default::default()),
            Err(_) => Cache::with_weighter(budget / AVERAGE_PART + 1, capacity, ByWeight),
        };
        Self { entries, budget: capacity }
    }

    /// Bytes charged for the entries.
    pub fn weight(&self) -> u64 {
        self.entries.weight()
    }

    /// How it is used.
    pub fn figures(&self) -> CacheFigures {
        let Self { entries, budget } = self;
        CacheFigures { bytes: entries.weight(), budget: *budget, hits: entries.hits(), misses: entries.misses() }
    }

    /// Drops what is held of these segments.
    pub(crate) fn forget(&self, segments: &HashSet<SegmentId>) -> Forgotten {
        let (parts, bytes) = (Cell::new(0), Cell::new(0));
        self.entries.retain(|key, entry| {
            let is_kept = !segments.contains(&key.segment);
            if !is_kept {
                parts.set(parts.get() + 1);
                bytes.set(bytes.get() + entry.weight);
            }
            is_kept
        });
        Forgotten { parts: parts.get(), bytes: bytes.get() }
    }

    /// Drops everything.
    pub(crate) fn clear(&self) {
        self.entries.clear();
    }

    pub(crate) fn part(&self, segment: SegmentId, part: &PartRef) -> Option<Arc<Part>> {
        match self.entries.get(&PartKey::of_part(segment, part))?.value {
            Value::Part(part) => Some(part),
            Value::Tombstones(_) => None,
        }
    }

    pub(crate) fn keep_part(&self, segment: SegmentId, part: &PartRef, value: Arc<Part>) {
        let weight = value.weight().saturating_add(OVERHEAD) as u64;
        self.keep(PartKey::of_part(segment, part), Entry { value: Value::Part(value), weight });
    }

    pub(crate) fn tombstones(&self, object: SegmentId) -> Option<Arc<DocumentSet>> {
        match self.entries.get(&PartKey::of_tombstones(object))?.value {
            Value::Tombstones(set) => Some(set),
            Value::Part(_) => None,
        }
    }

    pub(crate) fn keep_tombstones(&self, object: SegmentId, set: Arc<DocumentSet>) {
        let weight = set.len().saturating_mul(size_of::<u32>()).saturating_add(OVERHEAD) as u64;
        self.keep(PartKey::of_tombstones(object), Entry { value: Value::Tombstones(set), weight });
    }

    fn keep(&self, key: PartKey, entry: Entry) {
        if entry.weight <= self.budget / MAX_SHARE {
            self.entries.insert(key, entry);
        }
    }
}

impl PartKey {
    fn of_part(segment: SegmentId, part: &PartRef) -> Self {
        Self { segment, kind: Some(part.kind), start: part.range.start, end: part.range.end }
    }

    fn of_tombstones(object: SegmentId) -> Self {
        Self { segment: object, kind: None, start: 0, end: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;

    fn part(start: u64) -> PartRef {
        PartRef { kind: PartKind::TextBlock, range: start..start + 1000 }
    }

    fn block(bytes: usize) -> Arc<Part> {
        Arc::new(Part::TextBlock(vec![b'x'; bytes].into()))
    }

    #[test]
    fn a_part_is_found_by_its_segment_kind_and_range() {
        let cache = PartCache::new(1 << 20);
        cache.keep_part(Id::from_u128(1), &part(0), block(1000));
        assert!(cache.part(Id::from_u128(1), &part(0)).is_some());
        assert!(cache.part(Id::from_u128(2), &part(0)).is_none());
        assert!(cache.part(Id::from_u128(1), &part(1)).is_none());
        let headings = PartRef { kind: PartKind::Headings, ..part(0) };
        assert!(cache.part(Id::from_u128(1), &headings).is_none());
        assert!(cache.tombstones(Id::from_u128(1)).is_none());
    }

    #[test]
    fn what_is_of_a_segment_can_be_dropped() {
        let cache = PartCache::new(1 << 20);
        for segment in 1..=3 {
            cache.keep_part(Id::from_u128(segment), &part(0), block(1000));
            cache.keep_part(Id::from_u128(segment), &part(1), block(1000));
        }
        let before = cache.weight();
        let dropped = cache.forget(&HashSet::from([Id::from_u128(1), Id::from_u128(3), Id::from_u128(9)]));
        assert_eq!((dropped.parts, dropped.bytes), (4, before - cache.weight()));
        assert!(cache.part(Id::from_u128(1), &part(0)).is_none() && cache.part(Id::from_u128(2), &part(0)).is_some());
    }

    #[test]
    fn nearly_all_of_the_budget_holds_what_one_query_needs() {
        // Large tables and small pages, asked for again and again.
        let needed: Vec<(u128, usize)> =
            (0..30).map(|number| (number, if number % 3 == 0 { 80_000 } else { 5_000 })).collect();
        let sum: usize = needed.iter().map(|(_, bytes)| bytes + OVERHEAD).sum();
        let cache = PartCache::new(sum * 21 / 20);
        let missing = || {
            let mut missing = 0;
            for (segment, bytes) in &needed {
                if cache.part(Id::from_u128(*segment), &part(0)).is_none() {
                    missing += 1;
                    cache.keep_part(Id::from_u128(*segment), &part(0), block(*bytes));
                }
            }
            missing
        };
        assert_eq!((missing(), missing(), missing()), (30, 0, 0));
        let figures = cache.figures();
        assert_eq!((figures.hits, figures.misses, figures.bytes), (60, 30, sum as u64));
    }

    #[test]
    fn a_scan_does_not_push_out_what_is_used() {
        let cache = PartCache::new(1 << 20);
        let used = |segment: u128| cache.part(Id::from_u128(segment), &part(0)).is_some();
        for segment in 0..40 {
            cache.keep_part(Id::from_u128(segment), &part(0), block(20_000));
        }
        assert!((0..40).all(used) && (0..40).all(used));
        for segment in 1_000..3_000 {
            assert!(!used(segment));
            cache.keep_part(Id::from_u128(segment), &part(0), block(10_000));
        }
        let kept = (0..40).filter(|segment| used(*segment)).count();
        assert!(kept >= 36, "{kept} of 40 are left");
    }

    #[test]
    fn the_budget_is_kept() {
        let cache = PartCache::new(1 << 20);
        for number in 0..1000 {
            cache.keep_part(Id::from_u128(number), &part(0), block(10_000));
            assert!(cache.weight() <= 1 << 20);
        }
        assert!(cache.weight() > 1 << 19, "it is used");
        cache.keep_part(Id::from_u128(9999), &part(0), block(1 << 19));
        assert!(cache.part(Id::from_u128(9999), &part(0)).is_none(), "what is too large for it is not kept");
    }
}
