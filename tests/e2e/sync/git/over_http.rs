//! The same over HTTP: a server of Git's own program.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use atlas_testkit::VaultBuilder;

use super::{World, git, read, vault};
use crate::support::programs::until;

/// Serves the repositories in `folder` on the loopback address, until the process ends. Returns the server's URL.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let folder = folder.clone();
            thread::spawn(move || answer(&stream.unwrap(), &folder));
        }
    });
    url
}

/// Answers one request by `git http-backend`, as RFC 3875 says.
fn answer(mut stream: &TcpStream, folder: &Path) {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).unwrap();
    let mut words = first.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut backend = Command::new("git");
    backend.arg("http-backend").env("REQUEST_METHOD", method).env("PATH_INFO", path).env("QUERY_STRING", query);
    backend.env("GIT_PROJECT_ROOT", folder).env("GIT_HTTP_EXPORT_ALL", "1").env("REMOTE_USER", "kim");
    let mut length = 0;
    for line in reader.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").unwrap();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "content-type" => drop(backend.env("CONTENT_TYPE", value)),
            "content-encoding" => drop(backend.env("HTTP_CONTENT_ENCODING", value)),
            "git-protocol" => drop(backend.env("GIT_PROTOCOL", value)),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut child = backend.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&body).unwrap();
    let output = child.wait_with_output().unwrap().stdout;
    let end = output.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    let begin = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n", output.len() - end - 4);
    stream.write_all(begin.as_bytes()).and_then(|()| stream.write_all(&output)).unwrap();
}

#[test]
fn a_repository_is_reached_over_http() {
    let mut world = World::new(&[("adr/0.md", "# 0\n")]);
    let bare = world.place.path("repository.git");
    git(&bare, &["config", "http.receivepack", "true"]);
    world.url = format!("{}/repository.git", serve(world.place.path("")));
    let vault: VaultBuilder = vault();
    world.sync("host", &vault);
    assert_eq!((read(&vault, "adr/0.md"), world.text("adr/1.md")), ("# 0\n".into(), "# 1. Use boats\n".into()));
    // Somebody pushes between a host's question and its answer: the push is refused, and made again on top.
    let hook = bare.join("hooks/update");
    let script = "#!/bin/sh\n[ -e raced ] && exit 0\ntouch raced\nunset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\n\
         commit=$(git commit-tree -p main -m 'In between' main^{tree})\ngit update-ref refs/heads/main $commit\n";
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    vault.write("adr/1.md", b"# 1. Use ferries\n");
    let summary = world.sync("host", &vault);
    assert!(bare.join("raced").exists() && summary["git"]["error"].is_null(), "{summary}");
    assert_eq!(world.text("adr/1.md"), "# 1. Use ferries\n");
    assert!(world.log("%s").contains(&"In between".to_owned()));
}

#[test]
fn ctrl_c_ends_a_sync_that_waits_for_the_repository() {
    let mut world = World::new(&[]);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    world.url = format!("http://{}/repository.git", silent.local_addr().unwrap());
    let vault = vault();
    let mut sync = world.command("host", vault.root(), &[]);
    let mut running = sync.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let _waiting = silent.accept().unwrap();
    assert!(Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap().success());
    let ended = || running.try_wait().unwrap().ok_or("it runs");
    assert!(!until(Duration::from_secs(20), "the sync ends", ended).success());
}
