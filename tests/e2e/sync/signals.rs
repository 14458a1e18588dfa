//! The host program's reports: exit statuses, the names of files, and instructions after errors.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use atlas_testkit::VaultBuilder;
use serde_json::Value;

use crate::support::deployment::demo;
use crate::support::programs::{Place, json_of, refusal_of, until};

/// The exit status of a command, and what it prints.
fn said(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn a_sync_names_what_it_would_change_and_tells_a_conflict_by_its_exit_status() {
    let place = Place::new();
    let vault = VaultBuilder::new().note("a.md", "a").note("b.md", "b").note("c.md", "c");
    let (status, text) = said(place.sync(vault.root()).arg("--dry-run"));
    assert!(status == Some(0) && text.contains("+ a.md (to the mirror), of 20"), "{status:?} {text}");
    assert_eq!(said(&mut place.sync(vault.root())).0, Some(0));
    // Another host changes the same file.
    let other = VaultBuilder::new();
    let sync_other = || {
        let mut command = place.atlas("sync");
        command.arg("--root").arg(other.root()).arg("--state").arg(place.path("other"));
        command
    };
    assert_eq!(said(&mut sync_other()).0, Some(0));
    other.write("a.md", b"theirs");
    other.write("c.md", b"theirs");
    assert_eq!(said(&mut sync_other()).0, Some(0));
    vault.write("a.md", b"mine");
    vault.remove("b.md");
    let (status, text) = said(&mut place.on_vault("status", vault.root()));
    assert_eq!(status, Some(3));
    for line in ["- b.md (to the mirror)", "~ c.md (to the folder), of 20", "changed on both sides: a.md"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let (status, text) = said(&mut place.sync(vault.root()));
    assert!(status == Some(3) && text.contains("it changed on both sides"), "{status:?} {text}");
    assert_eq!(said(&mut place.sync(vault.root())).0, Some(0), "it is told once");
    assert_eq!(said(place.sync(vault.root()).arg("--no-such-flag")).0, Some(2));
    assert_eq!(said(&mut place.sync(&place.path("nowhere"))).0, Some(1));
}

#[test]
fn a_check_of_the_status_fails_for_a_vault_that_nobody_syncs_any_more() {
    let place = Place::new();
    let vault = VaultBuilder::new().note("a.md", "a");
    let check = || {
        let mut command = place.on_vault("status", vault.root());
        command.arg("--check");
        command
    };
    let (status, text) = said(&mut check());
    assert!(status == Some(1) && text.contains("run `atlas sync`"), "{status:?} {text}");
    assert_eq!(said(&mut place.sync(vault.root())).0, Some(0));
    let told = place.path("store/vaults/main/state/synced");
    let first = std::fs::read(&told).unwrap();
    assert_eq!(said(&mut check()).0, Some(0));
    std::fs::remove_file(&told).unwrap();
    // At most one of the two begins a new interval of five minutes.
    for _ in 0..2 {
        std::fs::remove_file(&told).ok();
        assert_eq!(said(&mut place.sync(vault.root())).0, Some(0));
    }
    assert!(!told.exists(), "it is told again at once");
    // A laptop went to sleep.
    let mut slept: Value = serde_json::from_slice(&first).unwrap();
    slept["time"] = "2020-01-02T03:04:05Z".into();
    std::fs::write(&told, slept.to_string()).unwrap();
    let (status, text) = said(&mut check());
    assert!(status == Some(1) && text.contains("2020-01-02") && text.contains("atlas sync"), "{status:?} {text}");
    assert_eq!(said(&mut place.on_vault("status", vault.root())).0, Some(0), "nothing else fails for it");
}

#[test]
fn what_stops_a_command_names_what_to_change() {
    let place = Place::new();
    for mut command in [place.atlas("log"), place.sync(&demo()), place.atlas("doctor")] {
        let message = refusal_of(command.env("ATLAS_STORRE", "x"));
        assert!(message.contains("ATLAS_STORRE is not a setting"), "{message}");
    }
    let message = refusal_of(&mut place.atlas("log"));
    assert!(
        message.contains("not published") && message.contains(&*place.path("store").to_string_lossy()),
        "{message}"
    );
    // The unit's file names the folder in this way.
    json_of(place.sync(&demo()).env("ATLAS_ROOT", "/srv/vault").arg("--json"));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let message = refusal_of(place.atlas("serve").args(["--addr", &address]));
    assert!(message.contains(&address) && message.contains("--addr"), "{message}");
}

#[test]
fn a_sync_that_follows_ends_well_when_it_is_told_to() {
    let place = Place::new();
    let vault = VaultBuilder::new().note("a.md", "a");
    for signal in ["-INT", "-TERM"] {
        let mut sync = place.sync(vault.root());
        let mut running = sync.args(["--watch", "600"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut printed = BufReader::new(running.stdout.as_mut().unwrap()).lines().map(Result::unwrap);
        assert!(printed.any(|line| line.contains("generation 1: 1 notes")));
        assert!(Command::new("kill").args([signal, &running.id().to_string()]).status().unwrap().success());
        let output = running.wait_with_output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && text.contains("stopping after the sync in hand"), "{signal}: {text}");
    }
}

#[test]
fn a_sync_that_is_interrupted_says_how_far_it_came() {
    let place = Place::new();
    let vault = (0..24_u8)
        .fold(VaultBuilder::new(), |vault, number| vault.file(&format!("{number}.bin"), &vec![number; 4 << 20]));
    let mut sync = place.sync(vault.root());
    let running = sync.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Some of the attachments are in the store.
    let blobs = || std::fs::read_dir(place.path("store/vaults/main/blobs")).map_or(0, Iterator::count);
    until(Duration::from_secs(60), "uploads", || if blobs() > 3 { Ok(()) } else { Err(blobs()) });
    assert!(Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap().success());
    let output = running.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    // A fast machine may be done by then.
    if output.status.code() == Some(1) {
        assert!(text.contains("interrupted while uploading"), "{text}");
        let summary = json_of(place.sync(vault.root()).arg("--json"));
        assert!(summary["uploaded_bytes"].as_u64().unwrap() < (24 - 3) * (4 << 20) + (1 << 20), "{summary}");
    }
    assert_eq!(place.exports(vault.root()), 1);
}
