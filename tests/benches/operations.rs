//! Operations over a store in memory: their time, and their requests to the store. `peers/` has more about `search`.
//!
//! The vaults are `hub` of the folder that `ATLAS_CORPORA` names, and all of its corpora repeated under new paths to
//! 100,000 notes; without it only the demo vault, whose figures mean little. Terms, questions and paths are drawn from
//! the vault with a fixed seed. No result is kept between calls: "warm" means that the index and the text are in the
//! process's cache, "cold" that nothing is.
//!
//!
//! # Layout
//! - [`vault`]: the folders; [`draw`]: the calls, with [`random`].
//! - [`world`]: a published vault and calls to it; [`ripgrep`]: a process of `rg`; [`table`]: the results.
//! - [`access`]: the cost of authentication and access lists.
//! - [`doors`]: the cost of calls through MCP.
//! - [`stores`]: the same over real stores; [`writes`]: the same after many writes; [`moves`]: moves of a note with
//!   many links to it; [`hostile`]: the most expensive single requests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, reason = "a benchmark")]

mod access;
mod commits;
mod doors;
mod draw;
mod hostile;
mod moves;
mod random;
mod ripgrep;
mod stores;
mod table;
mod vault;
mod world;
mod writes;

use std::path::Path;
use std::time::Duration;

use criterion::Criterion;
use serde_json::Value;

use crate::draw::{Calls, Drawn};
use crate::table::Table;
use crate::vault::Folder;
use crate::world::{Asked, World};

const MAX_WAVES: f64 = 3.0;
/// Of ranked searches and queries, which learn more on their way.
const MAX_WAVES_OF_RANKED: f64 = 4.0;
/// The calls whose words are ranked.
const QUESTIONS: &str = "search, one to six words";
const MAX_REQUESTS: f64 = 24.0;
/// Share of the markdown's bytes that a cold `find` may fetch, in percent.
const MAX_SHARE: f64 = 5.0;
/// Repetitions of each call; the median counts.
const REPEATS: usize = 5;

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(1))
        .output_directory(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("criterion"))
        .configure_from_args();
    let mut table = Table::create("operations");
    access::verification(&mut table);
    hostile::measure(&mut table);
    for folder in vault::folders(&["hub", "all"]) {
        let world = World::publish(&folder);
        eprintln!("{}: {} notes, {:.1} MB", folder.name, world.notes, world.markdown as f64 / 1e6);
        let drawn = Drawn::of(&folder);
        access::filtering(&mut table, &folder, &world, &drawn);
        doors::measure(&mut table, &folder, &world, &drawn);
        for calls in &drawn.calls {
            warm(&mut criterion, &mut table, &folder, &world, calls);
        }
        for calls in &drawn.calls {
            cold(&mut table, &folder, &world, calls);
        }
        if folder.name != "demo" {
            beside_ripgrep(&mut table, &folder, &world, &drawn);
        }
        if folder.name != "all" {
            stores::measure(&mut table, &folder, &drawn);
            writes::measure(&mut table, &folder, &world, &drawn);
            commits::measure(&mut table, &folder);
            // It adds notes to the folder.
            moves::measure(&mut table, &folder);
        }
    }
    criterion.final_summary();
}

/// The median and the 95th percentile of warm calls.
fn warm(criterion: &mut Criterion, table: &mut Table, folder: &Folder, world: &World, calls: &Calls) {
    let cycle: Vec<_> = calls.arguments.iter().collect();
    let mut next = cycle.iter().cycle();
    criterion.bench_function(&format!("{}/{}", folder.name, calls.what), |bencher| {
        bencher.iter(|| next.next().map(|arguments| world.call(calls.operation, arguments)));
    });
    let times = times(calls, |arguments| world.call(calls.operation, arguments).1);
    let target = match (calls.operation.info.name, folder.name) {
        ("find", "hub") => Some(Duration::from_millis(1)),
        ("find", "all") | ("atlas_pack", "hub") => Some(Duration::from_millis(10)),
        ("backlinks_search" | "graph_neighbors", "hub") => Some(Duration::from_millis(1)),
        (
            "get_backlinks"
            | "list_tags"
            | "find_notes_by_tag"
            | "list_properties"
            | "find_notes_by_property"
            | "list_tasks",
            "hub",
        ) => Some(Duration::from_millis(2)),
        ("search", "hub") if calls.what == QUESTIONS => Some(Duration::from_millis(2)),
        ("search", "all") if calls.what == QUESTIONS => Some(Duration::from_millis(8)),
        ("query_notes", "hub") if calls.what == "table over a tag" => Some(Duration::from_millis(5)),
        ("query_notes", "hub") => Some(Duration::from_millis(30)),
        ("query_notes", "all") if calls.what == "table over a tag" => Some(Duration::from_millis(50)),
        ("query_notes", "all") => Some(Duration::from_millis(300)),
        ("find_orphans" | "find_unresolved_links", "hub") => Some(Duration::from_millis(20)),
        ("suggest_links" | "graph_path_between", "hub") => Some(Duration::from_millis(5)),
        ("graph_centrality" | "graph_communities", "hub") => Some(Duration::from_millis(150)),
        _ => None,
    };
    let limit = target.map_or(String::new(), |target| format!("median {}", table::duration(target)));
    let holds = target.map(|target| times[times.len() / 2] <= target);
    table.row(&format!("warm {}", calls.what), folder.name, &table::summary(&times), &limit, holds);
}

/// The median time of each call, ascending.
fn times(calls: &Calls, call: impl Fn(&Value) -> Duration) -> Vec<Duration> {
    let median = |arguments| table::median(REPEATS, || call(arguments));
    let mut times: Vec<Duration> = calls.arguments.iter().map(median).collect();
    times.sort_unstable();
    times
}

/// The requests of cold calls to the store, and their median time without the store's.
fn cold(table: &mut Table, folder: &Folder, world: &World, calls: &Calls) {
    let is_ranked = calls.what == QUESTIONS || calls.operation.info.name == "query_notes";
    let most_waves = if is_ranked { MAX_WAVES_OF_RANKED } else { MAX_WAVES };
    let (mut waves, mut requests, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    let mut times = Vec::new();
    for arguments in &calls.arguments {
        let Asked { cold: asked, value, .. } = world.ask(calls.operation, arguments);
        let results = value["results"].as_array().map_or(&[][..], Vec::as_slice);
        let paths: Vec<&str> = results.iter().filter_map(|result| result["path"].as_str()).collect();
        waves.push(asked.waves() as f64);
        requests.push(asked.count() as f64);
        let share = 100.0 * asked.bytes().saturating_sub(world.blocks(&paths)) as f64 / world.markdown as f64;
        shares.push(share);
        let limited = calls.operation.info.name == "find" && folder.name != "demo" && share > MAX_SHARE;
        if asked.waves() as f64 > most_waves || asked.count() as f64 > MAX_REQUESTS || limited {
            eprintln!(
                "  {} waves, {} requests, {share:.1}%, {} results for {arguments}",
                asked.waves(),
                asked.count(),
                paths.len()
            );
        }
        times.push(world.call_cold(calls.operation, arguments));
    }
    times.sort_unstable();
    // The median and the maximum.
    let range = |mut values: Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        (table::at(&values, 50), table::at(&values, 100))
    };
    let (waves, requests, shares) = (range(waves), range(requests), range(shares));
    let limited = calls.operation.info.name == "find" && folder.name != "demo";
    let result = format!(
        "{} waves (at most {}), {} requests ({}), {:.1}% of the markdown ({:.1}%) beside the answer's blocks; {} of work",
        waves.0,
        waves.1,
        requests.0,
        requests.1,
        shares.0,
        shares.1,
        table::duration(times[times.len() / 2]),
    );
    let mut target = format!("at most {most_waves} waves, {MAX_REQUESTS} requests");
    if limited {
        target += &format!(", {MAX_SHARE}%");
    }
    let holds = waves.1 <= most_waves && requests.1 <= MAX_REQUESTS && (!limited || shares.1 <= MAX_SHARE);
    table.row(&format!("cold {}", calls.what), folder.name, &result, &target, Some(holds));
}

/// The time of `rg` for the same, as a multiple, if it is installed.
fn beside_ripgrep(table: &mut Table, folder: &Folder, world: &World, drawn: &Drawn) {
    let root = folder.root.path();
    let rg = |term: &str| ripgrep::time(root, &["--ignore-case", "--fixed-strings", "--glob=*.md"], term);
    if rg("warm").is_none() {
        table.row("`rg` of the same terms", folder.name, ripgrep::MISSING, "", None);
        return;
    }
    for calls in drawn.calls.iter().filter(|calls| calls.operation.info.name == "find") {
        let few = Calls { arguments: calls.arguments.iter().take(10).cloned().collect(), ..calls.clone() };
        let peer = times(&few, |arguments| rg(arguments["term"].as_str().unwrap_or_default()).unwrap_or_default());
        let own = times(&few, |arguments| world.call(calls.operation, arguments).1);
        let (peer, own) = (peer[peer.len() / 2], own[own.len() / 2]);
        let result = format!("{:.0} times as long ({})", peer.as_secs_f64() / own.as_secs_f64(), table::duration(peer));
        table.row(&format!("`rg`, {}", calls.what), folder.name, &result, "", None);
    }
}
