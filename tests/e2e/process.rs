//! The real programs: `atlas` as the README has it, and each function under `cargo lambda watch`.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::deployment::demo;

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A program that builds. What Cargo tells this test of its own package would make it build other packages anew.
fn building(program: &str) -> Command {
    let mut command = Command::new(program);
    let own = |name: &String| name.starts_with("CARGO_MANIFEST_") || name.starts_with("CARGO_PKG_");
    for (name, _) in std::env::vars().filter(|(name, _)| own(name)) {
        command.env_remove(name);
    }
    command
}

/// The host program, built as tests are.
pub fn atlas() -> Command {
    let target = std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned();
    let mut build = building(env!("CARGO"));
    build
        .args(["build", "--quiet", "--locked", "--package", "atlas", "--bin", "atlas", "--target-dir"])
        .arg(&target)
        .current_dir(workspace());
    assert!(build.status().unwrap().success());
    let mut command = Command::new(target.join("debug/atlas"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("ATLAS_")) {
        command.env_remove(name);
    }
    command
}

/// A folder store with a place for the sync state beside it.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn store(&self) -> String {
        format!("file://{}", self.path("store").display())
    }

    pub fn sync(&self, root: &Path) -> Command {
        let mut command = atlas();
        command
            .args(["sync", "--vault", "main", "--store", &self.store(), "--root"])
            .arg(root)
            .arg("--state")
            .arg(self.path("state"));
        command
    }
}

fn json_of(command: &mut Command) -> Value {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stdout)))
}

pub fn refusal_of(command: &mut Command) -> String {
    let output = command.stdout(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap()
}

/// A program that is ended when this is dropped.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = Command::new("kill").arg(self.0.id().to_string()).status();
            let _ = self.0.wait();
        }
    }
}

/// The status and body of what `curl` is answered.
pub fn curl(arguments: &[&str]) -> Option<(u16, String)> {
    let output = Command::new("curl")
        .args(["--silent", "--max-time", "120", "--write-out", "\n%{http_code}"])
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (body, status) = text.rsplit_once('\n')?;
    Some((status.parse().ok().filter(|status| *status != 0)?, body.to_owned()))
}

#[test]
fn a_folder_is_published_once_and_exported_as_it_was() {
    let place = Place::new();
    let first = json_of(place.sync(&demo()).arg("--json"));
    assert_eq!(
        (first["generation"].as_u64(), first["changed"].as_u64(), first["removed"].as_u64()),
        (Some(1), Some(0), Some(0))
    );
    assert!(first["notes"].as_u64().unwrap() > 50 && first["uploaded_bytes"].as_u64().unwrap() > 0);
    let second = json_of(place.sync(&demo()).arg("--json"));
    assert_eq!(
        (second["generation"].as_u64(), second["uploaded_bytes"].as_u64(), second["added"].as_u64()),
        (Some(1), Some(0), Some(0))
    );
    assert_eq!(second["unchanged"], first["added"]);

    let exported = place.path("exported");
    let mut export = atlas();
    export.args(["export", "--vault", "main", "--store", &place.store(), "--to"]).arg(&exported);
    assert!(export.status().unwrap().success());
    assert!(Command::new("diff").arg("--recursive").arg(demo()).arg(&exported).status().unwrap().success());

    let mut log = atlas();
    let output = log.args(["log", "--vault", "main", "--store", &place.store()]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().count() >= 1 && text.contains("sync"), "{text}");
}

#[test]
fn the_server_prints_command_lines_that_work_as_printed() {
    let place = Place::new();
    assert!(place.sync(&demo()).status().unwrap().success());
    let mut serve = atlas();
    serve.args(["serve", "--addr", "127.0.0.1:0", "--vault", "main", "--store", &place.store()]).stdout(Stdio::piped());
    let mut running = Running(serve.spawn().unwrap());
    let lines = BufReader::new(running.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let printed: Vec<String> = lines.filter(|line| line.contains("curl ")).take(6).collect();
    assert_eq!(printed.len(), 6);
    for line in printed {
        let output = Command::new("bash")
            .arg("-c")
            .arg(line.replace("curl -s", "curl -sS --fail --max-time 20"))
            .output()
            .unwrap();
        assert!(
            output.status.success() && !output.stdout.is_empty(),
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn what_cannot_start_says_why_in_one_line() {
    let place = Place::new();
    let serve = |addr: &str| {
        let mut command = atlas();
        command.args(["serve", "--store", &place.store(), "--addr", addr]);
        command
    };
    for (mut command, says) in [
        (serve("0.0.0.0:0"), "listen on a loopback address"),
        (place.sync(&place.path("nowhere")), "nowhere"),
        (
            {
                let mut command = serve("127.0.0.1:0");
                command.env("ATLAS_MAX_RESULTS", "many");
                command
            },
            "write a number from 1 to 50",
        ),
        (
            {
                let mut command = serve("127.0.0.1:0");
                command.env("ATLAS_STORRE", "x");
                command
            },
            "is not a setting",
        ),
        (
            {
                let mut command = serve("127.0.0.1:0");
                command.env("ATLAS_AUTH", "jwt");
                command
            },
            "ATLAS_AUTH=jwt",
        ),
    ] {
        let message = refusal_of(&mut command);
        assert!(message.contains(says) && message.trim_end().lines().count() == 1, "{message}");
    }
}

#[test]
fn the_functions_answer_under_cargo_lambda_watch() {
    if Command::new("cargo-lambda").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "cargo-lambda is not installed");
        println!("skipped: cargo-lambda is not installed (make setup-tools)");
        return;
    }
    let place = Place::new();
    assert!(place.sync(&demo()).status().unwrap().success());
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut watch = building("cargo-lambda");
    watch
        .args([
            "lambda",
            "watch",
            "--invoke-address",
            "127.0.0.1",
            "--invoke-port",
            &port.to_string(),
            "--ignore-changes",
        ])
        .env("ATLAS_STORE", place.store())
        .env("ATLAS_VAULT", "main")
        .env("CARGO_TARGET_DIR", std::env::current_exe().unwrap().ancestors().nth(3).unwrap())
        .current_dir(workspace())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _running = Running(watch.spawn().unwrap());
    let url = |path: &str| format!("http://127.0.0.1:{port}{path}");
    let json = ["--header", "content-type: application/json"];
    let begun = Instant::now();
    // The first request to a function builds it.
    let answered = |arguments: &[&str]| loop {
        match curl(arguments) {
            Some((200, body)) => break serde_json::from_str::<Value>(&body).unwrap(),
            other => assert!(begun.elapsed() < Duration::from_secs(600), "{other:?}"),
        }
        std::thread::sleep(Duration::from_secs(1));
    };
    assert_eq!(answered(&[&url("/health")])["generation"], 1);
    assert_eq!(answered(&[&url("/notes/vault/Home.md")])["path"], "vault/Home.md");
    assert!(answered(&[&url("/notes?limit=2")])["cursor"].is_string());
    let found = answered(&[json[0], json[1], "--data", "{\"term\": \"surge checklist\"}", &url("/find")]);
    assert_eq!(found["results"][0]["path"], "vault/reference/🌊 Storm surge checklist.md");
    let context = answered(&[json[0], json[1], "--data", "{}", &url("/context/current")]);
    assert_eq!(context["sources"][0]["path"], "vault/planning/now.md");
    let answer = answered(&[json[0], json[1], "--data", "{\"question\": \"components\"}", &url("/query")]);
    assert_eq!(answer["citations"][0]["anchor"], "#components");
    let (status, body) = curl(&[&url("/notes/%252e%252e/secret.md")]).unwrap();
    assert!(status == 400 && body.contains("path_invalid"), "{status} {body}");
}
