//! Commits a second, by many writers at once: of one process, and each of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use atlas_mirror::{Store, StoreOptions};
use atlas_testkit::real_store::minio;
use atlas_tools::notes::write_note::WriteNote;
use futures::future::join_all;
use object_store::memory::InMemory;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use serde_json::json;

use crate::table::{self, Table};
use crate::vault::Folder;
use crate::world::{World, call};

/// Writers at once.
const WRITERS: [usize; 4] = [1, 4, 16, 64];
/// Commits of all of them together.
const COMMITS: usize = 320;
/// The time of a request to the store in memory.
const LATENCY: Duration = Duration::from_millis(5);
/// The longest that nearly every commit may take.
const MAX_TIME: Duration = Duration::from_secs(1);

/// Adds a row for each store and kind of writers.
pub(crate) fn measure(table: &mut Table, folder: &Folder) {
    let slow = ThrottleConfig {
        wait_get_per_call: LATENCY,
        wait_put_per_call: LATENCY,
        wait_list_per_call: LATENCY,
        ..ThrottleConfig::default()
    };
    let memory = ThrottledStore::new(InMemory::new(), slow);
    let memory = Store::new(Arc::new(memory), "", StoreOptions::default()).unwrap();
    each_kind(table, folder, "memory, 5 ms a request", memory);
    match minio() {
        Some(bucket) => each_kind(table, folder, "MinIO", bucket.fresh()),
        None => table.row("commits a second on MinIO", folder.name, "not run: `make setup-minio` first", "", None),
    }
}

fn each_kind(table: &mut Table, folder: &Folder, place: &str, store: Store) {
    let world = World::publish_to(folder, store);
    for (kind, is_one) in [("of one process", true), ("of as many processes", false)] {
        let runs = WRITERS.map(|writers| run(&world, writers, is_one));
        let result = WRITERS.iter().zip(&runs).map(|(writers, Run { rate, longest, refused })| {
            let refused = if *refused > 0 { format!(", {refused} refused and made again") } else { String::new() };
            format!("{writers}: {rate:.0}, 99% under {}{refused}", table::duration(*longest))
        });
        let result = result.collect::<Vec<_>>().join("; ");
        let ([_, few, _, many], target) = (&runs, "at 64 not less than at 4, 99% under 1 s");
        let holds = many.rate >= few.rate && many.longest <= MAX_TIME;
        table.row(&format!("commits a second, writers {kind}, {place}"), folder.name, &result, target, Some(holds));
    }
}

struct Run {
    /// Commits a second.
    rate: f64,
    /// The time that 99% took at most.
    longest: Duration,
    /// Calls that did not commit before their deadline, or may not have, and were made again.
    refused: usize,
}

fn run(world: &World, writers: usize, is_one: bool) -> Run {
    let processes: Vec<_> =
        (0..writers).map(|_| if is_one { world.warm.clone() } else { world.another_process() }).collect();
    let place = format!("{writers} {is_one}");
    let begun = Instant::now();
    let writer = |(writer, process)| {
        let place = &place;
        async move {
            let (mut took, mut refused) = (Vec::new(), 0);
            for number in 0..COMMITS / writers {
                let note =
                    json!({ "path": format!("{place}/{writer}/{number}.md"), "content": format!("by {writer}") });
                let begun = Instant::now();
                while let Err(error) = call(process, atlas_tools::entry::<WriteNote>(), &note).await {
                    // The latter may have been made: then the note is written over.
                    assert!(["vault_contended", "commit_unknown"].contains(&error.reason()), "{error:?}");
                    refused += 1;
                }
                took.push(begun.elapsed());
            }
            (took, refused)
        }
    };
    let all = world.runtime.block_on(join_all(processes.iter().enumerate().map(writer)));
    let seconds = begun.elapsed().as_secs_f64();
    let refused = all.iter().map(|(_, refused)| refused).sum();
    let mut took: Vec<Duration> = all.into_iter().flat_map(|(took, _)| took).collect();
    took.sort_unstable();
    Run { rate: took.len() as f64 / seconds, longest: took[(took.len() - 1) * 99 / 100], refused }
}
