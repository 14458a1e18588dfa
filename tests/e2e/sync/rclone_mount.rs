//! A vault on an rclone mount: remote changes are published, and a mount that dies deletes nothing.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use atlas_testkit::project::skip;
use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};

use crate::support::deployment::{Client, demo};
use crate::support::programs::{Place, Running, difference, json_of, refusal_of, until};

/// How long anything may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The demo vault on a mounted remote, and a place to publish it to.
struct Site {
    // Dropped in this order: the mount first.
    mount: Mount,
    server: Running,
    place: Place,
    far: PathBuf,
}

impl Site {
    /// [`None`], with a message, if nothing can be mounted.
    fn new() -> Option<Self> {
        Self::mounted_with(&[])
    }

    /// With more arguments for the mount.
    fn mounted_with(more: &'static [&'static str]) -> Option<Self> {
        if !Path::new("/dev/fuse").exists() {
            skip("the rclone mount, because this machine has no /dev/fuse");
            return None;
        }
        for (program, missing) in [("rclone", "run: make setup-tools"), ("fusermount3", "run: make setup-fuse")] {
            if Command::new(program).arg("--version").output().is_err() {
                assert!(std::env::var_os("CI").is_none(), "{program} is not installed");
                skip(&format!("the rclone mount, because {program} is not installed; {missing}"));
                return None;
            }
        }
        let place = Place::new();
        let far = place.path("far");
        assert!(Command::new("cp").arg("--recursive").arg(demo()).arg(&far).status().unwrap().success());
        let log = place.path("server.log");
        let mut serve = rclone();
        serve.args(["serve", "webdav", "--addr", "127.0.0.1:0", "--dir-cache-time", "100ms"]).arg(&far);
        let server = Running(serve.stderr(File::create(&log).unwrap()).spawn().unwrap());
        let url = until(LIMIT, "the remote says where it is", || {
            let said = fs::read_to_string(&log).unwrap();
            let url = said.split_once("started on [").and_then(|(_, rest)| rest.split_once(']'));
            url.map(|(url, _)| url.to_owned()).ok_or(said)
        });
        let mount = Mount::new(&url, place.path("mount"), more);
        Some(Self { mount, server, place, far })
    }

    fn sync(&self) -> Command {
        self.place.sync(&self.mount.point)
    }

    fn status(&self) -> Command {
        self.place.on_vault("status", &self.mount.point)
    }

    /// Puts a file on the remote, atomically.
    fn put(&self, path: &str, text: &str) {
        let (path, draft) = (self.far.join(path), self.place.path("draft"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&draft, text).unwrap();
        fs::rename(draft, path).unwrap();
    }

    /// Waits until the mount shows the remote's current state.
    fn settle(&self) {
        until(LIMIT, "the mount shows the far side", || match difference(&self.far, &self.mount.point) {
            difference if difference.is_empty() => Ok(()),
            difference => Err(difference),
        });
    }
}

/// A mount that is removed on drop.
struct Mount {
    rclone: Child,
    url: String,
    point: PathBuf,
    more: &'static [&'static str],
}

impl Mount {
    fn new(url: &str, point: PathBuf, more: &'static [&'static str]) -> Self {
        let rclone = Self::start(url, &point, more);
        let mut mount = Self { rclone, url: url.to_owned(), point, more };
        mount.wait();
        mount
    }

    fn start(url: &str, point: &Path, more: &[&str]) -> Child {
        fs::create_dir_all(point).unwrap();
        let mut mount = rclone();
        mount
            .args(["mount", ":webdav:", "--webdav-url", url, "--vfs-cache-mode", "writes", "--dir-cache-time", "100ms"])
            .args(["--attr-timeout", "100ms", "--vfs-write-back", "100ms", "--low-level-retries", "1", "--cache-dir"])
            .args([&point.with_extension("cache"), point])
            .args(more);
        mount.stderr(File::create(point.with_extension("log")).unwrap()).spawn().unwrap()
    }

    fn wait(&mut self) {
        let outside = fs::metadata(self.point.parent().unwrap()).unwrap().dev();
        until(LIMIT, "the remote is mounted", || {
            let said = fs::read_to_string(self.point.with_extension("log")).unwrap();
            assert!(self.rclone.try_wait().unwrap().is_none(), "the remote cannot be mounted: {said}");
            let inside = fs::metadata(&self.point).is_ok_and(|point| point.dev() != outside);
            if inside { Ok(()) } else { Err(said) }
        });
    }

    /// Mounts it again.
    fn again(&mut self) {
        self.rclone = Self::start(&self.url, &self.point, self.more);
        self.wait();
    }

    /// Kills the mount's process, as the kernel does when memory runs out.
    fn kill(&mut self) {
        self.rclone.kill().unwrap();
        self.rclone.wait().unwrap();
    }

    /// Unmounts it, which leaves the empty folder.
    fn unmount(&self) {
        assert!(Command::new("fusermount3").args(["-u", "-z"]).arg(&self.point).status().unwrap().success());
        assert_eq!(fs::read_dir(&self.point).unwrap().count(), 0);
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = self.rclone.kill();
        let _ = self.rclone.wait();
        let _ = Command::new("fusermount3").args(["-u", "-z", "-q"]).arg(&self.point).stderr(Stdio::null()).status();
    }
}

fn rclone() -> Command {
    let mut rclone = Command::new("rclone");
    rclone.args(["--config", ""]).stdout(Stdio::null());
    rclone
}

/// `atlas sync --watch`, and its output.
struct Watch {
    _running: Running,
    log: PathBuf,
}

impl Watch {
    fn new(site: &Site) -> Self {
        let log = site.place.path("watch.log");
        let file = File::create(&log).unwrap();
        let mut watch = site.sync();
        watch.args(["--watch", "1"]).stdout(file.try_clone().unwrap()).stderr(file);
        Self { _running: Running(watch.spawn().unwrap()), log }
    }

    /// Waits for a line that contains all of `words`.
    #[track_caller]
    fn says(&self, words: &[&str]) {
        let all = |line: &str| words.iter().all(|word| line.contains(word));
        until(LIMIT, &format!("the sync says {words:?}"), || {
            let said = fs::read_to_string(&self.log).unwrap();
            if said.lines().any(all) { Ok(()) } else { Err(said) }
        });
    }
}

#[test]
fn what_changes_on_the_far_side_of_a_mount_is_published() {
    let Some(site) = Site::new() else { return };
    site.settle();
    let first = json_of(site.sync().arg("--json"));
    assert_eq!((first["generation"].as_u64(), first["pushed"]["changed"].as_u64()), (Some(1), Some(0)));
    assert_eq!(site.place.exports(&site.far), 1);

    let now = fs::read_to_string(site.far.join("vault/planning/now.md")).unwrap();
    // Of the same length as before.
    site.put("vault/planning/now.md", &now.replacen('e', "E", 1));
    site.put("vault/Home.md", "# Home\n\nShorter.\n");
    site.put("new folder/波 and #1 [a] 100% ünï.md", "New.\n");
    fs::rename(site.far.join("vault/adr"), site.far.join("vault/decisions")).unwrap();
    fs::remove_dir_all(site.far.join("vault/meetings")).unwrap();
    site.settle();
    let second = json_of(site.sync().arg("--json"));
    assert_eq!((second["generation"].as_u64(), second["pushed"]["changed"].as_u64()), (Some(2), Some(2)), "{second}");
    assert!(
        second["pushed"]["added"].as_u64() < second["pushed"]["removed"].as_u64()
            && second["unchanged"].as_u64() > Some(40),
        "{second}"
    );
    assert_eq!(site.place.exports(&site.far), 2);
    assert_eq!(json_of(site.sync().arg("--json"))["uploaded_bytes"], 0);
}

#[test]
fn a_sync_has_rclone_read_its_folders_again_before_it_looks() {
    let more =
        &["--dir-cache-time", "1h", "--rc", "--rc-addr", "127.0.0.1:0", "--rc-user", "cache", "--rc-pass", "hidden"];
    let Some(site) = Site::mounted_with(more) else { return };
    let address = until(LIMIT, "the remote control says where it is", || {
        let said = fs::read_to_string(site.mount.point.with_extension("log")).unwrap();
        let address = said.split_once("remote control on http://").and_then(|(_, rest)| rest.split_once('/'));
        address.map(|(address, _)| address.to_owned()).ok_or(said)
    });
    assert_eq!(json_of(site.sync().arg("--json"))["generation"], 1);
    site.put("vault/inbox/late.md", "Written on the far side.\n");
    assert_eq!(json_of(site.sync().arg("--json"))["generation"], 1);

    // Failures are reported, without secrets, and the sync continues.
    for (url, reason) in [
        (format!("http://cache:wrong@{address}"), "wants a name and a password"),
        (format!("http://cache:hidden@{address}/?fs=other:"), "other:"),
        ("http://cache:hidden@127.0.0.1:1".to_owned(), "error"),
    ] {
        let output = site.sync().args(["--rclone-rc", &url]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success() && said.contains("rclone did not read its folders") && said.contains(reason),
            "{said}"
        );
        assert!(!said.contains("cache:") && !said.contains("wrong") && !said.contains("hidden"), "{said}");
        assert!(String::from_utf8(output.stdout).unwrap().starts_with("generation 1:"));
    }
    let said = refusal_of(site.sync().env("ATLAS_RCLONE_RC", "ftp://cache:hidden@there"));
    assert!(said.contains("write http://127.0.0.1:5572") && !said.contains("hidden"), "{said}");

    let url = format!("http://cache:hidden@{address}");
    until(LIMIT, "the new file is published", || {
        let summary = json_of(site.sync().arg("--json").env("ATLAS_RCLONE_RC", &url));
        if summary["generation"] == 2 { Ok(()) } else { Err(summary) }
    });
    assert_eq!(site.place.exports(&site.far), 2);
}

#[test]
fn an_agent_and_a_person_edit_the_same_note_through_a_mount() {
    let Some(site) = Site::new() else { return };
    json_of(site.sync().arg("--json"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let agent = Client::over(&site.place.open());
    let send = |method: Method, path: &str, body: Value| {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        runtime.block_on(agent.send(request.body(Body::from(body.to_string())).unwrap()))
    };
    let append = json!({ "edits": [{ "op": "append", "text": "From the agent.\n" }] });
    send(Method::PATCH, "/notes/vault/planning/now.md", append).ok();
    let new = send(Method::PUT, "/notes/vault/inbox/from%20the%20agent.md", json!({ "content": "New.\n" }));
    assert_eq!(new.status, 201);
    send(Method::DELETE, "/notes/vault/Home.md", Value::Null).ok();
    let now = fs::read_to_string(site.far.join("vault/planning/now.md")).unwrap();
    site.put("vault/planning/now.md", &format!("{now}From the person.\n"));
    site.settle();

    let summary = json_of(site.sync().arg("--json"));
    assert_eq!(summary["pulled"], json!({ "added": 1, "changed": 0, "removed": 1 }), "{summary}");
    assert_eq!(summary["conflicts"][0]["path"], "vault/planning/now.md", "{summary}");
    let copy = summary["conflicts"][0]["copy"].as_str().unwrap();
    assert!(copy.starts_with("vault/planning/now (conflict 2") && copy.ends_with(" anonymous).md"), "{copy}");
    until(LIMIT, "the far side has it", || {
        let texts = ["vault/planning/now.md", copy, "vault/inbox/from the agent.md"];
        let texts = texts.map(|path| fs::read_to_string(site.far.join(path)).unwrap_or_default());
        let expected = [format!("{now}From the person.\n"), format!("{now}From the agent.\n"), "New.\n".to_owned()];
        if texts == expected && !site.far.join("vault/Home.md").exists() { Ok(()) } else { Err(texts) }
    });
    until(LIMIT, "the folder rests", || {
        let summary = json_of(site.sync().arg("--json"));
        if summary["uploaded_bytes"] == 0 && summary["waiting"].is_null() { Ok(()) } else { Err(summary) }
    });
    // The remote's trash is the person's; all else is published.
    fs::remove_dir_all(site.far.join(".trash")).unwrap();
    site.settle();
    let exported = site.place.path("exported");
    json_of(site.place.atlas("export").arg("--json").arg("--to").arg(&exported));
    fs::remove_dir_all(exported.join(".trash")).unwrap();
    assert_eq!(difference(&site.far, &exported), "");
    let status = json_of(site.status().arg("--json"));
    assert_eq!((&status["copies"][0], status["conflicts"].as_array().unwrap().len()), (&json!(copy), 0), "{status}");
}

#[test]
fn names_that_differ_in_case_only_lose_nothing_where_they_are_one() {
    let Some(site) = Site::mounted_with(&["--vfs-case-insensitive"]) else { return };
    json_of(site.sync().arg("--json"));
    // The person renames a note, and an agent writes one that the folder cannot have beside it.
    fs::rename(site.far.join("vault/Home.md"), site.far.join("vault/HOME.md")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let agent = Client::over(&site.place.open());
    let put = Request::put("/notes/vault/planning/NOW.md").header("content-type", "text/markdown");
    assert_eq!(runtime.block_on(agent.send(put.body(Body::from("The agent's.\n")).unwrap())).status, 201);
    site.settle();
    let now = fs::read_to_string(site.far.join("vault/planning/now.md")).unwrap();

    let summary = json_of(site.sync().arg("--json"));
    assert_eq!(summary["pushed"], json!({ "added": 1, "changed": 0, "removed": 1 }), "{summary}");
    for _ in 0..2 {
        let summary = json_of(site.sync().arg("--json"));
        assert_eq!((&summary["waiting"], &summary["uploaded_bytes"]), (&json!(1), &json!(0)), "{summary}");
        assert_eq!(summary["skipped"][0]["path"], "vault/planning/NOW.md", "{summary}");
    }
    assert_eq!(fs::read_to_string(site.far.join("vault/planning/now.md")).unwrap(), now);
    let exported = site.place.path("exported");
    json_of(site.place.atlas("export").arg("--json").arg("--to").arg(&exported));
    assert_eq!(fs::read_to_string(exported.join("vault/planning/NOW.md")).unwrap(), "The agent's.\n");
    assert!(exported.join("vault/HOME.md").exists() && !exported.join("vault/Home.md").exists());
    // An export to where they are one names the one that it cannot write, though it may replace files.
    let mut there = site.place.atlas("export");
    let told = there.arg("--json").arg("--force").arg("--to").arg(site.mount.point.join("exported")).output().unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let skipped = told["skipped"].as_array().unwrap().iter().filter_map(|skipped| skipped["path"].as_str());
    assert_eq!(skipped.filter(|path| path.eq_ignore_ascii_case("vault/planning/now.md")).count(), 1, "{told}");
}

#[test]
fn a_folder_that_others_rename_in_case_only_is_not_renamed_back_where_cases_are_one() {
    let Some(site) = Site::mounted_with(&["--vfs-case-insensitive"]) else { return };
    site.put("Boats/a.md", "One.\n");
    site.settle();
    json_of(site.sync().arg("--json"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let agent = Client::over(&site.place.open());
    for (method, path, body) in [(Method::DELETE, "Boats", ""), (Method::PUT, "boats", "One.\n")] {
        let request = Request::builder().method(method).uri(format!("/notes/{path}/a.md"));
        let request = request.header("content-type", "text/markdown").body(Body::from(body));
        assert!(runtime.block_on(agent.send(request.unwrap())).status.is_success());
    }
    until(LIMIT, "the folder rests", || {
        let summary = json_of(site.sync().arg("--json"));
        let rests = summary["uploaded_bytes"] == 0 && summary["waiting"].is_null();
        if rests && summary["pulled"]["added"] == 0 { Ok(()) } else { Err(summary) }
    });
    site.settle();
    let names: Vec<_> = fs::read_dir(&site.far).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.contains(&"boats".into()) && !names.contains(&"Boats".into()), "{names:?}");
    assert_eq!(fs::read_to_string(site.far.join("boats/a.md")).unwrap(), "One.\n");
}

#[test]
fn a_mount_that_dies_takes_nothing_with_it() {
    let Some(mut site) = Site::new() else { return };
    let watch = Watch::new(&site);
    watch.says(&["generation 1:"]);
    site.put("vault/inbox/late.md", "Written while it is watched.\n");
    watch.says(&["generation 2:", "to the mirror +1 ~0 -0"]);

    site.mount.kill();
    let vault = site.mount.point.to_str().unwrap().to_owned();
    watch.says(&["atlas: the vault folder", &vault, "cannot be read", "check its path, and that it is mounted"]);
    let message = refusal_of(&mut site.sync());
    assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    assert_eq!(site.place.exports(&site.far), 2);

    site.mount.unmount();
    watch.says(&["atlas: ", &vault, "is not mounted any more", "mount it and sync again"]);
    assert_eq!(site.place.exports(&site.far), 2);

    site.put("vault/inbox/later.md", "Written while nothing was mounted.\n");
    site.mount.again();
    watch.says(&["generation 3:", "to the mirror +1 ~0 -0"]);
    assert_eq!(site.place.exports(&site.far), 3);
}

#[test]
fn a_far_side_that_is_emptied_or_gone_takes_nothing_with_it() {
    let Some(mut site) = Site::new() else { return };
    assert_eq!(json_of(site.sync().arg("--json"))["generation"], 1);
    let kept = site.place.path("kept");
    fs::rename(&site.far, &kept).unwrap();
    fs::create_dir(&site.far).unwrap();
    site.settle();
    let message = refusal_of(&mut site.sync());
    assert!(message.contains("is empty") && message.contains("check that it is mounted"), "{message}");
    assert_eq!(site.place.exports(&kept), 1);

    fs::remove_dir(&site.far).unwrap();
    fs::rename(&kept, &site.far).unwrap();
    site.settle();
    site.server.0.kill().unwrap();
    let shown = || fs::read_dir(&site.mount.point)?.next().transpose();
    until(LIMIT, "the mount has nothing to show", || shown().err().ok_or("it still does"));
    let message = refusal_of(&mut site.sync());
    assert!(message.contains("cannot be read") && message.contains("check its path"), "{message}");
    assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    assert_eq!(site.place.exports(&site.far), 1);
}
