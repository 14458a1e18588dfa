//! Patterns: compared with `rg`, and with a scan of texts in memory.

use atlas_tools::search::Search;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::queries::{Kind, Query};
use crate::ripgrep;
use crate::scan::{Line, Resident};
use crate::table::{self, Table, at};
use crate::vault::Folder;
use crate::world::World;

/// Repetitions of each call; the median counts.
const REPEATS: usize = 5;
/// Repetitions for slow peers.
const PEER_REPEATS: usize = 3;
/// Queries of a kind for `rg` at 100,000 notes, where it is slow.
const RIPGREPS: usize = 5;
/// The most lines of a page, and the default.
const ALL: usize = 1000;
const PAGE: usize = 50;
/// The least speed-up over `rg`, for the median of selective queries.
const OF_RIPGREP: f64 = 20.0;
/// The least speed-up over the resident scan, at 100,000 notes.
const OF_SCAN: f64 = 5.0;
/// The greatest slow-down compared with the resident scan.
const MAX_OF_SCAN: f64 = 1.5;

/// Selective patterns, with full results: a row for each kind, and one for all of them for each peer.
pub(crate) fn selective(table: &mut Table, folder: &Folder, world: &World, resident: &Resident, kinds: &[Kind]) {
    let (mut of_ripgrep, mut of_scan) = (Vec::new(), Vec::new());
    for kind in kinds {
        let (mut ours, mut ripgreps, mut scans, mut partial) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for (number, query) in kind.queries.iter().enumerate() {
            let own = own(world, query, ALL);
            partial += usize::from(compare(world, resident, query, ALL));
            scans.push((own, scan(resident, query, ALL)));
            if folder.name != "all" || number < RIPGREPS {
                ripgreps.extend(whole_ripgrep(folder, query).map(|peer| (own, peer)));
            }
            ours.push(own);
        }
        ours.sort_unstable();
        let result = format!("{}; {}; {}", table::summary(&ours), beside("`rg`", &ripgreps), beside("scan", &scans));
        table.row(kind.what, folder.name, &(result + &stopped(partial)), "", (partial > 0).then_some(false));
        of_ripgrep.extend(ripgreps);
        of_scan.extend(scans);
    }
    let mut all = |peer: &str, pairs: &[(Duration, Duration)], least: Option<f64>| {
        let target = least.map_or(String::new(), |least| format!("{least} times as long, the median"));
        let holds = least.filter(|_| !pairs.is_empty()).map(|least| at(&ratios(pairs), 50) >= least);
        table.row("selective, all of these", folder.name, &beside(peer, pairs), &target, holds);
    };
    all("`rg`", &of_ripgrep, (folder.name != "all" && folder.name != "demo").then_some(OF_RIPGREP));
    all("scan", &of_scan, (folder.name == "all").then_some(OF_SCAN));
}

/// Patterns that the index hardly narrows: a row for each kind and limit.
pub(crate) fn broad(table: &mut Table, folder: &Folder, world: &World, resident: &Resident, kinds: &[Kind]) {
    for kind in kinds {
        for limit in [PAGE, ALL] {
            let (mut ours, mut scans, mut partial) = (Vec::new(), Vec::new(), 0);
            for query in &kind.queries {
                let own = own(world, query, limit);
                partial += usize::from(compare(world, resident, query, limit));
                ours.push(own);
                scans.push((scan(resident, query, limit), own));
            }
            let slowest = kind.queries.iter().zip(&scans).max_by(|(_, a), (_, b)| ratio(a).total_cmp(&ratio(b)));
            if let Some((query, (scan, own))) = slowest.filter(|(_, pair)| ratio(pair) > MAX_OF_SCAN) {
                eprintln!("  {own:?}, the scan {scan:?}: {:?}, limit {limit}", query.text);
            }
            ours.sort_unstable();
            let ratios = ratios(&scans);
            let (median, most) = (at(&ratios, 50), at(&ratios, 100));
            let result = format!("{}; {median:.2} times the scan (at most {most:.2})", table::summary(&ours));
            let what = format!("{}, limit {limit}", kind.what);
            let is_limited = folder.name != "demo";
            let target = if is_limited { format!("at most {MAX_OF_SCAN} times") } else { String::new() };
            let holds = is_limited.then_some(most <= MAX_OF_SCAN && partial == 0);
            table.row(&what, folder.name, &(result + &stopped(partial)), &target, holds);
        }
    }
}

/// The number of pages that stop before they are full, if any.
fn stopped(partial: usize) -> String {
    if partial > 0 { format!("; {partial} pages stop before they are full") } else { String::new() }
}

fn own(world: &World, query: &Query, limit: usize) -> Duration {
    let arguments = query.arguments(limit);
    table::median(REPEATS, || world.call(atlas_tools::entry::<Search>(), &arguments).1)
}

/// A scan with the same result as the answer: lines as JSON, and whether there are more.
fn scan(resident: &Resident, query: &Query, limit: usize) -> Duration {
    table::median(PEER_REPEATS, || {
        let begun = Instant::now();
        let lines = resident.search(query, limit + 1);
        let shown = lines.iter().take(limit);
        black_box(
            shown.map(|line| json!({ "path": line.path, "line": line.number, "text": line.text })).collect::<Value>(),
        );
        begun.elapsed()
    })
}

fn whole_ripgrep(folder: &Folder, query: &Query) -> Option<Duration> {
    let options: &[&str] = if query.mode == "literal" { &["--fixed-strings"] } else { &[] };
    let rg = || ripgrep::time(folder.root.path(), options, &query.text);
    rg()?;
    Some(table::median(PEER_REPEATS, || rg().unwrap_or_default()))
}

/// The ratio of the second time to the first.
fn ratio((one, other): &(Duration, Duration)) -> f64 {
    other.as_secs_f64() / one.as_secs_f64()
}

/// The ratios of all pairs, ascending.
fn ratios(pairs: &[(Duration, Duration)]) -> Vec<f64> {
    let mut ratios: Vec<f64> = pairs.iter().map(ratio).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    ratios
}

/// The ratio of a peer's time.
fn beside(peer: &str, pairs: &[(Duration, Duration)]) -> String {
    if pairs.is_empty() {
        return format!("{peer} {}", ripgrep::MISSING);
    }
    let mut times: Vec<Duration> = pairs.iter().map(|(_, peer)| *peer).collect();
    times.sort_unstable();
    let ratios = ratios(pairs);
    let (time, [median, tenth]) =
        (table::duration(times[times.len() / 2]), [50, 10].map(|percent| at(&ratios, percent)));
    let digits = usize::from(tenth < 10.0);
    format!("{peer} {time}, {median:.digits$} times as long (10% under {tenth:.digits$})")
}

/// Panics unless a page equals the scan's result; returns whether it stops before it is full.
fn compare(world: &World, resident: &Resident, query: &Query, limit: usize) -> bool {
    let (page, _) = world.call(atlas_tools::entry::<Search>(), &query.arguments(limit));
    let theirs = resident.search(query, limit + 1);
    let ours = page["results"].as_array().expect("results");
    let is_partial = page.get("partial").is_some();
    let expected = if is_partial { ours.len() } else { theirs.len().min(limit) };
    assert_eq!(ours.len(), expected, "{:?}: a different number of lines", query.text);
    for (own, line) in ours.iter().zip(&theirs) {
        assert!(is_same(own, line), "{:?}: {own} is not {}:{} {:?}", query.text, line.path, line.number, line.text);
    }
    let has_more = is_partial || theirs.len() > limit;
    assert_eq!(page.get("cursor").is_some(), has_more, "{:?}: whether there is more", query.text);
    is_partial
}

/// Whether a result is the line, or a part of it with marked cuts.
fn is_same(own: &Value, line: &Line<'_>) -> bool {
    let text = own["text"].as_str().expect("text");
    let is_cut = text.starts_with('…') || text.ends_with('…');
    own["path"] == line.path
        && own["line"] == line.number
        && (text == line.text || (is_cut && line.text.contains(text.trim_matches('…'))))
}
