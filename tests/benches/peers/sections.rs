//! How much is published for the search beside the text.

use std::collections::BTreeMap;

use atlas_segment::SectionName;

use crate::table::Table;
use crate::vault::Folder;
use crate::world::World;

/// Share of the markdown's bytes that what is only for searching may have, in percent.
const MAX_SHARE: f64 = 30.0;

/// The share of each section, and of those together that are only for searching.
pub(crate) fn shares(table: &mut Table, folder: &Folder, world: &World) {
    let snapshot = world.snapshot();
    let mut sections: BTreeMap<SectionName, u64> = BTreeMap::new();
    for section in snapshot.segments().iter().flat_map(|entry| &entry.layout.sections) {
        *sections.entry(section.name).or_default() += section.length;
    }
    let share = |bytes: u64| 100.0 * bytes as f64 / world.markdown as f64;
    let name = |name: &SectionName| serde_json::to_value(name).unwrap().as_str().unwrap_or_default().replace('_', " ");
    let all: Vec<_> = sections.iter().map(|(of, bytes)| format!("{} {:.1}%", name(of), share(*bytes))).collect();
    table.row("sections, of the markdown", folder.name, &all.join(", "), "", None);

    let search: u64 = sections.iter().filter(|(name, _)| is_for_search(**name)).map(|(_, bytes)| bytes).sum();
    let result = format!("{:.1}% of the markdown", share(search));
    let (target, holds) = match folder.name {
        "corpora" => (format!("at most {MAX_SHARE}%"), Some(share(search) <= MAX_SHARE)),
        _ => (String::new(), None),
    };
    table.row("sections for the search", folder.name, &result, &target, holds);
}

const fn is_for_search(name: SectionName) -> bool {
    use SectionName::{Headings, Names, Paths, Records, Text, TextBlocks};
    !matches!(name, Text | Records | TextBlocks | Paths | Names | Headings)
}
