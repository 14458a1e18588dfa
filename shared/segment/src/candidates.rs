//! Which chunks the fetched pages of postings allow.

use crate::gram::{GramPage, Probe};
use crate::layout::Layout;
use crate::postings::Postings;

/// The chunks, ascending, of the segment of `layout` that the fetched `pages` allow for `probe`: all that match, and maybe others.
pub fn candidates<'a>(probe: &Probe, layout: &Layout, pages: impl Iterator<Item = &'a GramPage> + Clone) -> Vec<u32> {
    let universe = layout.chunks;
    match probe {
        Probe::Nothing => Vec::new(),
        Probe::Literal { bytes, limit } => {
            let mut lists = Vec::new();
            for gram in layout.lookups(bytes, *limit) {
                match pages.clone().find_map(|page| page.postings(&gram, universe)) {
                    Some(list) => lists.push(list),
                    None => return Vec::new(),
                }
            }
            lists.sort_by_key(Postings::count);
            let mut lists = lists.into_iter();
            let mut ids = lists.next().map(|list| list.ids()).unwrap_or_default();
            for list in lists {
                if ids.is_empty() {
                    break;
                }
                list.retain(&mut ids);
            }
            ids
        }
        Probe::Any(range) => {
            let mut found = vec![false; universe as usize];
            for list in pages.flat_map(|page| page.postings_in(range, universe)) {
                for id in list.ids() {
                    if let Some(slot) = found.get_mut(id as usize) {
                        *slot = true;
                    }
                }
            }
            (0u32..).zip(found).filter_map(|(id, found)| found.then_some(id)).collect()
        }
    }
}
