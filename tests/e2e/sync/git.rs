//! `atlas sync --git`: some of the vault's files on a branch of a Git repository, both ways.

mod names;
mod over_http;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use atlas_testkit::VaultBuilder;
use axum::http::Method;
use serde_json::{Value, json};

use crate::support::deployment::Client;
use crate::support::note_calls::{create, put, send};
use crate::support::programs::{Place, json_of};

/// A bare repository, a person's clone of it, and the folders of hosts that sync one vault.
struct World {
    place: Place,
    /// The address of the repository.
    url: String,
}

/// The output of `git` in `folder`, which must end well.
#[track_caller]
fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    for (name, value) in [("NAME", "Kim"), ("EMAIL", "kim@example.org")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

impl World {
    /// A repository that has what `files` say.
    fn new(files: &[(&str, &str)]) -> Self {
        let place = Place::new();
        let root = place.path("");
        git(&root, &["init", "--quiet", "--bare", "--initial-branch=main", "repository.git"]);
        git(&root, &["clone", "--quiet", "repository.git", "clone"]);
        git(&place.path("clone"), &["symbolic-ref", "HEAD", "refs/heads/main"]);
        let url = place.path("repository.git").to_str().unwrap().to_owned();
        let world = Self { place, url };
        if !files.is_empty() {
            world.commit("Begin", files);
        }
        world
    }

    fn clone(&self) -> PathBuf {
        self.place.path("clone")
    }

    /// Kim commits and pushes, on top of what is there.
    fn commit(&self, subject: &str, files: &[(&str, &str)]) {
        self.pull();
        for (path, text) in files {
            let path = self.clone().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        git(&self.clone(), &["add", "--all"]);
        git(&self.clone(), &["commit", "--quiet", "--allow-empty", "--message", subject]);
        git(&self.clone(), &["push", "--quiet", "origin", "HEAD:main"]);
    }

    /// Kim's clone gets what the repository has.
    fn pull(&self) {
        git(&self.clone(), &["fetch", "--quiet", "origin"]);
        let heads = git(&self.clone(), &["ls-remote", "--heads", "origin", "main"]);
        if !heads.is_empty() {
            git(&self.clone(), &["reset", "--quiet", "--hard", "origin/main"]);
        }
    }

    /// The repository's text at `path`.
    fn text(&self, path: &str) -> String {
        self.pull();
        fs::read_to_string(self.clone().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// The newest commits, with what `format` says.
    fn log(&self, format: &str) -> Vec<String> {
        self.pull();
        let log = git(&self.clone(), &["log", &format!("--format={format}"), "main"]);
        log.lines().map(str::to_owned).collect()
    }

    /// One sync of a host with its own state.
    fn command(&self, host: &str, root: &Path, more: &[&str]) -> Command {
        let mut command = self.place.atlas("sync");
        command.arg("--root").arg(root).arg("--state").arg(self.place.path(host)).args(["--join", "--json"]);
        command.args(["--git", &self.url, "--git-path", "**/adr/**"]).args(more);
        command
    }

    #[track_caller]
    fn sync(&self, host: &str, vault: &VaultBuilder) -> Value {
        json_of(&mut self.command(host, vault.root(), &[]))
    }
}

fn read(vault: &VaultBuilder, path: &str) -> String {
    fs::read_to_string(vault.root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A vault with decisions in `adr`, and other notes.
fn vault() -> VaultBuilder {
    let vault = VaultBuilder::new().note("adr/1.md", "# 1. Use boats\n").note("diary.md", "# Private\n");
    vault.note("a.md", "a").note("b.md", "b")
}

#[test]
fn each_side_gets_the_others_changes_and_nothing_else() {
    let world =
        World::new(&[("adr/0.md", "# 0. Template\n"), ("src/main.rs", "fn main() {}\n"), ("run.sh", "#!/bin/sh\n")]);
    let vault = vault();
    let first = world.sync("host", &vault);
    assert_eq!((&first["git"]["taken"], &first["git"]["commits"]), (&json!(1), &json!(1)), "{first}");
    assert_eq!(read(&vault, "adr/0.md"), "# 0. Template\n");
    assert_eq!(world.text("adr/1.md"), "# 1. Use boats\n");
    assert_eq!(git(&world.clone(), &["ls-files"]), "adr/0.md\nadr/1.md\nrun.sh\nsrc/main.rs\n");
    // An edit of each side, and a removal of each.
    world.commit("Decide on boats", &[("adr/1.md", "# 1. Use boats\n\nDecided.\n"), ("adr/2.md", "# 2\n")]);
    vault.write("adr/0.md", b"# 0. A better template\n");
    let second = world.sync("host", &vault);
    assert_eq!((&second["git"]["taken"], &second["git"]["commits"]), (&json!(2), &json!(1)), "{second}");
    assert_eq!(read(&vault, "adr/1.md"), "# 1. Use boats\n\nDecided.\n");
    assert_eq!(world.text("adr/0.md"), "# 0. A better template\n");
    let log = json_of(world.place.atlas("log").arg("--json"));
    let taken = log["commits"].as_array().unwrap_or_else(|| log.as_array().unwrap()).iter();
    let taken = taken.filter(|commit| commit["author"] == "Kim").map(|commit| commit["message"].as_str().unwrap());
    assert!(taken.clone().any(|message| message.ends_with("Decide on boats")), "{log}");
    vault.remove("adr/2.md");
    world.pull();
    git(&world.clone(), &["rm", "--quiet", "adr/0.md"]);
    git(&world.clone(), &["commit", "--quiet", "--message", "No template"]);
    git(&world.clone(), &["push", "--quiet", "origin", "HEAD:main"]);
    world.sync("host", &vault);
    assert!(!vault.root().join("adr/0.md").exists());
    world.pull();
    assert_eq!(git(&world.clone(), &["ls-files"]), "adr/1.md\nrun.sh\nsrc/main.rs\n");
    // Nothing is left to do, on either side.
    let [head, quiet] = [(); 2].map(|()| (world.sync("host", &vault), world.log("%H")));
    assert_eq!((&head.0["generation"], &head.1), (&quiet.0["generation"], &quiet.1));
}

#[tokio::test]
async fn a_commit_of_an_agent_has_its_name_operation_and_reason() {
    let world = World::new(&[]);
    let vault = vault();
    world.sync("host", &vault);
    let agent = Client::over(&world.place.open());
    let edits = json!([{"op": "append", "text": "Decided.\n"}]);
    let edit = json!({"edits": edits, "message": "asked by <mail>"});
    send(&agent, Method::PATCH, "adr/1.md", &[], edit).await.ok();
    send(&agent, Method::PATCH, "diary.md", &[], json!({ "edits": edits })).await.ok();
    assert_eq!(create(&agent, "adr/2.md", "# 2\n").await.status, 201);
    world.sync("host", &vault);
    let log = world.log("%an|%s|%(trailers:key=Atlas-Operation,valueonly,separator=%x2C)|%(trailers:key=Atlas-Generation,valueonly,separator=%x2C)");
    assert_eq!(log[..2], ["anonymous|write_note adr/2.md|write_note|4", "anonymous|asked by <mail>|edit_note|2"]);
}

#[test]
fn changes_that_do_not_meet_are_merged_and_a_conflict_waits_in_the_vault() {
    let text = |one: &str, two: &str| format!("# 1\n\n## Why\n\n{one}\n\n## What\n\n{two}\n");
    let world = World::new(&[("adr/1.md", &text("-", "-"))]);
    let vault = VaultBuilder::new().note("a.md", "a").note("b.md", "b");
    world.sync("host", &vault);
    vault.write("adr/1.md", text("Because.", "-").as_bytes());
    world.commit("Say what", &[("adr/1.md", &text("-", "Boats."))]);
    world.sync("host", &vault);
    assert_eq!(world.text("adr/1.md"), text("Because.", "Boats."));
    assert_eq!(read(&vault, "adr/1.md"), text("Because.", "Boats."));
    // The same line, on both sides.
    vault.write("adr/1.md", text("Because.", "Ferries.").as_bytes());
    world.commit("Say it differently", &[("adr/1.md", &text("Because.", "Rafts."))]);
    let output = world.command("host", vault.root(), &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let names: Vec<_> =
        fs::read_dir(vault.root().join("adr")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let names: Vec<_> = names.iter().map(|name| name.to_str().unwrap()).collect();
    let copy = names.iter().find(|name| name.contains("(conflict ")).unwrap_or_else(|| panic!("{names:?}"));
    let both = [read(&vault, "adr/1.md"), read(&vault, &format!("adr/{copy}"))];
    assert!(both.iter().any(|text| text.contains("Ferries.")) && both.iter().any(|text| text.contains("Rafts.")));
    world.pull();
    assert_eq!(git(&world.clone(), &["ls-files"]), "adr/1.md\n");
    assert!(git(&world.clone(), &["log", "--format=%s", "main"]).contains("Say it differently"));
}

#[test]
fn a_repository_that_is_away_stops_no_sync_and_gets_all_later() {
    let world = World::new(&[("adr/0.md", "# 0\n")]);
    let vault = vault();
    world.sync("host", &vault);
    let [here, away] = ["repository.git", "away.git"].map(|name| world.place.path(name));
    fs::rename(&here, &away).unwrap();
    vault.write("adr/1.md", b"# 1. Use ferries\n");
    let output = world.command("host", vault.root(), &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(summary["git"]["error"].as_str().unwrap().starts_with("git ls-remote: fatal:"), "{summary}");
    assert_eq!(summary["pushed"]["changed"], 1);
    fs::rename(&away, &here).unwrap();
    world.commit("Meanwhile", &[("adr/0.md", "# 0. Meanwhile\n")]);
    world.sync("host", &vault);
    assert_eq!(
        (world.text("adr/1.md"), read(&vault, "adr/0.md")),
        ("# 1. Use ferries\n".into(), "# 0. Meanwhile\n".into())
    );
}

#[test]
fn a_branch_that_lost_its_files_is_not_followed() {
    let files: Vec<(String, String)> = (0..60).map(|n| (format!("adr/{n}.md"), format!("# {n}\n"))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let world = World::new(&files);
    let vault = VaultBuilder::new().note("a.md", "a").note("b.md", "b");
    world.sync("host", &vault);
    fs::remove_dir_all(world.clone().join("adr")).unwrap();
    git(&world.clone(), &["commit", "--quiet", "--all", "--message", "Oops"]);
    git(&world.clone(), &["push", "--quiet", "origin", "HEAD:main"]);
    let output = world.command("host", vault.root(), &[]).output().unwrap();
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(summary["git"]["error"].as_str().is_some_and(|error| !error.is_empty()), "{summary}");
    assert_eq!(fs::read_dir(vault.root().join("adr")).unwrap().count(), 60);
    // A person may want it.
    json_of(&mut world.command("host", vault.root(), &["--allow-mass-delete"]));
    assert!(!vault.root().join("adr/0.md").exists());
}

#[test]
fn what_is_not_pushed_waits_in_the_clone() {
    let world = World::new(&[("adr/0.md", "# 0\n")]);
    let vault = vault();
    let never = ["--git-push", "never"];
    json_of(&mut world.command("host", vault.root(), &never));
    assert_eq!(world.log("%s"), ["Begin"]);
    vault.write("adr/1.md", b"# 1. Use ferries\n");
    json_of(&mut world.command("host", vault.root(), &never));
    let kept = world.place.path("host/git/repository.git");
    git(&kept, &["push", "--quiet", &world.url, "main"]);
    assert_eq!(world.log("%s").len(), 3);
    assert_eq!(world.text("adr/1.md"), "# 1. Use ferries\n");
    world.commit("Later", &[("adr/0.md", "# 0. Later\n")]);
    json_of(&mut world.command("host", vault.root(), &never));
    assert_eq!(read(&vault, "adr/0.md"), "# 0. Later\n");
}

#[test]
fn wrong_options_are_refused_before_anything_happens() {
    let world = World::new(&[]);
    let vault = vault();
    for (options, says) in [
        (&["--git-branch", "a..b"][..], "--git-branch"),
        (&["--git-author", "Ida"], "Name <address>"),
        (&["--git-path", "a["], "\"a[\""),
        (&["--git", "ext::sh -c true"], "'ext' not allowed"),
    ] {
        let mut command = world.place.atlas("sync");
        command.arg("--root").arg(vault.root()).arg("--state").arg(world.place.path("state"));
        if options[0] != "--git" {
            command.args(["--git", &world.url]);
        }
        if options[0] != "--git-path" {
            command.args(["--git-path", "**/adr/**"]);
        }
        let output = command.args(options).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() != Some(0) && said.contains(says), "{options:?}: {said}");
    }
}

/// A text with a part for each writer, far enough from the others that changes never meet.
fn shared() -> String {
    ["north", "south", "agent", "git"].map(|writer| format!("## {writer}\n\n-\n-\n-\n\n")).concat()
}

fn with_line(text: &str, writer: &str, line: &str) -> String {
    text.replacen(&format!("## {writer}\n\n"), &format!("## {writer}\n\n{line}\n"), 1)
}

#[tokio::test]
async fn two_hosts_an_agent_and_git_converge_and_nothing_echoes() {
    const ROUNDS: usize = 50;
    let mut drawn = 7_u64;
    let mut below = |limit: usize| {
        drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (drawn >> 33) as usize % limit
    };
    let world = World::new(&[]);
    let [north, south] = [VaultBuilder::new(), VaultBuilder::new()];
    let paths = ["adr/1.md", "adr/2.md", "work/adr/3.md"];
    for path in paths {
        north.write(path, shared().as_bytes());
    }
    north.write("diary.md", b"# Private\n");
    world.sync("north", &north);
    world.sync("south", &south);
    let mut lines = Vec::new();
    for round in 0..ROUNDS {
        let path = paths[below(paths.len())];
        let writer = ["north", "south", "agent", "git"][below(4)];
        let line = format!("{writer} said {round}");
        match writer {
            "agent" => {
                let agent = Client::over(&world.place.open());
                let note = agent.get(&format!("/notes/{path}")).await;
                let text = with_line(note.ok()["content"].as_str().unwrap(), writer, &line);
                let etag = note.header("etag").unwrap();
                put(&agent, path, &[("if-match", etag)], json!({ "content": text })).await.ok();
            }
            "git" => {
                let text = with_line(&world.text(path), writer, &line);
                world.commit(&line, &[(path, &text)]);
            }
            host => {
                let vault = if host == "north" { &north } else { &south };
                vault.write(path, with_line(&read(vault, path), writer, &line).as_bytes());
            }
        }
        lines.push((path, line));
        match below(4) {
            0 => drop(world.sync("north", &north)),
            1 => drop(world.sync("south", &south)),
            _ => {}
        }
    }
    for _ in 0..3 {
        for summary in [world.sync("north", &north), world.sync("south", &south)] {
            assert!(summary["conflicts"].is_null() && summary["git"]["conflicts"].is_null(), "{summary}");
        }
    }
    for (path, line) in &lines {
        for text in [read(&north, path), read(&south, path), world.text(path)] {
            assert_eq!(text.matches(&format!("{line}\n")).count(), 1, "{path}: {line}\n{text}");
        }
    }
    for path in paths {
        assert_eq!([read(&north, path), read(&south, path)], [world.text(path), world.text(path)]);
    }
    let quiet = (world.sync("north", &north)["generation"].clone(), world.log("%H"));
    for host in ["south", "north", "south"] {
        let vault = if host == "north" { &north } else { &south };
        assert_eq!((world.sync(host, vault)["generation"].clone(), world.log("%H")), quiet);
    }
    world.pull();
    assert_eq!(git(&world.clone(), &["ls-files"]), "adr/1.md\nadr/2.md\nwork/adr/3.md\n");
}
