//! The order of segments by the paths of their documents.

use std::collections::BTreeMap;

/// The place of each segment, given with its first and last path, in path order; [`None`] if one has paths between those of another.
pub(super) fn ranks<'a>(
    segments: impl Iterator<Item = (usize, (&'a [u8], &'a [u8]))>,
) -> Option<BTreeMap<usize, usize>> {
    let mut all: Vec<_> = segments.map(|(segment, ends)| (ends, segment)).collect();
    all.sort_unstable();
    let is_apart = all.is_sorted_by(|((_, last), _), ((first, _), _)| last < first);
    is_apart.then(|| all.into_iter().enumerate().map(|(rank, (_, segment))| (segment, rank)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn segments_in_order_have_their_paths_in_order(
            segments in prop::collection::vec(prop::collection::btree_set("[a-c]{1,2}", 1..4), 0..4),
        ) {
            let ends = |own: &BTreeSet<String>| (own.first().unwrap().clone(), own.last().unwrap().clone());
            let ends: Vec<_> = segments.iter().map(ends).collect();
            let of_bytes = ends.iter().map(|(first, last)| (first.as_bytes(), last.as_bytes())).enumerate();
            let ranks = ranks(of_bytes);
            let mut all: Vec<(&String, usize)> =
                segments.iter().enumerate().flat_map(|(at, own)| own.iter().map(move |path| (path, at))).collect();
            all.sort();
            let changes = all.chunk_by(|one, other| one.1 == other.1).count();
            let is_twice = all.windows(2).any(|pair| pair[0].0 == pair[1].0);
            prop_assert_eq!(ranks.is_some(), changes == segments.len() && !is_twice);
            if let Some(ranks) = ranks {
                prop_assert!(all.is_sorted_by_key(|(path, segment)| (ranks[segment], *path)));
            }
        }
    }
}
