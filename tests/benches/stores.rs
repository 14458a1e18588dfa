//! The requests of each endpoint to real stores: a folder, and a bucket.

use std::collections::BTreeMap;

use atlas_mirror::Store;
use atlas_mirror::location::{self, Variables};
use atlas_testkit::counting::Requests;
use atlas_testkit::real_store::localstack;

use crate::draw::{Calls, Drawn};
use crate::table::Table;
use crate::vault::Folder;
use crate::world::World;

/// Calls of each kind.
const CALLS: usize = 20;

/// Adds a row for each endpoint on each store.
pub(crate) fn measure(table: &mut Table, folder: &Folder, drawn: &Drawn) {
    let place = tempfile::tempdir().unwrap();
    let url = format!("file://{}", place.path().display());
    each_endpoint(table, folder, drawn, "a folder", location::open(&url, &Variables::default()).unwrap());
    match localstack() {
        Some(bucket) => each_endpoint(table, folder, drawn, "LocalStack's S3", bucket.fresh()),
        None => table.row(
            "each endpoint on LocalStack's S3",
            folder.name,
            "not run: `make setup-localstack` first",
            "",
            None,
        ),
    }
}

fn each_endpoint(table: &mut Table, folder: &Folder, drawn: &Drawn, place: &str, store: Store) {
    let world = World::publish_to(folder, store);
    let mut endpoints: BTreeMap<&str, Vec<&Calls>> = BTreeMap::new();
    for calls in &drawn.calls {
        endpoints.entry(calls.operation.info.name).or_default().push(calls);
    }
    for (endpoint, kinds) in endpoints {
        let (mut cold, mut warm) = (Vec::new(), (0, 0));
        for calls in kinds {
            for arguments in calls.arguments.iter().take(CALLS) {
                let asked = world.ask(calls.operation, arguments);
                if asked.warm.count() > 1 {
                    eprintln!("  a warm {endpoint} of {arguments} on {place}:\n{}", asked.warm);
                }
                cold.push(asked.cold);
                warm = warm.max((asked.warm.count(), asked.warm.bytes()));
            }
        }
        let (requests, bytes) = warm;
        let result = format!("cold {}; warm {requests} request(s), {bytes} bytes", summary(&cold));
        let holds = Some(requests == 1);
        table.row(&format!("`{endpoint}` on {place}"), folder.name, &result, "warm 1 request", holds);
    }
}

/// The median and the maximum of each count.
fn summary(calls: &[Requests]) -> String {
    let range = |count: fn(&Requests) -> u64| {
        let mut counts: Vec<u64> = calls.iter().map(count).collect();
        counts.sort_unstable();
        (counts[counts.len() / 2], counts[counts.len() - 1])
    };
    let waves = range(Requests::waves);
    let requests = range(|requests| requests.count() as u64);
    let bytes = range(|requests| requests.bytes().div_ceil(1000));
    format!(
        "{} waves (at most {}), {} requests ({}), {} kB ({})",
        waves.0, waves.1, requests.0, requests.1, bytes.0, bytes.1
    )
}
