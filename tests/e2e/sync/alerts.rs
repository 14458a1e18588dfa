//! `--alert`: a person is told of a store that cannot be used, as of other failures, and when it is well again.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread;

use serde_json::Value;

use crate::support::programs::{Place, refusal_of};

/// A folder, and a program that writes down what it is told.
struct Home {
    place: Place,
    told: PathBuf,
}

impl Home {
    fn new() -> Self {
        let place = Place::new();
        fs::create_dir_all(place.path("notes")).unwrap();
        fs::write(place.path("notes/a.md"), "# A\n").unwrap();
        let (program, told) = (place.path("tell"), place.path("told"));
        fs::write(&program, format!("#!/bin/sh\n(cat; echo) >> {}\n", told.display())).unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        Self { place, told }
    }

    fn sync(&self, store: &str) -> std::process::Command {
        let mut command = self.place.in_folder(&self.place.path("notes"));
        command.args(["sync", ".", "--store", store, "--alert-after", "0", "--alert"]).arg(self.place.path("tell"));
        command
    }

    /// The events that were told since the last call: their names and messages.
    fn told(&self) -> Vec<(String, String)> {
        let text = fs::read_to_string(&self.told).unwrap_or_default();
        let _ = fs::remove_file(&self.told);
        let event = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap();
            ["event", "message"].map(|name| event[name].as_str().unwrap().to_owned()).into()
        };
        text.lines().map(event).collect()
    }
}

/// A store on the loopback address that answers every request so.
fn store_that_answers(status: &'static str, code: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || listener.incoming().for_each(|stream| answer(&stream.unwrap(), status, code)));
    url
}

fn answer(mut stream: &TcpStream, status: &str, code: &str) {
    for _ in BufReader::new(stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {}
    let body = format!("<Error><Code>{code}</Code><Message>no</Message></Error>");
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/xml\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    // A client that has gone away needs no answer.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

#[test]
fn a_misspelt_address_is_told_and_so_is_its_end() {
    let home = Home::new();
    let good = home.place.store.clone();
    assert!(home.sync(&good).status().unwrap().success());
    for misspelt in ["s4://bucket", "file//nowhere"] {
        let said = refusal_of(&mut home.sync(misspelt));
        let told = home.told();
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].0, "failing");
        assert!(said.contains(told[0].1.strip_prefix("syncs fail: ").unwrap()), "{told:?} {said}");
        // Once is enough.
        refusal_of(&mut home.sync(misspelt));
        assert_eq!(home.told(), []);
        assert!(home.sync(&good).status().unwrap().success());
        assert_eq!(home.told(), [("well".to_owned(), "the vault is in sync again".to_owned())]);
    }
    // Also if nothing was ever synced.
    let home = Home::new();
    refusal_of(&mut home.sync("s4://bucket"));
    assert_eq!(home.told().len(), 1);
}

#[test]
fn refused_keys_and_a_missing_bucket_are_told() {
    for (status, code) in [("403 Forbidden", "InvalidAccessKeyId"), ("404 Not Found", "NoSuchBucket")] {
        let home = Home::new();
        let url = store_that_answers(status, code);
        let mut sync = home.sync("s3://bucket");
        sync.envs([
            ("AWS_ENDPOINT_URL", url.as_str()),
            ("AWS_ACCESS_KEY_ID", "a"),
            ("AWS_SECRET_ACCESS_KEY", "b"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ALLOW_HTTP", "true"),
        ]);
        let said = refusal_of(&mut sync);
        let told = home.told();
        assert_eq!(told.len(), 1, "{told:?} {said}");
        assert_eq!(told[0].0, "failing", "{told:?}");
        assert!(said.contains(told[0].1.strip_prefix("syncs fail: ").unwrap()), "{told:?} {said}");
    }
}
