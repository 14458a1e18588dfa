//! Words, ranked: beside tantivy.

use atlas_ops::Entry;
use atlas_tools::search::Search;
use std::collections::HashSet;
use std::hint::black_box;
use std::time::{Duration, Instant};

use atlas_ops::Code;
use serde_json::Value;

use crate::fulltext::FullText;
use crate::queries::Kind;
use crate::scan::Resident;
use crate::table::{self, Table};
use crate::vault::Folder;
use crate::world::{self, World};

/// Repetitions of each query; the median counts.
const REPEATS: usize = 5;
const RESULTS: usize = 10;
/// The target for the median on `hub`.
const TARGET: Duration = Duration::from_millis(1);

/// A row for each kind.
pub(crate) fn words(table: &mut Table, folder: &Folder, world: &World, resident: &Resident, kinds: &[Kind]) {
    let tantivy = FullText::of(resident);
    for kind in kinds {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let (mut is_missing, mut empty, mut shared) = (false, 0, 0.0);
        for query in &kind.queries {
            theirs.push(table::median(REPEATS, || {
                let begun = Instant::now();
                black_box(tantivy.search(&query.text));
                begun.elapsed()
            }));
            let arguments = query.arguments(RESULTS);
            match world.runtime.block_on(world::call(&world.warm, atlas_tools::entry::<Search>(), &arguments)) {
                Err(error) if error.code == Code::BadRequest => is_missing = true,
                _ => {
                    let (value, _) = world.call(atlas_tools::entry::<Search>(), &arguments);
                    let (own, hits) = (paths(value["results"].as_array().unwrap()), tantivy.search(&query.text));
                    empty += usize::from(own.is_empty());
                    let common = paths(&hits).intersection(&own).count();
                    shared += common as f64 / hits.len().max(1) as f64;
                    ours.push(table::median(REPEATS, || world.call(atlas_tools::entry::<Search>(), &arguments).1));
                }
            }
        }
        ours.sort_unstable();
        theirs.sort_unstable();
        let peer = format!("tantivy {}", table::summary(&theirs));
        let (result, holds) = if is_missing {
            (format!("not there yet; {peer}"), None)
        } else {
            let shared = 100.0 * shared / kind.queries.len() as f64;
            let result = format!(
                "{}; {peer}; {shared:.0}% of its first ten are among ours; {empty} of {} find nothing",
                table::summary(&ours),
                kind.queries.len()
            );
            (result, (folder.name == "hub").then(|| ours[ours.len() / 2] <= TARGET && empty == 0))
        };
        let target = if folder.name == "hub" { format!("median {}", table::duration(TARGET)) } else { String::new() };
        table.row(kind.what, folder.name, &result, &target, holds);
    }
}

fn paths(hits: &[Value]) -> HashSet<&str> {
    hits.iter().filter_map(|hit| hit["path"].as_str()).collect()
}
