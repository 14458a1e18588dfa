//! `atlas sync --relink`: links follow the files that a person moves in the folder.

use std::fs;

use atlas_testkit::VaultBuilder;
use axum::http::Method;
use serde_json::{Value, json};

use crate::support::deployment::Client;
use crate::support::note_calls::send;
use crate::support::programs::{Place, json_of};

/// A folder that is synced, in which a person moves files.
struct World {
    place: Place,
    vault: VaultBuilder,
}

impl World {
    fn new(vault: VaultBuilder) -> Self {
        let world = Self { place: Place::new(), vault };
        let first = world.sync();
        assert_eq!(first["relinked"], Value::Null, "{first}");
        world
    }

    #[track_caller]
    fn sync(&self) -> Value {
        self.sync_with(&["--relink"])
    }

    #[track_caller]
    fn sync_with(&self, options: &[&str]) -> Value {
        json_of(self.place.sync(self.vault.root()).arg("--json").args(options))
    }

    fn rename(&self, from: &str, to: &str) {
        let to = self.vault.path(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(self.vault.path(from), to).unwrap();
        // A folder with nothing in it is in no mirror.
        if let Some((folder, _)) = from.rsplit_once('/') {
            let _ = fs::remove_dir(self.vault.path(folder));
        }
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.vault.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// The mirror has what the folder has, and another sync does nothing.
    #[track_caller]
    fn is_at_rest(&self) {
        let generation = self.place.exports(self.vault.root());
        for _ in 0..2 {
            let idle = self.sync();
            let all: Vec<&Value> =
                ["pushed", "pulled"].iter().flat_map(|side| idle[side].as_object().unwrap().values()).collect();
            assert!(all.iter().all(|count| **count == 0), "{idle}");
            assert_eq!((&idle["generation"], &idle["relinked"]), (&generation.into(), &Value::Null), "{idle}");
        }
    }
}

/// The numbers of moved files, links and notes.
fn counts(summary: &Value) -> [u64; 3] {
    ["moved", "links", "notes"].map(|name| summary["relinked"][name].as_u64().unwrap_or_default())
}

const HARBOUR: &str = "# Harbour\n\nThe old pier at the north end.\n";

#[tokio::test]
async fn links_follow_a_note_that_is_renamed() {
    let log = "See [[Harbour]], [[Harbour#Pier|the pier]] and [it](Harbour.md#pier).\n\n`[[Harbour]]` stays.\n";
    let world = World::new(
        VaultBuilder::new().note("Harbour.md", HARBOUR).note("log/monday.md", log).note("other.md", "[[Else]]\n"),
    );
    world.rename("Harbour.md", "places/Port.md");
    let summary = world.sync();
    assert_eq!(counts(&summary), [1, 3, 1], "{summary}");
    let expected = "See [[Port]], [[Port#Pier|the pier]] and [it](Port.md#pier).\n\n`[[Harbour]]` stays.\n";
    assert_eq!(world.read("log/monday.md"), expected);
    let mirror = world.place.mirror();
    let head = mirror.head().await.unwrap();
    let manifest = head.manifest();
    assert_eq!((manifest.operation.as_str(), manifest.changes.sum()), ("relink_moved", 1));
    assert_eq!(manifest.message.as_deref(), Some("links follow what was moved: Harbour.md to places/Port.md"));
    let before = mirror.at(head.generation() - 1).await.unwrap().unwrap();
    assert_eq!(before.manifest().operation, "sync", "the move is a commit of its own");
    world.is_at_rest();
}

#[test]
fn links_stay_unless_that_is_asked_for() {
    let world = World::new(VaultBuilder::new().note("Harbour.md", HARBOUR).note("log.md", "[[Harbour]]\n"));
    world.rename("Harbour.md", "Port.md");
    let summary = world.sync_with(&[]);
    assert_eq!((&summary["relinked"], world.read("log.md")), (&Value::Null, "[[Harbour]]\n".to_owned()));
}

#[test]
fn an_interrupted_sync_leaves_the_links_to_the_next_one() {
    let world = World::new(VaultBuilder::new().note("Harbour.md", HARBOUR).note("log.md", "[[Harbour]]\n"));
    world.rename("Harbour.md", "Port.md");
    // A sync that is killed after its commit leaves this.
    world.sync_with(&[]);
    let summary = world.sync();
    assert_eq!((counts(&summary), world.read("log.md")), ([1, 1, 1], "[[Port]]\n".to_owned()));
    world.is_at_rest();
}

#[test]
fn links_follow_a_folder_with_all_that_is_in_it() {
    let mut vault = VaultBuilder::new()
        .note("index.md", "[[old/n07]] [[n08]] [x](old/sub/n09.md) ![[old/pier.png]] [[old/blank]]\n")
        .file("old/pier.png", b"\x89PNG pier")
        .note("old/blank.md", "")
        .note("new/n01.md", "# Another\n");
    for number in 0..60 {
        let folder = if number == 9 { "old/sub" } else { "old" };
        let text = format!(
            "# Note {number}\n\n[up](../index.md) [[old/n{:02}]] [[n{:02}]] [p](./pier.png)\n",
            (number + 1) % 9,
            (number + 2) % 9
        );
        vault = vault.note(&format!("{folder}/n{number:02}.md"), &text);
    }
    let world = World::new(vault);
    world.rename("old", "new/deep");
    let summary = world.sync_with(&["--relink", "--allow-mass-delete"]);
    assert_eq!(counts(&summary)[0], 62, "{summary}");
    assert_eq!(
        world.read("index.md"),
        "[[new/deep/n07]] [[n08]] [x](new/deep/sub/n09.md) ![[new/deep/pier.png]] [[new/deep/blank]]\n"
    );
    // A name that another note has too means it no more from elsewhere, but it does from beside it.
    let moved = world.read("new/deep/n05.md");
    assert_eq!(moved, "# Note 5\n\n[up](../../index.md) [[new/deep/n06]] [[n07]] [p](./pier.png)\n");
    assert_eq!(summary["relinked"]["left"], Value::Null, "{summary}");
    world.is_at_rest();
}

#[test]
fn nothing_follows_where_it_is_not_sure_what_was_moved() {
    let twin = "# Twin\n\nOne of two.\n";
    let vault = VaultBuilder::new().note("a.md", twin).note("b.md", twin).note("gone.md", HARBOUR);
    let world = World::new(vault.note("log.md", "[[a]] [[b]] [[gone]] [[kept]]\n").note("kept.md", "# Kept\n"));
    world.rename("a.md", "c.md");
    world.rename("b.md", "d.md");
    // A note that has little of the one that went.
    fs::remove_file(world.vault.path("gone.md")).unwrap();
    world.vault.write("new.md", b"# Harbour\n\nAnother text, about the lighthouse and its keeper.\n");
    let summary = world.sync_with(&["--relink", "--allow-mass-delete"]);
    assert_eq!(summary["relinked"], Value::Null, "{summary}");
    assert_eq!(world.read("log.md"), "[[a]] [[b]] [[gone]] [[kept]]\n");
    world.is_at_rest();
    // Equal notes are told apart by their names.
    world.rename("c.md", "places/c.md");
    world.rename("d.md", "places/d.md");
    world.vault.write("log.md", b"[x](c.md) [y](d.md)\n");
    let summary = world.sync_with(&["--relink", "--allow-mass-delete"]);
    assert_eq!(counts(&summary), [2, 0, 0], "markdown links find them by name: {summary}");
    world.is_at_rest();
}

#[test]
fn names_that_several_notes_have_are_told_apart_by_their_folders() {
    let vault = VaultBuilder::new()
        .note("x/Plan.md", "# The plan of x\n\nBoats first.\n")
        .note("z/Plan.md", "# The plan of z\n\nNets first.\n")
        .note("log.md", "[[x/Plan]] [[z/Plan]]\n")
        .note("z/beside.md", "[[Plan]]\n");
    let world = World::new(vault);
    world.rename("x/Plan.md", "y/Plan.md");
    assert_eq!(counts(&world.sync()), [1, 1, 1]);
    assert_eq!(world.read("log.md"), "[[y/Plan]] [[z/Plan]]\n");
    assert_eq!(world.read("z/beside.md"), "[[Plan]]\n");
    world.is_at_rest();
    // The moved note takes the name of another one: links to that keep their meaning, but not in a note that was saved since.
    world.vault.write("new.md", b"[[Nets]]\n");
    world.vault.write("old.md", b"[[Nets]]\n");
    world.vault.write("deep/Nets.md", b"# Nets\n\nIn the shed.\n");
    world.sync();
    world.rename("y/Plan.md", "Nets.md");
    world.vault.write("new.md", b"[[Nets]] and more\n");
    assert_eq!(counts(&world.sync()), [1, 2, 2]);
    assert_eq!(
        (world.read("old.md"), world.read("new.md")),
        ("[[deep/Nets]]\n".to_owned(), "[[Nets]] and more\n".to_owned())
    );
    assert_eq!(world.read("log.md"), "[[Nets]] [[z/Plan]]\n");
    world.is_at_rest();
}

#[tokio::test]
async fn what_person_and_agent_changed_meanwhile_stays() {
    let log = "# Log\n\nfirst\n\n[[Harbour]]\n\nlast\n";
    let world = World::new(VaultBuilder::new().note("Harbour.md", HARBOUR).note("log.md", log).note("met.md", log));
    world.rename("Harbour.md", "Port.md");
    // The person has gone on with the moved note too.
    world.vault.write("Port.md", format!("{HARBOUR}\nAnd a new one, at the south end.\n").as_bytes());
    let client = Client::over(&world.place.open());
    let edit = |find: &str| json!({ "edits": [{ "op": "replace_text", "find": find, "replace": format!("{find}, by the agent") }] });
    send(&client, Method::PATCH, "log.md", &[], edit("last")).await.ok();
    send(&client, Method::PATCH, "met.md", &[], edit("first")).await.ok();
    world.vault.write("log.md", log.replace("first", "first, by the person").as_bytes());
    world.vault.write("met.md", log.replace("first", "first, by the person").as_bytes());
    let summary = world.sync();
    assert_eq!(summary["merged"][0]["path"], "log.md", "{summary}");
    assert_eq!(world.read("log.md"), "# Log\n\nfirst, by the person\n\n[[Port]]\n\nlast, by the agent\n");
    // Both versions of a conflict link to where it is.
    let copy = summary["conflicts"][0]["copy"].as_str().unwrap();
    assert_eq!(world.read("met.md"), log.replace("first", "first, by the person").replace("Harbour", "Port"));
    assert_eq!(world.read(copy), log.replace("first", "first, by the agent").replace("Harbour", "Port"));
    world.is_at_rest();
}

#[test]
fn a_link_that_cannot_be_written_is_told_and_the_others_follow() {
    let vault = VaultBuilder::new().note("Harbour.md", HARBOUR).note("log.md", "[[Harbour]]\n");
    let world = World::new(vault.note("other.md", "[it](Harbour.md)\n"));
    world.rename("Harbour.md", "Pier #1.md");
    let output = world.place.sync(world.vault.root()).args(["--json", "--relink"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "something waits for the person");
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(counts(&summary), [1, 1, 1], "{summary}");
    let left = summary["relinked"]["left"][0].as_str().unwrap();
    assert!(left.contains("line 1 of log.md"), "{left}");
    assert_eq!(
        (world.read("log.md").as_str(), world.read("other.md").as_str()),
        ("[[Harbour]]\n", "[it](Pier%20%231.md)\n")
    );
    world.is_at_rest();
}

#[test]
fn a_link_that_cannot_be_written_keeps_no_other_of_its_note_from_following() {
    let log = "[[Harbour]]\n\n[it](Harbour.md) and [[Quay]], [[Harbour#Pier|there]]\n";
    let vault = VaultBuilder::new().note("Harbour.md", HARBOUR).note("Quay.md", "# Quay\n\nOf stone.\n");
    let world = World::new(vault.note("log.md", log));
    world.rename("Harbour.md", "Pier #1.md");
    world.rename("Quay.md", "Wharf.md");
    let output = world.place.sync(world.vault.root()).args(["--json", "--relink"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "something waits for the person");
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(counts(&summary), [2, 2, 1], "{summary}");
    let left: Vec<&str> =
        summary["relinked"]["left"].as_array().unwrap().iter().map(|left| left.as_str().unwrap()).collect();
    assert!(
        left.len() == 2 && left[0].contains("line 1 of log.md") && left[1].contains("line 3 of log.md"),
        "{left:?}"
    );
    assert_eq!(world.read("log.md"), "[[Harbour]]\n\n[it](Pier%20%231.md) and [[Wharf]], [[Harbour#Pier|there]]\n");
    world.is_at_rest();
}
