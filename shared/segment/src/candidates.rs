//! Which chunks may match a probe, according to the fetched pages of postings.

use std::ops::Range;

use crate::directory::GramDirectory;
use crate::error::FormatError;
use crate::gram::{Gram, GramPage, Probe};
use crate::layout::Layout;
use crate::postings::Postings;

/// Most pages to fetch for one place. A gram with more pages is too common to exclude much.
const MAX_PAGES: usize = 2;
/// The same limit for a probe with only one place.
const MAX_PAGES_ALONE: usize = 12;

/// The places of `probe` to look up, each with the pages that hold its postings.
pub(crate) fn lookups(probe: &Probe, directory: &GramDirectory) -> Vec<(Gram, Range<usize>)> {
    let places = probe.places();
    let most = if places.len() == 1 { MAX_PAGES_ALONE } else { MAX_PAGES };
    places
        .iter()
        .map(|place| (*place, directory.pages_of(&place.and_longer())))
        .filter(|(_, pages)| pages.len() <= most)
        .take(probe.limit())
        .collect()
}

/// The ids, ascending, of the chunks of the segment with `layout` that may match `probe`, according to `pages`. All chunks that match are
/// included.
///
/// # Errors
/// When the layout's directories were not read.
pub fn candidates<'a>(
    probe: &Probe,
    layout: &Layout,
    pages: impl Iterator<Item = &'a GramPage> + Clone,
) -> Result<Vec<u32>, FormatError> {
    if probe.is_impossible() {
        return Ok(Vec::new());
    }
    let places = lookups(probe, &layout.directories()?.grams);
    Ok(with_grams(places.into_iter().map(|(place, _)| place), layout.chunks, pages))
}

/// The chunks, of so many, that have all `grams` according to `pages`.
fn with_grams<'a>(
    grams: impl Iterator<Item = Gram>,
    universe: u32,
    pages: impl Iterator<Item = &'a GramPage> + Clone,
) -> Vec<u32> {
    let mut found: Vec<Vec<Postings<'_>>> = Vec::new();
    for gram in grams {
        let lists: Vec<_> = pages.clone().flat_map(|page| page.postings(gram, universe)).collect();
        if lists.is_empty() {
            return Vec::new();
        }
        found.push(lists);
    }
    found.sort_by_key(|lists| lists.iter().map(|list| u64::from(list.count())).sum::<u64>());
    let mut found = found.into_iter();
    // A probe whose places are all too common to look up may match any chunk.
    let Some(first) = found.next() else { return (0..universe).collect() };
    let mut ids = union(&first, universe);
    for lists in found {
        match lists.as_slice() {
            _ if ids.is_empty() => break,
            [list] => list.retain(&mut ids),
            lists => {
                let mut others = union(lists, universe).into_iter().peekable();
                ids.retain(|id| {
                    while others.next_if(|other| other < id).is_some() {}
                    others.peek() == Some(id)
                });
            }
        }
    }
    ids
}

/// The union of `lists`, ascending.
fn union(lists: &[Postings<'_>], universe: u32) -> Vec<u32> {
    if let [list] = lists {
        return list.ids();
    }
    let mut found = vec![false; universe as usize];
    for list in lists {
        for id in list.ids() {
            if let Some(slot) = found.get_mut(id as usize) {
                *slot = true;
            }
        }
    }
    (0u32..).zip(found).filter_map(|(id, found)| found.then_some(id)).collect()
}
