//! Processes that make URLs to attachments.

use std::process::Command;
use std::sync::Arc;

use atlas_mirror::{Mirror, Options, PartCache, Store};
use atlas_ops::Limits;
use atlas_testkit::CountingStore;
use atlas_web::App;

use crate::support::deployment::Client;

/// The mirror in a store.
pub fn mirror_in(place: &Store) -> Mirror {
    let cache = Arc::new(PartCache::new(0));
    Mirror::open(place.clone(), "main".parse().unwrap(), cache, Options::default()).unwrap()
}

/// A cold process of all functions that makes URLs to objects in the store, changed by `change`.
pub fn signing(place: &Store, change: impl FnOnce(App) -> App) -> Client {
    let app = App::over(place.clone(), "main".parse().unwrap(), Limits::default(), 1 << 20).unwrap();
    Client::of(change(app), CountingStore::new(place.inner().clone()))
}

/// The body of a GET of `url`, if it is allowed.
pub fn fetched(url: &str) -> Option<Vec<u8>> {
    let output = Command::new("curl").args(["--silent", "--fail", "--max-time", "30", url]).output().unwrap();
    output.status.success().then_some(output.stdout)
}
