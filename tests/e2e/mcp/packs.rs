//! `atlas pack` and `atlas ralphy-init`: what Atlas Guardrails writes into a folder of code.

use std::fs;
use std::path::Path;

use atlas_testkit::VaultBuilder;
use serde_json::{Value, json};

use crate::support::programs::atlas;

/// Runs the program in a folder: whether that went well, and its messages.
fn run(root: &Path, arguments: &[&str]) -> (bool, String) {
    let ended = atlas().args(arguments).current_dir(root).output().unwrap();
    (ended.status.success(), String::from_utf8(ended.stderr).unwrap())
}

fn paths(pack: &Path) -> Vec<String> {
    let pack: Value = serde_json::from_slice(&fs::read(pack).unwrap()).unwrap();
    let files = pack["files"].as_array().unwrap();
    files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_pack_is_written_into_the_folder_and_is_in_no_pack_itself() {
    let folder = VaultBuilder::new()
        .file("src/auth.rs", b"pub fn check_login(name: &str) -> bool {\n    !name.is_empty()\n}\n")
        .file("src/other.rs", b"pub fn other() {}\n");
    let pack = folder.root().join("pack.json");
    for _ in 0..2 {
        let (is_done, said) = run(folder.root(), &["pack", "--task", "fix check_login"]);
        assert!(is_done && said.contains("in pack.json"), "{said}");
        assert_eq!(paths(&pack)[0], "src/auth.rs");
        assert!(!paths(&pack).contains(&"pack.json".to_owned()));
    }
    let (is_done, _) = run(folder.root(), &["pack", "--task", "fix check_login", "--budget", "300"]);
    assert!(is_done && fs::read(&pack).unwrap().len() < 600);
    let (is_done, said) = run(folder.root(), &["pack", "--task", "fix check_login", "--budget", "60"]);
    assert!(!is_done && said.contains("or more"), "{said}");
}

#[test]
fn a_file_that_is_no_pack_is_not_replaced() {
    let folder = VaultBuilder::new().file("a.rs", b"fn a() {}\n").file("pack.json", b"{\"name\": \"mine\"}");
    let (is_done, said) = run(folder.root(), &["pack", "--task", "a"]);
    assert!(!is_done && said.contains("move it away"), "{said}");
    assert_eq!(fs::read(folder.root().join("pack.json")).unwrap(), b"{\"name\": \"mine\"}");
}

#[test]
fn nothing_is_written_into_a_vault() {
    let vault = VaultBuilder::new().note("a.md", "a").file(".obsidian/app.json", b"{}");
    for arguments in [&["pack", "--task", "a"][..], &["ralphy-init"]] {
        let (is_done, said) = run(vault.root(), arguments);
        assert!(!is_done && said.contains("is a vault"), "{said}");
    }
    for made in [".atlas", ".ralphy", "pack.json"] {
        assert!(!vault.root().join(made).exists(), "{made}");
    }
    let (is_done, said) = run(vault.root(), &["pack", "--task", "a", "--code"]);
    assert!(is_done, "{said}");
}

#[test]
fn a_configuration_of_ralphy_is_written_once() {
    let folder = VaultBuilder::new().file("a.rs", b"fn a() {}\n");
    let file = folder.root().join(".ralphy/config.yaml");
    assert!(run(folder.root(), &["ralphy-init"]).0);
    let text = fs::read_to_string(&file).unwrap();
    let name = json!(folder.root().file_name().unwrap().to_str().unwrap()).to_string();
    assert!(text.contains(&format!("name: {name}")) && text.contains("atlas pack --task"), "{text}");
    fs::write(&file, "mine").unwrap();
    let (is_done, said) = run(folder.root(), &["ralphy-init"]);
    assert!(is_done && said.contains("nothing was changed"), "{said}");
    assert_eq!(fs::read_to_string(file).unwrap(), "mine");
}
