//! The size of the index for search, compared with the text.

use std::collections::BTreeMap;

use atlas_segment::SectionName;

use crate::table::Table;
use crate::vault::Folder;
use crate::world::World;

/// Greatest share of the markdown's bytes for sections only for search, in percent.
const MAX_SHARE: f64 = 35.0;

/// The share of each section, and of all that are only for search.
pub(crate) fn shares(table: &mut Table, folder: &Folder, world: &World) {
    let snapshot = world.snapshot();
    let mut sections: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, section) in snapshot.segments().iter().flat_map(|entry| &entry.layout.sections) {
        *sections.entry(name).or_default() += section.length;
    }
    let share = |bytes: u64| 100.0 * bytes as f64 / world.markdown as f64;
    let all: Vec<_> =
        sections.iter().map(|(name, bytes)| format!("{} {:.1}%", name.replace('_', " "), share(*bytes))).collect();
    table.row("sections, of the markdown", folder.name, &all.join(", "), "", None);

    let search: u64 = sections.iter().filter(|(name, _)| is_for_search(name)).map(|(_, bytes)| bytes).sum();
    let result = format!("{:.1}% of the markdown", share(search));
    let (target, holds) = match folder.name {
        "corpora" => (format!("at most {MAX_SHARE}%"), Some(share(search) <= MAX_SHARE)),
        _ => (String::new(), None),
    };
    table.row("sections for the search", folder.name, &result, &target, holds);
}

fn is_for_search(name: &str) -> bool {
    use SectionName::{Anchors, Chunks, Grams, Linked, PassagePostings, Passages, TermPostings, Terms};
    let all = [Grams, Chunks, Terms, TermPostings, Passages, PassagePostings, Linked, Anchors];
    all.iter().any(|section| section.as_str() == name)
}
