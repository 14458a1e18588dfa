//! The requests of a new process to the store.

use crate::queries::Kind;
use crate::table::{Table, at};
use crate::vault::Folder;
use crate::world::World;
use atlas_tools::search::Search;

const MAX_WAVES: f64 = 4.0;
/// Share of the markdown's bytes, at 100,000 notes, in percent.
const MAX_SHARE: f64 = 5.0;
const LIMIT: usize = 1000;

/// Selective patterns, with full results.
pub(crate) fn selective(table: &mut Table, folder: &Folder, world: &World, kinds: &[Kind]) {
    let (mut waves, mut requests, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    let is_limited = folder.name == "all";
    for query in kinds.iter().flat_map(|kind| &kind.queries) {
        let asked = world.ask(atlas_tools::entry::<Search>(), &query.arguments(LIMIT)).cold;
        let share = 100.0 * asked.bytes() as f64 / world.markdown as f64;
        if asked.waves() as f64 > MAX_WAVES || (is_limited && share > MAX_SHARE) {
            eprintln!("  {} waves, {} requests, {share:.1}%: {:?}", asked.waves(), asked.count(), query.text);
        }
        waves.push(asked.waves() as f64);
        requests.push(asked.count() as f64);
        shares.push(share);
    }
    let result = format!(
        "{} waves, {} requests, {}% of the markdown",
        spread(&mut waves, 0),
        spread(&mut requests, 0),
        spread(&mut shares, 1)
    );
    let mut target = format!("at most {MAX_WAVES} waves");
    if is_limited {
        target += &format!(", {MAX_SHARE}%");
    }
    let holds = at(&waves, 100) <= MAX_WAVES && (!is_limited || at(&shares, 100) <= MAX_SHARE);
    table.row(&format!("cold, {} selective", waves.len()), folder.name, &result, &target, Some(holds));
}

/// Median, 99th percentile, and maximum.
fn spread(values: &mut [f64], digits: usize) -> String {
    values.sort_unstable_by(f64::total_cmp);
    let [median, hundredth, most] = [50, 99, 100].map(|percent| at(values, percent));
    format!("{median:.digits$} (99% at most {hundredth:.digits$}, all {most:.digits$})")
}
