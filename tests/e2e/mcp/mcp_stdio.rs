//! `atlas mcp`, as an agent's client starts it.

use std::fs;
use std::io::{BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::deployment::demo;
use crate::support::programs::{Place, Running, atlas, refusal_of, until};

/// A program after the handshake.
pub(crate) struct Agent {
    running: Running,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    asked: u64,
}

impl Agent {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut agent = Self::before_hello(command);
        let client = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        assert_eq!(agent.ask("initialize", &hello)["serverInfo"]["name"], "atlas-mirror");
        agent
    }

    fn before_hello(command: &mut Command) -> Self {
        let mut running = Running(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        let input = running.0.stdin.take().unwrap();
        let lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
        Self { running, input, lines, asked: 0 }
    }

    /// The result of a request. Every line of standard output must be an answer.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params });
        writeln!(self.input, "{request}").unwrap();
        let line = self.lines.next().expect("an answer").unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(self.asked)), "{line}");
        answer["result"].clone()
    }

    /// Sends a call that requests progress.
    fn begin(&mut self, tool: &str, arguments: &Value) {
        self.asked += 1;
        let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": "here" } });
        let request = json!({ "jsonrpc": "2.0", "id": self.asked, "method": "tools/call", "params": params });
        writeln!(self.input, "{request}").unwrap();
    }

    fn line(&mut self) -> Value {
        let line = self.lines.next().expect("a line").unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"))
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    /// Ends it as clients do, and returns its standard error, if that is piped.
    pub(crate) fn end(mut self) -> String {
        drop(self.input);
        assert_eq!(self.lines.next().map(Result::unwrap), None, "something was said after the end");
        let mut told = String::new();
        if let Some(mut log) = self.running.0.stderr.take() {
            log.read_to_string(&mut told).unwrap();
        }
        assert!(self.running.0.wait().unwrap().success(), "{told}");
        told
    }
}

#[test]
fn standard_output_has_nothing_but_the_protocol() {
    let place = Place::new();
    assert!(place.sync(&demo()).status().unwrap().success());
    let mut agent = Agent::start(place.atlas("mcp").env("ATLAS_LOG", "debug,rmcp=debug").stderr(Stdio::null()));
    let found = agent.call("find", &json!({ "term": "berth" }));
    assert!(found["structuredContent"]["results"][0].is_object(), "{found}");
    assert_eq!(agent.call("read_note", &json!({ "path": "no/such.md" }))["isError"], true);
    // The process that starts it may write, and is named in the vault's log.
    assert_eq!(agent.call("write_note", &json!({ "path": "new.md", "content": "x" }))["isError"], false);
    agent.end();
    let log = place.atlas("log").output().unwrap();
    assert!(String::from_utf8(log.stdout).unwrap().contains("stdio"));
}

#[test]
fn without_a_store_it_serves_the_folder_that_it_is_started_in() {
    let folder = VaultBuilder::new()
        .note("README.md", "# Lighthouse\n\nA fog horn.\n")
        .file("src/horn.rs", b"fn blow() {}\n")
        .note("secret/plan.md", "The fog horn is a decoy.")
        .note("docs/draft.md", "A fog horn, perhaps.")
        .file(".gitignore", b"/secret/\n")
        .file("docs/.gitignore", b"draft.md\n");
    let mut command = atlas();
    let mut agent = Agent::start(command.arg("mcp").current_dir(folder.root()).stderr(Stdio::piped()));
    let listed = |agent: &mut Agent| {
        let notes = agent.call("list_notes", &json!({}))["structuredContent"]["items"].clone();
        notes.as_array().unwrap().iter().map(|note| note["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&mut agent), ["README.md"]);
    let lines = agent.call("search", &json!({ "query": "blow|fog", "mode": "regex" }));
    let found = lines["structuredContent"]["results"].to_string();
    assert!(found.contains("src/horn.rs") && found.contains("README.md") && !found.contains("decoy"), "{found}");
    let refused = agent.call("write_note", &json!({ "path": "new.md", "content": "x" }));
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("read_only_mode"), "{refused}");

    // Changes are seen, and nothing is written except below `.atlas`.
    fs::write(folder.path("new.md"), "# New").unwrap();
    fs::remove_file(folder.path("README.md")).unwrap();
    until(Duration::from_secs(100), "the new note", || match listed(&mut agent) {
        paths if paths == ["new.md"] => Ok(()),
        paths => Err(paths),
    });
    let mut there: Vec<_> = fs::read_dir(folder.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    there.sort();
    assert_eq!(there, [".atlas", ".gitignore", "docs", "new.md", "secret", "src"]);
    assert_eq!(folder.read(".atlas/.gitignore"), b"*\n");
    let told = agent.end();
    assert!(told.starts_with("[INFO] Starting indexing...\n[INFO] Indexing complete: 1 notes and "), "{told}");

    // A link to elsewhere is not written to.
    let elsewhere = tempfile::tempdir().unwrap();
    fs::remove_dir_all(folder.path(".atlas")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), folder.path(".atlas")).unwrap();
    let mut command = atlas();
    let said = refusal_of(command.arg("mcp").current_dir(folder.root()));
    assert!(said.contains("is a symbolic link or a file: remove it"), "{said}");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);

    let mut command = atlas();
    let said = refusal_of(command.args(["mcp", "--vault", "work"]).current_dir(folder.root()));
    assert!(said.contains("name it with --store"), "{said}");
}

#[test]
fn a_message_that_is_no_json_is_told_so_and_the_next_is_answered() {
    let folder = VaultBuilder::new().note("a.md", "x");
    let mut command = atlas();
    let mut agent = Agent::start(command.arg("mcp").current_dir(folder.root()).stderr(Stdio::null()));
    writeln!(agent.input, "{{\"jsonrpc\": \"2.0\", ").unwrap();
    let told = agent.line();
    assert_eq!((&told["error"]["code"], &told["id"]), (&json!(-32700), &Value::Null), "{told}");
    assert_eq!(agent.call("read_note", &json!({ "path": "a.md" }))["isError"], false);
    agent.end();
}

#[test]
fn what_comes_before_the_handshake_or_is_no_message_ends_nothing() {
    let folder = VaultBuilder::new().note("a.md", "x");
    let mut command = atlas();
    let mut agent = Agent::before_hello(command.arg("mcp").current_dir(folder.root()).stderr(Stdio::null()));
    let early = [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":{}}"#,
    ];
    for message in early {
        writeln!(agent.input, "{message}").unwrap();
    }
    agent.ask("ping", &json!({}));
    for message in early {
        writeln!(agent.input, "{message}").unwrap();
    }
    let client = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    assert_eq!(agent.ask("initialize", &hello)["serverInfo"]["name"], "atlas-mirror");
    for (message, id, code) in [
        (r#"{"jsonrpc":"2.0","id":11,"method":"tools/call","params":[]}"#, json!(11), -32602),
        (r#"{"jsonrpc":"2.0","id":"b","method":"tools/list","params":{"_meta":"x"}}"#, json!("b"), -32602),
        (r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"tools/list"}"#, json!(1_u64 << 63), -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Value::Null, -32600),
    ] {
        writeln!(agent.input, "{message}").unwrap();
        let told = agent.line();
        assert_eq!((&told["id"], &told["error"]["code"]), (&id, &json!(code)), "{told}");
    }
    assert_eq!(agent.call("read_note", &json!({ "path": "a.md" }))["isError"], false);
    agent.end();
}

#[test]
fn the_client_is_answered_at_once_and_its_call_waits_for_the_index() {
    let folder = VaultBuilder::new().note("a.md", "x").folder(".atlas/state");
    // Another server is running.
    let lock = fs::File::create(folder.path(".atlas/state/lock")).unwrap();
    lock.lock().unwrap();
    let mut command = atlas();
    let mut agent = Agent::start(command.arg("mcp").env("ATLAS_VAULT_ROOT", folder.root()).stderr(Stdio::null()));
    let tools = agent.ask("tools/list", &json!({}))["tools"].clone();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["atlas_pack", "atlas_find_duplicates", "search", "read_note", "atlas_index"]);
    agent.begin("read_note", &json!({ "path": "a.md" }));
    for _ in 0..2 {
        let told = agent.line();
        let is_progress = told["method"] == "notifications/progress" && told["params"]["progressToken"] == "here";
        assert!(is_progress, "{told}");
    }
    lock.unlock().unwrap();
    let answer = loop {
        let line = agent.line();
        if line.get("id").is_some() {
            break line;
        }
    };
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    agent.end();
}

#[test]
fn the_index_has_what_is_there_when_it_is_said_to_be_complete() {
    let folder = VaultBuilder::new().note("a.md", "x");
    let mut command = atlas();
    let mut agent = Agent::start(command.arg("mcp").current_dir(folder.root()).stderr(Stdio::null()));
    for n in 0..5 {
        let path = format!("new{n}.md");
        fs::write(folder.path(&path), "# New").unwrap();
        let index = agent.call("atlas_index", &json!({}));
        assert_eq!(index["structuredContent"]["status"], "Indexing complete", "{index}");
        assert_eq!(agent.call("read_note", &json!({ "path": path }))["isError"], false, "{path}");
    }
    agent.end();
}

#[test]
fn a_call_after_a_change_is_answered_with_it() {
    let folder = VaultBuilder::new().note("a.md", "x");
    let mut command = atlas();
    let mut agent = Agent::start(command.arg("mcp").current_dir(folder.root()).stderr(Stdio::null()));
    agent.call("atlas_index", &json!({}));
    for n in 0..5 {
        let path = format!("new{n}.md");
        fs::write(folder.path(&path), "# New").unwrap();
        // The change is told at once, and far sooner than it would be indexed.
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(agent.call("read_note", &json!({ "path": path }))["isError"], false, "{path}");
    }
    agent.end();
}

#[test]
fn what_a_power_cut_took_from_the_index_is_made_again() {
    let folder = VaultBuilder::new().note("a.md", "A lighthouse.").file("logo.bin", b"light\0house");
    let serve = || {
        let mut command = atlas();
        let mut agent = Agent::start(command.arg("mcp").current_dir(folder.root()).stderr(Stdio::null()));
        assert_eq!(agent.call("read_note", &json!({ "path": "a.md" }))["isError"], false);
        agent.end();
    };
    let kept = |kind: &str| {
        let objects = fs::read_dir(folder.path(".atlas/store/vaults/main").join(kind)).unwrap();
        objects.map(|object| object.unwrap().path()).collect::<Vec<_>>()
    };
    serve();
    for kind in ["blobs", "segments"] {
        for object in kept(kind) {
            fs::write(object, "").unwrap();
        }
        serve();
        assert!(kept("blobs").iter().any(|object| fs::read(object).unwrap() == b"light\0house"), "{kind}");
    }
}

#[test]
fn text_is_read_whatever_its_name_and_what_is_not_is_told() {
    let folder = VaultBuilder::new()
        .file("Makefile", b"all: lighthouse\n")
        .file("Dockerfile", b"FROM lighthouse\n")
        .file(".editorconfig", b"# lighthouse\n")
        .file(".github/workflows/ci.yml", b"name: lighthouse\n")
        .file("src/a.mts", b"// lighthouse\n")
        .file("src/b.cts", b"// lighthouse\n")
        .file("lib/c.dart", b"// lighthouse\n")
        .file("logo.bin", b"light\0house")
        .file(".venv/x.py", b"# lighthouse\n")
        .file(".git/config", b"lighthouse\n");
    let mut command = atlas();
    let mut agent = Agent::start(command.arg("mcp").current_dir(folder.root()).stderr(Stdio::piped()));
    let found = agent.call("search", &json!({ "query": "lighthouse", "mode": "literal", "limit": 50 }));
    let found = found["structuredContent"]["results"].to_string();
    for path in ["Makefile", "Dockerfile", ".editorconfig", ".github/workflows/ci.yml", "a.mts", "b.cts", "c.dart"] {
        assert!(found.contains(path), "{path} is not in {found}");
    }
    assert!(!found.contains(".venv") && !found.contains(".git/"), "{found}");
    fs::write(folder.path("Makefile"), "all: beacon\n").unwrap();
    fs::remove_file(folder.path(".github/workflows/ci.yml")).unwrap();
    agent.call("atlas_index", &json!({}));
    let found = agent.call("search", &json!({ "query": "lighthouse|beacon", "mode": "regex", "limit": 50 }));
    let found = found["structuredContent"]["results"].to_string();
    assert!(found.contains("beacon") && !found.contains("ci.yml"), "{found}");
    let told = agent.end();
    assert!(told.contains("[WARN] Skipping file... logo.bin: it is not text"), "{told}");
    assert!(told.contains("[WARN] Skipping file... .venv: it is a hidden folder") && !told.contains(".git:"), "{told}");
}
