//! The paths that a generation changed, from the segments that it does not share with the generation before.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::MirrorError;
use crate::id::SegmentId;
use crate::mirror::Mirror;
use crate::snapshot::Snapshot;

impl Mirror {
    /// The paths whose content differs between `after` and `before`, the generation before it; all paths of `after` if
    /// `before` is [`None`]. Reads only records of segments that the two do not share, or in which `after` deletes
    /// documents.
    ///
    /// # Errors As [`Snapshot::load`].
    pub async fn changed_between(
        &self,
        before: Option<&Snapshot>,
        after: &Snapshot,
    ) -> Result<BTreeSet<String>, MirrorError> {
        let earlier: BTreeMap<SegmentId, usize> = before.map(places).unwrap_or_default();
        let later = places(after);
        let mut there: BTreeMap<String, u64> = BTreeMap::new();
        for (_, place) in later.iter().filter(|(id, _)| !earlier.contains_key(id)) {
            let Some(entry) = after.segments().get(*place) else { continue };
            let records = self.records_of(after, *place, true).await?;
            there.extend(records.into_iter().map(|(_, record)| (record.path.clone(), entry.written_at(&record))));
        }
        let mut changed: BTreeSet<String> = BTreeSet::new();
        if let Some(before) = before {
            for (id, place) in &earlier {
                let left = match later.get(id) {
                    None => self.records_of(before, *place, true).await?,
                    Some(now) => {
                        let (was, is) = (before.deleted(*place).await?, after.deleted(*now).await?);
                        if was == is {
                            continue;
                        }
                        let records = self.records_of(before, *place, true).await?;
                        records.into_iter().filter(|(document, _)| is.contains(*document)).collect()
                    }
                };
                let gone = left.into_iter().map(|(_, record)| record.path).filter(|path| !there.contains_key(path));
                changed.extend(gone);
            }
        }
        // A document that a merge moved into a new segment was written before.
        let is_new = |written: u64| before.is_none_or(|before| written > before.generation());
        changed.extend(there.into_iter().filter(|(_, written)| is_new(*written)).map(|(path, _)| path));
        Ok(changed)
    }
}

fn places(snapshot: &Snapshot) -> BTreeMap<SegmentId, usize> {
    snapshot.segments().iter().enumerate().map(|(place, entry)| (entry.id, place)).collect()
}
