//! Which chunks the fetched pages of postings allow.

use crate::gram::{Gram, GramPage, Probe};
use crate::layout::Layout;
use crate::postings::Postings;

/// Pages fetched for one place: what takes more is so common that it says next to nothing.
const MAX_PAGES: usize = 2;
/// The same for a probe that has one place only.
const MAX_PAGES_ALONE: usize = 12;

impl Layout {
    /// The places of `probe` to look up, each with the pages that answer for it.
    pub(crate) fn lookups(&self, probe: &Probe) -> Vec<(Gram, std::ops::Range<usize>)> {
        let places = probe.places();
        let most = if places.len() == 1 { MAX_PAGES_ALONE } else { MAX_PAGES };
        places
            .iter()
            .map(|place| (*place, self.gram_pages.pages_of(&place.and_longer())))
            .filter(|(_, pages)| pages.len() <= most)
            .take(probe.limit())
            .collect()
    }
}

/// The chunks, ascending, of the segment of `layout` that the fetched `pages` allow for `probe`: all that match, and maybe others.
pub fn candidates<'a>(probe: &Probe, layout: &Layout, pages: impl Iterator<Item = &'a GramPage> + Clone) -> Vec<u32> {
    let universe = layout.chunks;
    if probe.is_impossible() {
        return Vec::new();
    }
    let mut found: Vec<Vec<Postings<'_>>> = Vec::new();
    for (place, _) in layout.lookups(probe) {
        let lists: Vec<_> = pages.clone().flat_map(|page| page.postings(place, universe)).collect();
        if lists.is_empty() {
            return Vec::new();
        }
        found.push(lists);
    }
    found.sort_by_key(|lists| lists.iter().map(|list| u64::from(list.count())).sum::<u64>());
    let mut found = found.into_iter();
    // What is too common to be looked up may be anywhere.
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

/// The ids of any of `lists`, ascending.
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
