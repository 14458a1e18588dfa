//! The program of the release before beside this one, on one store: each reads what the other wrote, goes on with it, and loses nothing.

use std::fs;
use std::process::{Command, Stdio};

use atlas_mirror::{Mirror, Options, PartCache};
use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::mcp::Agent;
use crate::support::models;
use crate::support::programs::{Place, atlas, difference, json_of, previous, refusal_of};
use crate::support::publish::files;
use crate::support::world::{World, atlas as in_process, caller};

/// A vault that two programs share.
struct Shared {
    place: Place,
    vault: VaultBuilder,
}

/// How a program is started.
type Program = fn() -> Command;

/// The previous program; [`None`] where it was not built.
fn before() -> Option<Program> {
    if previous().is_none() {
        println!("skipped: the previous program is not there; `make setup-previous` builds it");
        return None;
    }
    Some(|| previous().unwrap())
}

impl Shared {
    fn new() -> Self {
        let vault = VaultBuilder::new()
            .note("Harbour.md", "---\ntags: [port]\n---\n# Harbour\n\nThe berths are full. [[log/Monday|yesterday]]\n")
            .note("log/Monday.md", "# Monday\n\nFog over the quay.\n\n- [ ] sound the horn\n")
            .file("chart.png", &[0, 159, 146, 150]);
        let vault = (0..60).fold(vault, |vault, n| {
            vault.note(&format!("many/{n:02}.md"), &format!("# Note {n}\n\nThe tide of {n}.\n"))
        });
        Self { place: Place::new(), vault }
    }

    fn command(&self, program: Program, name: &str) -> Command {
        let mut command = program();
        command.args([name, "--vault", "main", "--store", &self.place.store]);
        command
    }

    /// Both keep one state, as a program that is updated does.
    fn sync(&self, program: Program) -> Value {
        let mut sync = self.command(program, "sync");
        json_of(sync.arg("--json").arg("--root").arg(self.vault.root()).arg("--state").arg(self.place.path("state")))
    }

    fn agent(&self, program: Program) -> Agent {
        Agent::start(self.command(program, "mcp").stderr(Stdio::null()))
    }

    /// The program reads every file as the folder has it, and finds notes.
    #[track_caller]
    fn assert_reads(&self, program: Program, found: &[(&str, &str)]) {
        let to = tempfile::tempdir().unwrap();
        json_of(self.command(program, "export").arg("--json").arg("--to").arg(to.path()));
        let difference = difference(self.vault.root(), to.path());
        assert!(difference.is_empty(), "{difference}");
        let mut agent = self.agent(program);
        for (query, path) in found {
            for mode in ["text", "literal"] {
                let answer = agent.call("search", &json!({ "query": query, "mode": mode }));
                assert!(answer["structuredContent"]["results"].to_string().contains(path), "{query} {mode}: {answer}");
            }
        }
        assert_eq!(agent.call("get_backlinks", &json!({ "path": "log/Monday.md" }))["isError"], false);
        agent.end();
    }

    /// An agent of the program writes, replaces, moves and deletes notes, so many that segments are merged.
    fn write(&self, program: Program, word: &str) {
        let mut agent = self.agent(program);
        let mut call = |tool: &str, arguments: Value| {
            let answer = agent.call(tool, &arguments);
            assert_eq!(answer["isError"], false, "{tool} {arguments}: {answer}");
        };
        for n in 0..24 {
            call(
                "write_note",
                json!({ "path": format!("{word}/{n}.md"), "content": format!("# {word} {n}\n\nA {word} of [[Harbour]].\n") }),
            );
        }
        call("append_note", json!({ "path": "Harbour.md", "content": format!("And a {word}.\n") }));
        call("move_note", json!({ "path": format!("{word}/0.md"), "to": format!("{word}/Zero.md") }));
        call("delete_note", json!({ "path": format!("{word}/1.md"), "hard": true }));
        agent.end();
        let pulled = self.sync(program);
        assert!(self.vault.root().join(word).join("Zero.md").exists(), "{pulled}");
        // And a person, in the folder.
        self.vault.write(&format!("{word}/own.md"), format!("My own {word}.\n").as_bytes());
        fs::remove_file(self.vault.path(&format!("{word}/2.md"))).unwrap();
        self.sync(program);
    }

    fn mirror(&self) -> Mirror {
        self.place.mirror()
    }
}

#[test]
fn each_goes_on_with_what_the_other_wrote() {
    let Some(before) = before() else { return };
    let shared = Shared::new();
    shared.sync(before);
    let first = [("berths", "Harbour.md"), ("horn", "log/Monday.md"), ("tide of 41", "many/41.md")];
    shared.assert_reads(atlas, &first);
    shared.write(atlas, "lantern");
    let then = [&first[..], &[("lantern 7", "lantern/7.md"), ("own lantern", "lantern/own.md")]].concat();
    shared.assert_reads(before, &then);
    shared.write(before, "compass");
    let last = [&then[..], &[("compass 9", "compass/9.md"), ("own compass", "compass/own.md")]].concat();
    for program in [atlas, before] {
        shared.assert_reads(program, &last);
        // Nothing is left to do, whoever looks.
        let again = shared.sync(program);
        assert_eq!(again["generation"], shared.sync(atlas)["generation"], "{again}");
    }
    let doctor = shared.command(atlas, "doctor").output().unwrap();
    assert!(doctor.status.success(), "{}", String::from_utf8_lossy(&doctor.stdout));
}

/// The rows of all vectors of a mirror, and the notes that wait for some.
async fn vectors(mirror: &Mirror) -> (u32, u32) {
    let head = mirror.head().await.unwrap();
    assert_eq!(head.manifest().format, 2);
    assert!(head.segments().len() < 24, "nothing was merged");
    let of = || head.segments().iter().filter_map(|entry| entry.vectors).map(|of| of.layout);
    (of().map(|layout| layout.rows).sum(), of().map(|layout| layout.waiting).sum())
}

#[tokio::test(flavor = "multi_thread")]
async fn both_keep_the_vectors_of_a_model() {
    let Some(before) = before() else { return };
    let shared = Shared::new();
    shared.sync(before);
    models::add(&shared.mirror(), 1).await;
    let (rows, _) = vectors(&shared.mirror()).await;
    assert!(rows > 60, "{rows}");
    let mut written = rows;
    for (program, word) in [(before, "haven"), (atlas, "gale")] {
        shared.write(program, word);
        let (rows, waiting) = vectors(&shared.mirror()).await;
        assert!(rows >= written + 20 && waiting == 0, "{word}: {written} {rows} {waiting}");
        written = rows;
        for reader in [before, atlas] {
            let mut agent = shared.agent(reader);
            let found = agent.call("search_semantic", &json!({ "query": word, "k": 40 }));
            assert!(found["structuredContent"]["items"].to_string().contains(&format!("{word}/7.md")), "{found}");
            assert_eq!(found["structuredContent"].get("waiting"), None, "{found}");
            agent.end();
        }
    }
}

/// A program refuses the newest generation with every command, and changes nothing.
#[track_caller]
fn assert_refuses(shared: &Shared, program: Program) {
    let [objects, exported, state] = ["store", "exported", "state"].map(|name| shared.place.path(name));
    let there = files(&objects);
    for (name, arguments) in [
        ("export", vec!["--to".as_ref(), exported.as_os_str()]),
        ("sync", vec!["--root".as_ref(), shared.vault.root().as_os_str(), "--state".as_ref(), state.as_os_str()]),
        ("search", vec!["tide".as_ref()]),
    ] {
        let said = refusal_of(shared.command(program, name).args(arguments));
        assert!(said.contains("newer"), "{name}: {said}");
    }
    assert_eq!(files(&objects), there, "it wrote something");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_previous_one_refuses_what_it_cannot_read() {
    let Some(before) = before() else { return };
    let shared = Shared::new();
    shared.sync(before);
    // Layouts without their directories: it reads them as this one does, or refuses them.
    let options = Options { max_directories: 0, ..Options::default() };
    let mirror = Mirror::open(shared.place.open(), "main".parse().unwrap(), PartCache::new(0).into(), options).unwrap();
    let world = World { atlas: in_process(mirror.clone(), &json!({})), caller: caller(&[]) };
    world.ok("write_note", json!({ "path": "Now.md", "content": "A note of now.\n" })).await;
    shared.vault.write("Now.md", b"A note of now.\n");
    let head = mirror.head().await.unwrap();
    assert_eq!(head.manifest().format, 3);
    shared.assert_reads(atlas, &[("note of now", "Now.md")]);
    match shared.command(before, "search").arg("tide").output().unwrap().status.success() {
        true => shared.assert_reads(before, &[("note of now", "Now.md")]),
        false => assert_refuses(&shared, before),
    }
    // A format that no program knows.
    let key = |generation| shared.place.path("store").join(mirror.keys().manifest(generation).as_ref());
    let text = fs::read_to_string(key(head.generation())).unwrap();
    let (json, _) = text.rsplit_once(",\"crc32\"").unwrap();
    let next = head.generation() + 1;
    let json = json.replacen("\"format\":3", "\"format\":99", 1).replacen(
        &format!("\"generation\":{}", next - 1),
        &format!("\"generation\":{next}"),
        1,
    );
    fs::write(key(next), format!("{json},\"crc32\":\"{:08x}\"}}", crc32fast::hash(json.as_bytes()))).unwrap();
    shared.vault.write("More.md", b"more");
    for program in [before, atlas] {
        assert_refuses(&shared, program);
    }
}
