//! The workflows that publish a release, and the check before it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use atlas_testkit::project::project;
use serde_json::{Map, Value};

const CHECK: &str = "custom-check-release";

fn text(path: &str) -> String {
    fs::read_to_string(project().join(path)).unwrap()
}

/// A workflow of this repository.
fn workflow(name: &str) -> Value {
    serde_saphyr::from_str(&text(&format!(".github/workflows/{name}"))).unwrap()
}

fn jobs(workflow: &Value) -> &Map<String, Value> {
    workflow["jobs"].as_object().unwrap()
}

/// The permissions of a job: its own, or its workflow's for all jobs, or its caller's.
fn permissions<'v>(workflow: &'v Value, job: &'v Value) -> Option<&'v Map<String, Value>> {
    let said = job.get("permissions").or_else(|| workflow.get("permissions"))?;
    Some(said.as_object().expect("permissions are named one by one"))
}

/// GitHub refuses the whole workflow else, before any job runs.
#[test]
fn a_called_workflow_asks_for_no_more_than_its_caller_gives() {
    let level = |permissions: &Map<String, Value>, name: &str| match permissions.get(name).and_then(Value::as_str) {
        None | Some("none") => 0,
        Some("read") => 1,
        Some("write") => 2,
        Some(other) => panic!("{name}: {other}"),
    };
    let mut called = BTreeSet::new();
    for entry in fs::read_dir(project().join(".github/workflows")).unwrap() {
        let caller = entry.unwrap().file_name().into_string().unwrap();
        let calling = workflow(&caller);
        for (by, job) in jobs(&calling) {
            let Some((_, name)) = job["uses"].as_str().and_then(|uses| uses.split_once("/.github/workflows/")) else {
                continue;
            };
            let given = permissions(&calling, job).expect("a caller says what it gives");
            let asking = workflow(name);
            for (of, job) in jobs(&asking) {
                for permission in permissions(&asking, job).into_iter().flat_map(Map::keys) {
                    let asked = level(permissions(&asking, job).unwrap(), permission);
                    assert!(
                        asked <= level(given, permission),
                        "{caller}: {by} gives {name}'s {of} too little of {permission}"
                    );
                }
            }
            called.insert(name.to_owned());
        }
    }
    assert_eq!(called.into_iter().collect::<Vec<_>>(), ["check-release.yml", "publish-image.yml"]);
}

#[test]
fn a_tag_that_is_refused_publishes_nothing() {
    let release = workflow("release.yml");
    // A job runs after those that it needs; one that runs always says which of them must have succeeded.
    let mut stopped = BTreeSet::from([CHECK.to_owned()]);
    loop {
        let is_stopped = |job: &Value| {
            let needs = job["needs"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let condition = job["if"].as_str().unwrap_or_default();
            let must = |name: &str| {
                let is = |result: &str| condition.contains(&format!("needs.{name}.result == '{result}'"));
                is("success") && !is("skipped") || !condition.contains("always()")
            };
            needs.filter(|name| stopped.contains(*name)).any(must)
        };
        let more: Vec<_> = jobs(&release).iter().filter(|(_, job)| is_stopped(job)).map(|(name, _)| name).collect();
        let before = stopped.len();
        stopped.extend(more.into_iter().cloned());
        if stopped.len() == before {
            break;
        }
    }
    let others: Vec<_> = jobs(&release).keys().filter(|name| !stopped.contains(*name)).collect();
    assert_eq!(others, ["plan"]);
    // The check finds the release before only in a clone with history.
    assert_eq!(workflow("check-release.yml")["jobs"]["check"]["steps"][0]["with"]["fetch-depth"], 0);
}

fn run(program: &Path, folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    for (name, value) in [("NAME", "Kim"), ("EMAIL", "kim@example.org")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env_remove("GITHUB_REPOSITORY");
    command.args(arguments).current_dir(folder).output().unwrap()
}

#[track_caller]
fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = run(Path::new("git"), folder, arguments);
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Whether a release may be made of a clone, and what is said.
fn checked(clone: &Path) -> (bool, String) {
    let output = run(&clone.join("infra/check_release.sh"), clone, &[]);
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_release_is_tested_beside_the_one_before() {
    let place = tempfile::tempdir().unwrap();
    let origin = place.path().join("origin");
    for folder in ["infra", "localstack", "tests/previous"] {
        fs::create_dir_all(origin.join(folder)).unwrap();
    }
    for script in ["infra/check_release.sh", "infra/pin_images.sh"] {
        fs::copy(project().join(script), origin.join(script)).unwrap();
    }
    fs::write(origin.join("Cargo.toml"), text("Cargo.toml").replace("OWNER", "kim")).unwrap();
    for file in ["localstack/Containerfile", "localstack/compose.yaml"] {
        fs::write(origin.join(file), "").unwrap();
    }
    let commits = |revision: &str| {
        fs::write(origin.join("tests/previous/REVISION"), revision).unwrap();
        git(&origin, &["add", "--all"]);
        git(&origin, &["commit", "--quiet", "--allow-empty", "--message", "Release"]);
        git(&origin, &["rev-parse", "HEAD"])
    };
    git(&origin, &["init", "--quiet", "--initial-branch=main"]);
    let first = commits("none\n");
    let (may, said) = checked(&origin);
    assert!(may && said.contains("no tag"), "the first release: {said}");
    git(&origin, &["tag", "v0.1.0"]);
    commits("another\n");
    let (may, said) = checked(&origin);
    assert!(!may && said.contains("is not the release before"), "{said}");
    commits(&first);
    git(&origin, &["tag", "v0.2.0"]);
    assert_eq!(checked(&origin), (true, String::new()));
    // A clone without history cannot tell.
    let url = format!("file://{}", origin.display());
    git(place.path(), &["clone", "--quiet", "--depth", "1", &url, "shallow"]);
    let (may, said) = checked(&place.path().join("shallow"));
    assert!(!may && said.contains("git fetch --unshallow --tags"), "{said}");
}
