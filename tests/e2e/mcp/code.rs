//! `atlas mcp` in a folder of code: symbols by grammars, beside `ctags` as an oracle.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::mcp::mcp_stdio::Agent;
use crate::support::programs::atlas;

fn serve(root: &Path) -> Agent {
    Agent::start(atlas().arg("mcp").current_dir(root).stderr(Stdio::piped()))
}

fn first(agent: &mut Agent, intent: &str) -> Value {
    agent.call("atlas_find_duplicates", &json!({ "intent": intent }))["structuredContent"]["candidates"][0].clone()
}

#[test]
fn symbols_of_all_languages_are_in_the_index() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/symbols/fixtures");
    let deep = "(".repeat(500_000);
    let mut folder =
        VaultBuilder::new().file("src/deep.rs", deep.as_bytes()).file("src/zero.py", b"def nul\0(): pass\n");
    for entry in std::fs::read_dir(fixtures).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.ends_with(".txt") {
            folder = folder.file(&format!("src/{name}"), &std::fs::read(&path).unwrap());
        }
    }
    let mut agent = serve(folder.root());
    for (intent, path, symbol) in [
        ("Point", "src/sample.rs", "type"),
        ("Doer", "src/sample.go", "interface"),
        ("Foo.area", "src/sample.py", "method"),
        ("P.size", "src/sample.kt", "member"),
        ("SQ", "src/sample.c", "macro"),
        ("point_t", "src/sample.c", "alias"),
        ("zed", "src/sample.cpp", "method"),
        ("Arrow", "src/sample.cs", "method"),
        ("zip", "src/sample.js", "method"),
        ("more", "src/sample.swift", "method"),
        ("greet", "src/sample.sh", "function"),
        ("__construct", "src/sample.php", "method"),
        ("Button", "src/sample.tsx", "function"),
        ("initialize", "src/sample.rb", "method"),
        ("MIN", "src/sample.java", "member"),
    ] {
        let found = first(&mut agent, intent);
        let expected = (json!(path), json!(symbol));
        // Several languages' samples may have it.
        let is_there = (found["path"].clone(), found["symbol"].clone()) == expected || {
            let all = agent.call("atlas_find_duplicates", &json!({ "intent": intent }));
            let all = all["structuredContent"]["candidates"].as_array().unwrap().clone();
            all.iter()
                .any(|one| (one["path"].clone(), one["symbol"].clone()) == expected && one["score"] == found["score"])
        };
        assert!(is_there, "{intent}: {found:#}");
    }
    agent.end();
}

/// Names that are drawn.
const DRAWN: usize = 100;
/// How many of them must lead to a definition first.
const FOUND: usize = 95;
/// Kinds that `ctags` finds and that are no definitions to search by.
const NOT_MEANT: [&str; 15] = [
    "anonMember",
    "externvar",
    "file",
    "header",
    "implementation",
    "label",
    "library",
    "local",
    "module",
    "namespace",
    "package",
    "packageName",
    "parameter",
    "prototype",
    "unknown",
];

/// With `ATLAS_CODE=DIR:DIR`: of a hundred names that `ctags` finds in each folder, the first candidate is where `ctags` says for 95.
#[test]
fn the_definition_of_a_drawn_name_comes_first() {
    let Some(folders) = env::var_os("ATLAS_CODE") else {
        eprintln!("skipped: ATLAS_CODE names no folders of code");
        return;
    };
    for folder in env::split_paths(&folders) {
        let copy = tempfile::tempdir().unwrap();
        let root = copy.path().join("code");
        assert!(Command::new("cp").arg("-rL").arg(&folder).arg(&root).status().unwrap().success());
        let defined = defined(&root);
        let mut agent = serve(&root);
        let files: BTreeSet<&String> = defined.values().flatten().map(|(path, _)| path).collect();
        let step = (defined.len() / DRAWN).max(1);
        let mut missed = Vec::new();
        let mut drawn = 0;
        for (name, places) in defined.iter().step_by(step).take(DRAWN) {
            drawn += 1;
            let found = first(&mut agent, name);
            let line = found["line"].as_u64().unwrap_or_default();
            let is_there = |(path, at): &(String, u64)| found["path"] == path.as_str() && at.abs_diff(line) <= 1;
            if !places.iter().any(is_there) {
                missed.push(format!("{name}: {} {line}, not {:?}", found["path"], places.first()));
            }
        }
        println!(
            "{}: {} files, {} names, {} of {drawn} first",
            folder.display(),
            files.len(),
            defined.len(),
            drawn - missed.len()
        );
        println!("{}", missed.join("\n"));
        assert!(missed.len() * DRAWN <= (DRAWN - FOUND) * drawn, "{}: {missed:#?}", folder.display());
        agent.end();
    }
}

/// Where `ctags` finds each name to be defined.
fn defined(root: &Path) -> BTreeMap<String, Vec<(String, u64)>> {
    let mut ctags = Command::new("ctags");
    ctags.args(["-R", "--links=no", "--output-format=json", "--fields=+nl", "-f", "-", "."]).current_dir(root);
    let told = String::from_utf8_lossy(&ctags.output().expect("ctags").stdout).into_owned();
    let mut defined: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
    for tag in told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let text = |field: &str| tag[field].as_str().unwrap_or_default();
        let path = text("path").trim_start_matches("./");
        let is_known =
            atlas_symbols::Language::of(path).is_some() && !path.split('/').any(|part| part.starts_with('.'));
        // A larger file is no text.
        let is_text = || std::fs::metadata(root.join(path)).is_ok_and(|found| found.len() <= 1 << 20);
        let name = text("name");
        let is_name =
            name.len() > 2 && name.starts_with(|one: char| one.is_ascii_alphabetic()) && !name.starts_with("__anon");
        if is_known && is_name && !NOT_MEANT.contains(&text("kind")) && is_text() {
            defined
                .entry(name.to_owned())
                .or_default()
                .push((path.to_owned(), tag["line"].as_u64().unwrap_or_default()));
        }
    }
    defined
}
