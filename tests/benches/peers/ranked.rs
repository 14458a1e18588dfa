//! Words, ranked: beside tantivy.

use std::collections::HashSet;
use std::hint::black_box;
use std::time::{Duration, Instant};

use atlas_ops::read::view::View;
use atlas_tools::search::Search;
use atlas_tools::search::expansion::expanded;
use serde_json::Value;

use crate::expanded::Expanded;
use crate::fulltext::FullText;
use crate::queries::Kind;
use crate::scan::Resident;
use crate::table::{self, Table, at};
use crate::vault::Folder;
use crate::world::World;

/// Repetitions of each query. The shortest counts, which what else runs on the machine hardly changes.
const REPEATS: usize = 9;
const RESULTS: usize = 10;
/// The target for the median on `hub`.
const TARGET: Duration = Duration::from_millis(1);

/// Two rows for each kind: beside tantivy asked for the same words in the same fields, and beside it as it comes.
pub(crate) fn words(table: &mut Table, folder: &Folder, world: &World, resident: &Resident, kinds: &[Kind]) {
    let same = Expanded::of(resident);
    let row = |table: &mut Table, kind: &Kind| beside_the_same(table, folder, world, &same, kind);
    kinds.iter().for_each(|kind| row(table, kind));
    drop(same);
    let plain = FullText::of(resident);
    for kind in kinds {
        let pairs =
            kind.queries.iter().map(|query| Pair::of(world, query.arguments(RESULTS), || plain.search(&query.text)));
        let pairs: Vec<Pair> = pairs.collect();
        let empty = pairs.iter().filter(|pair| pair.found == 0).count();
        let result = format!("{}; {empty} of {} find nothing", summary(&pairs), pairs.len());
        let is_hub = folder.name == "hub";
        let target = if is_hub { format!("median {}", table::duration(TARGET)) } else { String::new() };
        let own = sorted(&pairs, |pair| pair.own);
        let holds = is_hub.then(|| own[own.len() / 2] <= TARGET && empty == 0);
        table.row(&format!("{}, tantivy with its defaults", kind.what), folder.name, &result, &target, holds);
    }
}

fn beside_the_same(table: &mut Table, folder: &Folder, world: &World, same: &Expanded<'_>, kind: &Kind) {
    let (mut spellings, mut pairs) = (0, Vec::new());
    for query in &kind.queries {
        let words = world.runtime.block_on(expanded(View::whole(world.snapshot()), &query.text)).unwrap();
        spellings += words.len();
        pairs.push(Pair::of(world, query.arguments(RESULTS), || same.search(&words)));
    }
    let mut ratios: Vec<f64> = pairs.iter().map(|pair| pair.own.as_secs_f64() / pair.peer.as_secs_f64()).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let (median, most) = (at(&ratios, 50), at(&ratios, 95));
    let spellings = spellings as f64 / pairs.len() as f64;
    let result =
        format!("{median:.2} times as long (95% at most {most:.2}), {spellings:.1} spellings; {}", summary(&pairs));
    let holds = (folder.name != "demo").then_some(median <= 1.0 && most <= 1.0);
    let what = format!("{}, beside tantivy for the same words and fields", kind.what);
    table.row(&what, folder.name, &result, "1 times, the median and 95%", holds);
}

/// The times of a query, and how many of the peer's results are among ours.
struct Pair {
    own: Duration,
    peer: Duration,
    found: usize,
    shared: f64,
}

impl Pair {
    fn of(world: &World, arguments: Value, peer: impl Fn() -> Vec<Value>) -> Self {
        let own = || world.call(atlas_tools::entry::<Search>(), &arguments);
        let (value, hits) = (own().0, peer());
        let found = paths(value["results"].as_array().unwrap());
        let shared = paths(&hits).intersection(&found).count() as f64 / hits.len().max(1) as f64;
        // Alternating, so that both run under equal conditions.
        let mut shortest = [Duration::MAX; 2];
        for _ in 0..REPEATS {
            shortest[0] = shortest[0].min(own().1);
            let begun = Instant::now();
            black_box(peer());
            shortest[1] = shortest[1].min(begun.elapsed());
        }
        Self { own: shortest[0], peer: shortest[1], found: found.len(), shared }
    }
}

fn sorted(pairs: &[Pair], time: fn(&Pair) -> Duration) -> Vec<Duration> {
    let mut times: Vec<Duration> = pairs.iter().map(time).collect();
    times.sort_unstable();
    times
}

fn summary(pairs: &[Pair]) -> String {
    let shared = 100.0 * pairs.iter().map(|pair| pair.shared).sum::<f64>() / pairs.len() as f64;
    format!(
        "{}; tantivy {}; {shared:.0}% of its first ten are among ours",
        table::summary(&sorted(pairs, |pair| pair.own)),
        table::summary(&sorted(pairs, |pair| pair.peer)),
    )
}

fn paths(hits: &[Value]) -> HashSet<&str> {
    hits.iter().filter_map(|hit| hit["path"].as_str()).collect()
}
