//! A vault of a million notes, which `big.py` published into the folder `store` of the one that `ATLAS_BIG` names: the corpora
//! repeated. Words and patterns are drawn from one copy, so that what is in one note there is in one of each copy here.
//!
//! Cold calls are counted: each in a new process. Warm ones are timed by the clock of the handler, and counted in another process,
//! both after all of them were made once; so the cache holds what many calls need, and not what one needs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, reason = "a benchmark")]

#[path = "../draw.rs"]
#[allow(dead_code, reason = "the other benchmarks use the rest")]
mod draw;
#[allow(dead_code, reason = "the other benchmarks use the rest")]
mod queries;
#[path = "../random.rs"]
mod random;
#[allow(dead_code, reason = "the other benchmarks use the rest")]
mod scan;
#[path = "../table.rs"]
mod table;
#[path = "../vault.rs"]
mod vault;
#[path = "../world.rs"]
#[allow(dead_code, reason = "the other benchmarks use the rest")]
mod world;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use atlas_mirror::Store;
use atlas_mirror::location::{self, Variables};
use atlas_testkit::counting::Requests;
use atlas_tools::notes::read_note::ReadNote;
use atlas_tools::search::Search;
use serde_json::{Value, json};

use crate::draw::Calls;
use crate::scan::Resident;
use crate::table::{Table, at, duration, summary};
use crate::vault::Folder;
use crate::world::World;

const VAULT: &str = "1 M notes";
/// What is looked for, and how many of each kind.
const FINDS: [&str; 5] =
    ["find, rare word", "find, common word", "find, absent word", "find, two words", "find, two letters"];
const OF_FIND: usize = 20;
const SEARCH: &str = "search, one to six words";
/// Most waves, requests and kilobytes of 99 of 100 cold calls.
const OF_WORDS: [f64; 3] = [4.0, 32.0, 8e3];
const OF_PATTERNS: [f64; 3] = [5.0, 64.0, f64::INFINITY];
/// What a cold read may fetch of the manifest, in kilobytes.
const MAX_OF_MANIFEST: f64 = 64.0;
/// The caches, and the median of warm calls in them.
const CACHES: [(usize, &str, Duration); 2] =
    [(256 << 20, "256 MB", Duration::from_millis(10)), (1 << 30, "1 GB", Duration::from_millis(5))];
const WARM_PATTERN: Duration = Duration::from_millis(40);
/// One of so many calls is made warm.
const WARM: usize = 2;
/// Patterns, and the lines that are asked for.
const PATTERNS: usize = 50;
const LINES: usize = 50;

fn main() {
    let Some(place) = std::env::var_os("ATLAS_BIG").map(PathBuf::from) else {
        eprintln!("ATLAS_BIG is not set, so nothing is measured: `make bench BIG=1` sets it");
        return;
    };
    let store = location::open(&format!("file://{}", place.join("store").display()), &Variables::default()).unwrap();
    let mut table = Table::create("big");
    let world = World::over(store.clone(), CACHES[1].0);
    let segments = world.snapshot().segments().len();
    eprintln!("{} notes, {:.1} MB, {segments} segments", world.notes, world.markdown as f64 / 1e6);
    let folder = vault::folders(&["corpora"]).remove(0);
    let drawn = draw::Drawn::of(&folder);
    let of = |what: &str| drawn.calls.iter().find(|calls| calls.what == what).unwrap().clone();
    // Of all kinds in turn, so that every second one is of all kinds too.
    let finds = FINDS.map(|what| of(what).arguments);
    let finds = (0..OF_FIND).flat_map(|at| finds.iter().map(move |arguments| arguments[at].clone())).collect();
    let kinds = [Calls { what: "find, terms of five kinds", arguments: finds, ..of(FINDS[0]) }, of(SEARCH)];
    let patterns = patterns(&folder);
    manifest(&mut table, &world, &folder);
    kinds.iter().for_each(|calls| cold(&mut table, &world, calls, OF_WORDS));
    cold(&mut table, &world, &patterns, OF_PATTERNS);
    drop(world);
    for cache in CACHES {
        warm(&mut table, &store, &kinds, cache);
        warm(&mut table, &store, std::slice::from_ref(&patterns), (cache.0, cache.1, WARM_PATTERN));
    }
}

/// Patterns that match in one note of each copy, of all kinds alike.
fn patterns(folder: &Folder) -> Calls {
    let resident = Resident::of_folder(folder);
    let kinds = queries::Drawn::of(folder, &resident).selective;
    let most = kinds.iter().map(|kind| kind.queries.len()).max().unwrap_or(0);
    let all = (0..most).flat_map(|at| kinds.iter().filter_map(move |kind| kind.queries.get(at)));
    let selective = all.filter(|query| query.mode == "regex" && resident.matching(query, 2) == 1);
    let arguments = selective.take(PATTERNS).map(|query| query.arguments(LINES)).collect();
    Calls { what: "selective regex", operation: atlas_tools::entry::<Search>(), arguments }
}

/// The bytes of the manifest that a cold read fetches, beside all that it fetches.
fn manifest(table: &mut Table, world: &World, folder: &Folder) {
    let path = format!("copy 0/{}", folder.notes.iter().find(|path| path.starts_with("hub/")).unwrap());
    let asked = world.ask(atlas_tools::entry::<ReadNote>(), &json!({ "path": path })).cold;
    let is_of_segment = |key: &str| key.contains("/segments/");
    let of_manifest = asked.0.iter().filter(|request| !is_of_segment(&request.key)).map(|request| request.bytes);
    let fetched = of_manifest.sum::<u64>() as f64 / 1e3;
    let result =
        format!("{fetched:.0} kB; {} requests, {:.0} kB with the rest", asked.count(), asked.bytes() as f64 / 1e3);
    let target = format!("at most {MAX_OF_MANIFEST} kB");
    table.row("what a cold read fetches of the manifest", VAULT, &result, &target, Some(fetched <= MAX_OF_MANIFEST));
}

/// The requests of cold calls to the store, and their time with a millisecond for each wave.
fn cold(table: &mut Table, world: &World, calls: &Calls, most: [f64; 3]) {
    let (mut counts, mut times) = (<[Vec<f64>; 3]>::default(), Vec::new());
    for arguments in &calls.arguments {
        let (counting, process) = world.counted(CACHES[1].0);
        let begun = Instant::now();
        world.runtime.block_on(world::call(&process, calls.operation, arguments)).unwrap();
        times.push(begun.elapsed());
        let asked = counting.take();
        let own = [asked.waves() as f64, asked.count() as f64, asked.bytes() as f64 / 1e3];
        if own.iter().zip(most).any(|(own, most)| *own > most) {
            eprintln!("  {} waves, {} requests, {:.0} kB for {arguments}", own[0], own[1], own[2]);
        }
        counts.iter_mut().zip(own).for_each(|(counts, own)| counts.push(own));
    }
    times.sort_unstable();
    let [waves, requests, bytes] = counts.each_mut().map(spread);
    let result = format!("{waves} waves, {requests} requests, {bytes} kB; {}", summary(&times));
    let holds = counts.iter().zip(most).all(|(counts, most)| at(counts, 99) <= most);
    let bytes = if most[2].is_finite() { format!(", {:.0} MB", most[2] / 1e3) } else { String::new() };
    let target = format!("99%: {} waves, {} requests{bytes}", most[0], most[1]);
    table.row(&format!("cold {}", calls.what), VAULT, &result, &target, Some(holds));
}

/// Ascending values: their median, 99th percentile, and maximum.
fn spread(values: &mut Vec<f64>) -> String {
    values.sort_unstable_by(f64::total_cmp);
    format!("{:.0} (99% at most {:.0}, all {:.0})", at(values, 50), at(values, 99), at(values, 100))
}

/// Times and requests of warm calls.
#[derive(Default)]
struct Round {
    times: Vec<Duration>,
    requests: Vec<f64>,
}

impl Round {
    fn add(&mut self, time: Duration, requests: &Requests) {
        self.times.push(time);
        self.requests.push(requests.count() as f64);
    }

    fn text(&mut self) -> String {
        self.times.sort_unstable();
        format!("{}, {} requests", summary(&self.times), spread(&mut self.requests))
    }
}

/// Calls in a process that has made all of them before, and each of them again at once: their times, and their requests.
fn warm(table: &mut Table, store: &Store, kinds: &[Calls], (cache, name, most): (usize, &str, Duration)) {
    let world = World::over(store.clone(), cache);
    let (counting, counted) = world.counted(cache);
    let make = |calls: &Calls, arguments: &Value| {
        let (_, time) = world.call(calls.operation, arguments);
        world.runtime.block_on(world::call(&counted, calls.operation, arguments)).unwrap();
        (time, counting.take())
    };
    let made = |calls: &Calls| calls.arguments.iter().step_by(WARM).cloned().collect::<Vec<_>>();
    for calls in kinds {
        made(calls).iter().for_each(|arguments| drop(make(calls, arguments)));
    }
    for calls in kinds {
        let (mut in_turn, mut at_once) = (Round::default(), Round::default());
        for arguments in made(calls) {
            for round in [&mut in_turn, &mut at_once] {
                let (time, requests) = make(calls, &arguments);
                round.add(time, &requests);
            }
        }
        let result = format!("{}; repeated at once {}", in_turn.text(), at_once.text());
        let holds = in_turn.times[in_turn.times.len() / 2] <= most && at(&at_once.requests, 100) <= 1.0;
        let target = format!("median {}; repeated, 1 request", duration(most));
        table.row(&format!("warm {}, {name} of cache", calls.what), VAULT, &result, &target, Some(holds));
    }
}
