//! `atlas sync` killed while it publishes: readers see the state before or after it, and the next sync completes.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use atlas_testkit::VaultBuilder;
use atlas_testkit::real_store::localstack;
use futures::TryStreamExt as _;
use proptest::prelude::RngExt as _;
use proptest::test_runner::{RngAlgorithm, TestRng};

use crate::support::deployment::Client;
use crate::support::programs::{Place, json_of};
use crate::support::publish::{Files, exported, files};

/// The seed of the times of kills.
const SEED: u8 = 41;
/// Notes of the vault, of about 2 kB each: several text blocks.
const NOTES: usize = 300;
/// One in this many notes changes in a round.
const STEP: usize = 8;

/// A vault that changes from round to round.
struct Vault {
    folder: VaultBuilder,
    files: Files,
}

impl Vault {
    fn new() -> Self {
        let mut vault = Self { folder: VaultBuilder::new(), files: Files::new() };
        for number in 0..NOTES {
            vault.put(&note(number), text(number, 0).into_bytes());
        }
        vault
    }

    fn put(&mut self, path: &str, bytes: Vec<u8>) {
        self.folder.write(path, &bytes);
        self.files.insert(path.to_owned(), bytes);
    }

    /// Changes many notes and an attachment, adds a note and removes the one that was added before.
    fn advance(&mut self, round: usize) {
        for number in numbers(round) {
            self.put(&note(number), text(number, round).into_bytes());
        }
        self.put("images/chart.png", [b"\x89PNG\0", round.to_string().repeat(10_000).as_bytes()].concat());
        self.put(&format!("new {round}.md"), text(NOTES, round).into_bytes());
        if let Some(last) = round.checked_sub(1).map(|last| format!("new {last}.md")) {
            self.folder.remove(&last);
            self.files.remove(&last);
        }
    }
}

/// The numbers of the notes that a round changes.
fn numbers(round: usize) -> impl Iterator<Item = usize> {
    (round % STEP..NOTES).step_by(STEP)
}

/// The notes that contain a round's word once it is published.
fn changed(round: usize) -> BTreeSet<String> {
    numbers(round).map(note).chain([format!("new {round}.md")]).collect()
}

fn note(number: usize) -> String {
    format!("folder {}/note {number}.md", number % 7)
}

fn text(number: usize, round: usize) -> String {
    let line = |line: usize| {
        format!(
            "Line {line} of note {number} as round {round} wrote it: {}\n",
            (line * 7919 + number * 104_729 + round) % 1_000_003
        )
    };
    format!("# Note {number}\n\nWritten in round{round}x.\n\n") + &(0..30).map(line).collect::<String>()
}

/// The state that a reader gets now: all files, the notes that `find` finds by the word of `round`, and the generation.
async fn read(place: &Place, round: usize) -> (Files, BTreeSet<String>, u64) {
    let (files, generation) = exported(&place.mirror(), None).await;
    let found = Client::over(&place.open())
        .find_with(serde_json::json!({ "term": format!("round{round}x"), "max_results": 50 }))
        .await;
    let found = found.into_iter().map(|(path, _, _)| path).collect();
    (files, found, generation)
}

/// The names of all objects in the store.
async fn objects(place: &Place) -> BTreeSet<String> {
    let store = place.open();
    let prefix = object_store::path::Path::parse(store.prefix()).unwrap();
    store.inner().list(Some(&prefix)).map_ok(|object| object.location.to_string()).try_collect().await.unwrap()
}

/// Counts of kills.
#[derive(Debug, Default)]
struct Kills {
    /// Before the sync had ended.
    hits: usize,
    /// Of these, those that left objects in the store without a commit.
    torn: usize,
    /// Of these, those after the commit.
    committed: usize,
}

/// Kills a sync in each of `kills` rounds, at times spread over its duration.
async fn kill(place: &Place, kills: usize) -> Kills {
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &[SEED; 32]);
    let mut vault = Vault::new();
    let mut at = 0;
    // Rounds without kills measure the duration of a sync.
    let mut took = Vec::new();
    let mut came = Kills::default();
    for (round, kill) in [None; 3].into_iter().chain((0..kills).map(Some)).enumerate() {
        let before = vault.files.clone();
        vault.advance(round);
        if let Some(kill) = kill {
            let present = objects(place).await;
            let usual = *took.iter().rev().take(3).min().unwrap();
            let moment = (kill as f64 + random.random_range(0.0..1.0)) / kills as f64;
            let mut sync = place.sync(vault.folder.root());
            let mut running = sync.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::mul_f64(usual, moment));
            running.kill().unwrap();
            let hit = running.wait().unwrap().signal() == Some(9);

            let says = format!("seed {SEED}, round {round}, killed at {moment:.3} of {usual:?}: {hit}");
            let (files, found, generation) = read(place, round).await;
            let after = generation > at;
            assert!(files == if after { vault.files.clone() } else { before }, "{says}, {generation}");
            assert_eq!(found, if after { changed(round) } else { BTreeSet::new() }, "{says}, {generation}");
            assert!(hit || after, "{says}");
            came.hits += usize::from(hit);
            came.torn += usize::from(hit && !after && objects(place).await != present);
            came.committed += usize::from(hit && after);
        }
        let begun = Instant::now();
        let synced = json_of(place.sync(vault.folder.root()).arg("--json"));
        if synced["uploaded_bytes"] != 0 {
            took.push(begun.elapsed());
        }
        // A change committed before the kill is not committed again.
        at += 1;
        assert_eq!(synced["generation"], at, "seed {SEED}, round {round}");
        assert_eq!(place.exports(vault.folder.root()), at);
    }
    println!("seed {SEED}, {kills} kills: {came:?}");
    came
}

/// Kills, in each of `kills` rounds, the sync of another host's folder, which pulls the vault's changes.
fn kill_pulls(place: &Place, kills: usize) -> Kills {
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &[SEED; 32]);
    let (mut vault, other) = (Vault::new(), VaultBuilder::new());
    let pull = || {
        let mut sync = place.atlas("sync");
        sync.arg("--root").arg(other.root()).arg("--state").arg(place.path("other state"));
        sync
    };
    let mut took = Vec::new();
    let mut came = Kills::default();
    for (round, kill) in [None; 3].into_iter().chain((0..kills).map(Some)).enumerate() {
        let before = vault.files.clone();
        vault.advance(round);
        json_of(place.sync(vault.folder.root()).arg("--json"));
        if let Some(kill) = kill {
            let usual = *took.iter().rev().take(3).min().unwrap();
            let moment = (kill as f64 + random.random_range(0.0..1.0)) / kills as f64;
            let mut running = pull().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::mul_f64(usual, moment));
            running.kill().unwrap();
            let hit = running.wait().unwrap().signal() == Some(9);
            let (mut new, mut old) = (0, 0);
            for (path, bytes) in files(other.root()) {
                if path.starts_with(".atlas-mirror/") {
                    continue;
                }
                let is_new = vault.files.get(&path) == Some(&bytes);
                let is_old = before.get(&path) == Some(&bytes);
                assert!(
                    is_new || is_old,
                    "seed {SEED}, round {round}, killed at {moment:.3}: {path} is neither old nor new"
                );
                new += usize::from(is_new && !is_old);
                old += usize::from(is_old && !is_new);
            }
            came.hits += usize::from(hit);
            came.torn += usize::from(hit && new > 0 && old > 0);
        }
        let begun = Instant::now();
        let synced = json_of(pull().arg("--json"));
        took.push(begun.elapsed());
        let says = format!("seed {SEED}, round {round}: {synced}");
        assert_eq!(
            (&synced["pushed"]["added"], &synced["pushed"]["changed"], &synced["pushed"]["removed"]),
            (&0.into(), &0.into(), &0.into()),
            "{says}"
        );
        assert!(synced["conflicts"].is_null() && synced["skipped"].is_null(), "{says}");
        // Unfinished files are removed only when no other host can be writing them.
        let there: Files =
            files(other.root()).into_iter().filter(|(path, _)| !path.starts_with(".atlas-mirror/")).collect();
        assert!(there == vault.files, "{says}");
    }
    println!("seed {SEED}, {kills} kills: {came:?}");
    came
}

#[test]
fn a_sync_into_a_folder_may_be_killed_at_any_moment() {
    let came = kill_pulls(&Place::new(), 30);
    assert!(came.hits >= 10 && came.torn >= 3, "too few of 30 kills came in time: {came:?}");
}

#[test]
fn a_disk_without_room_has_nothing_half_written() {
    let place = Place::new();
    let (vault, other) = (Vault::new(), VaultBuilder::new());
    json_of(place.sync(vault.folder.root()).arg("--json"));
    let mut sync = place.atlas("sync");
    sync.arg("--root").arg(other.root()).arg("--state").arg(place.path("other state")).arg("--json");
    // No file may be larger than the notes, and the picture is.
    let mut limited = std::process::Command::new("bash");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "bash"])
        .arg(sync.get_program())
        .args(sync.get_args());
    vault.folder.write("images/chart.png", &[7; 200_000]);
    json_of(place.sync(vault.folder.root()).arg("--json"));
    let summary = json_of(&mut limited);
    assert_eq!((&summary["waiting"], &summary["pulled"]["added"]), (&1.into(), &NOTES.into()), "{summary}");
    assert_eq!(summary["skipped"][0]["path"], "images/chart.png", "{summary}");
    assert_eq!(files(other.root()), vault.files);
    json_of(&mut sync);
    assert_eq!(files(other.root()), files(vault.folder.root()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_to_a_folder_may_be_killed_at_any_moment() {
    let came = kill(&Place::new(), 50).await;
    assert!(came.hits >= 20 && came.torn >= 5, "too few of 50 kills came in time: {came:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_to_a_bucket_may_be_killed_at_any_moment() {
    if let Some(store) = localstack() {
        let came = kill(&Place::on(store), 6).await;
        assert!(came.hits >= 2, "too few of 6 kills came in time: {came:?}");
    }
}
