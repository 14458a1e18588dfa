//! Beginners' mistakes: each gets one line that says what to do, and changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use crate::support::programs::Place;

/// A mistake, a word of its message, and the exit status: 1 for a failure, 2 for wrong usage.
struct Mistake {
    line: &'static str,
    before: fn(&World),
    says: &'static str,
    status: i32,
}

/// A home with a folder of notes, `notes`, and some other folders.
struct World {
    place: Place,
    _taken: TcpListener,
    port: u16,
}

impl World {
    fn new() -> Self {
        let place = Place::new();
        for folder in ["notes/inside", "empty", "code", "other", "icloud", "nest/notes", "vaults/own/.obsidian"] {
            fs::create_dir_all(place.path(folder)).unwrap();
        }
        for file in [
            "nest/notes/six.md",
            "vaults/own/seven.md",
            "notes/one.md",
            "notes/inside/two.md",
            "other/three.md",
            "other/four.md",
            "icloud/.five.md.icloud",
        ] {
            fs::write(place.path(file), format!("# {file}\n\nWhat it says.\n")).unwrap();
        }
        fs::write(place.path("code/main.rs"), "fn main() {}\n").unwrap();
        fs::write(place.path("broken.json"), "{").unwrap();
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        Self { place, _taken: taken, port }
    }

    fn line(&self, line: &str) -> Command {
        let mut command = self.place.in_folder(&self.place.path(""));
        let line = line.replace("HOME", self.place.path("").to_str().unwrap()).replace("TAKEN", &self.port.to_string());
        for word in shell_words(&line) {
            match word.split_once('=') {
                Some((name, value)) if name.starts_with("ATLAS_") => drop(command.env(name, value)),
                _ => drop(command.arg(word)),
            }
        }
        command
    }

    /// All its files except those of syncs.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.place.path("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let path = entry.path();
                if path.ends_with(".local/state") {
                } else if path.is_dir() {
                    folders.push(path);
                } else {
                    files.insert(path.clone(), fs::read(path).unwrap());
                }
            }
        }
        files
    }

    fn sync(&self, folder: &str) {
        assert!(self.line(&format!("sync {folder}")).output().unwrap().status.success());
    }
}

/// The words of a line, with single quotes around those that have spaces.
fn shell_words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    parts
        .flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

const fn mistake(line: &'static str, status: i32, says: &'static str) -> Mistake {
    Mistake { line, before: |_| {}, says, status }
}

const fn after(before: fn(&World), line: &'static str, status: i32, says: &'static str) -> Mistake {
    Mistake { line, before, says, status }
}

fn synced(world: &World) {
    world.sync("notes");
}

fn synced_below(world: &World) {
    world.sync("nest/notes");
}

fn emptied(world: &World) {
    world.sync("notes");
    fs::remove_file(world.place.path("notes/one.md")).unwrap();
    fs::remove_file(world.place.path("notes/inside/two.md")).unwrap();
}

fn others(world: &World) {
    world.line("sync other --store file://HOME/store").output().unwrap();
}

const MISTAKES: &[Mistake] = &[
    // the folder
    mistake("up nots", 1, "cannot be opened"),
    mistake("up notes/one.md", 1, "is a file: name the folder of your notes"),
    mistake("up empty", 1, "has no notes (*.md)"),
    mistake("up code", 1, "has no notes (*.md)"),
    mistake("up icloud", 1, "download them first"),
    mistake("up HOME", 1, "name the folder of your notes, as in `atlas up ~/notes`"),
    mistake("up", 1, "name the folder of your notes, as in `atlas up ~/notes`"),
    mistake("up /", 1, "contains more than notes"),
    after(synced, "up notes/inside", 1, "which is synced already: run `atlas up "),
    after(synced_below, "up nest", 1, "which is synced already: run `atlas up "),
    mistake("up vaults", 1, "vaults/own: run `atlas up "),
    after(emptied, "up notes --port 0", 1, "--allow-mass-delete"),
    after(others, "up notes --port 0 --store file://HOME/store", 1, "--join"),
    mistake("up notes other", 2, "unexpected argument"),
    mistake("sync", 1, "`atlas up` in your notes"),
    mistake("sync notes --root notes", 2, "cannot be used with"),
    mistake("sync nots", 1, "nots"),
    mistake("status", 1, "`atlas up` in your notes"),
    mistake("log", 1, "name a store with --store"),
    mistake("sync notes --watch 0", 2, "1..=86400"),
    // the store
    mistake("up notes --store file://HOME/notes/store", 1, "name a store outside of it"),
    mistake("up notes --store HOME/store", 1, "file:///"),
    mistake("up notes --store ftp://example.org/x", 1, "ftp://example.org/x"),
    mistake("up notes --store s3://", 1, "s3://"),
    mistake("up notes --vault 'a b'", 2, "letters, digits"),
    mistake("log --store file://HOME/none", 1, "not published"),
    mistake("doctor --store file://HOME/none --read-only", 1, "checks failed"),
    mistake("export --to notes --store file://HOME/none", 1, "not published"),
    // a store and a vault that are not there
    mistake("approvals --store file://HOME/none", 1, "not published"),
    mistake("approvals --list --json --store file://HOME/none", 1, "not published"),
    mistake("approve 12345678 --store file://HOME/none", 1, "not published"),
    mistake(
        "approve --store file://HOME/none --operation write_note --args-hash 0123456789abcdef0123456789abcdef",
        1,
        "not published",
    ),
    mistake("refuse 12345678 --store file://HOME/none", 1, "not published"),
    mistake("ui --store file://HOME/none", 1, "not published"),
    mistake("ui --sign-out --store file://HOME/none", 1, "not published"),
    mistake("model list --store file://HOME/none", 1, "not published"),
    mistake("model remove x --store file://HOME/none", 1, "not published"),
    mistake("auth grants --store file://HOME/none", 1, "not published"),
    mistake("auth revoke --all --store file://HOME/none", 1, "not published"),
    mistake("search fog --store file://HOME/none", 1, "not published"),
    mistake("table LIST --store file://HOME/none", 1, "not published"),
    mistake("read one.md --store file://HOME/none", 1, "not published"),
    mistake("undo 2 --store file://HOME/none", 1, "not published"),
    mistake("restore one.md --store file://HOME/none", 1, "not published"),
    mistake("purge one.md --store file://HOME/none", 1, "not published"),
    mistake("resolve --root notes --store file://HOME/none", 1, "not published"),
    mistake("connect cursor --store file://HOME/none", 1, "not published"),
    after(synced, "approvals --vault mian --root notes", 1, "the vault mian is not published"),
    after(synced, "model list --vault mian --root notes", 1, "the vault mian is not published"),
    after(synced, "ui --vault mian --root notes", 1, "the vault mian is not published"),
    after(synced, "ui --root notes", 1, "nothing on this machine serves the vault main"),
    mistake("mcp --root vaults/own", 1, "run `atlas sync "),
    // the port, and who may come in
    mistake("up notes --port TAKEN", 1, "name another port with --port"),
    mistake("up notes --port 99999", 2, "99999"),
    mistake("up notes ATLAS_PORT=web", 1, "write a port from 0 to 65535"),
    mistake("serve --store file://HOME/none --addr 0.0.0.0:0", 1, "ATLAS_AUTH=jwt"),
    mistake("serve --store file://HOME/none --tls-cert cert.pem", 2, "--tls-key"),
    mistake("up notes ATLAS_AUTH=jwt", 1, "ATLAS_JWT_SECRET"),
    // the settings
    mistake("up notes ATLAS_STROE=file://HOME/store", 1, "ATLAS_STROE"),
    mistake("up notes --config none.json", 1, "none.json"),
    mistake("up notes --config broken.json", 1, "write JSON"),
    mistake("up notes --config '{\"auht\": {}}'", 1, "auht"),
    mistake("config validate none.json", 1, "none.json"),
    mistake("mcp --vault main", 1, "name it with --store"),
    // what is written wrong
    mistake("serch", 2, "unrecognized subcommand"),
    mistake("up notes --prot 3000", 2, "--port"),
    mistake("token", 2, "--secret-file FILE or --secret TEXT, or set ATLAS_JWT_SECRET"),
    mistake("auth revoke", 2, "--all"),
    mistake("model add none --store file://HOME/none", 1, "none cannot be read"),
    mistake("token --secret 0123456789abcdef0123456789abcdef --scopes write", 2, "write"),
    mistake(
        "approve --store file://HOME/none --operation nope --args-hash 0123456789abcdef0123456789abcdef",
        1,
        "there is no operation nope",
    ),
    mistake("approve --store file://HOME/none --operation write_note --args-hash x", 2, "32 hexadecimal digits"),
    after(synced, "clients revoke nobody --root notes", 1, "`atlas clients list`"),
    after(synced, "clients add 'a b' --root notes", 1, "write letters, digits"),
    after(synced, "restore none.md --root notes", 1, "`atlas log` lists"),
    after(synced, "restore one.md --generation 99 --root notes", 1, "99"),
    after(synced, "where --root notes --only config", 1, "there is no config"),
    after(synced, "export --root notes --to HOME/notes/copy", 1, "name a folder outside of it"),
    after(synced, "read oned.md --root notes", 1, "there is one.md"),
    after(synced, "read nothing.md --root notes", 1, "there is no note at nothing.md"),
    after(synced, "diff noe.md --root notes", 1, "neither the folder nor the mirror has noe.md"),
    after(synced, "resolve one.md --root notes", 1, "one.md is no conflict copy"),
    after(synced, "purge noe.md --root notes -q", 1, "nothing was erased"),
    after(synced, "undo 99 --root notes", 1, "`atlas log` list commits"),
    after(synced, "approve 1234 --root notes", 1, "`atlas approvals` lists them"),
    after(synced, "approve --session none --root notes", 1, "`atlas approvals` lists those that do"),
    after(synced, "connect nobody --root notes", 2, "claude-code"),
    mistake("connect cursor --url example.org", 2, "https://"),
    mistake("connect cursor --url 'https://a b'", 2, "https://"),
    mistake("connect cursor --url http://notes.example", 2, "https://"),
    mistake("connect cursor --url https://notes.example --token-env 'Bearer x'", 2, "and not the token"),
];

#[test]
fn each_mistake_is_told_in_a_line_that_says_what_to_do() {
    let mut wrong = Vec::new();
    for Mistake { line, before, says, status } in MISTAKES {
        let world = World::new();
        before(&world);
        let files = world.files();
        let output = world.line(line).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let lines = said.lines().filter(|line| !line.starts_with("store: ")).count();
        let is_short = *status == 2 || lines == 1;
        if output.status.code() != Some(*status) || !said.contains(says) || !is_short {
            wrong.push(format!("{line}: {:?}\n{said}", output.status.code()));
        }
        let changed: Vec<PathBuf> = world.files().into_keys().filter(|path| !files.contains_key(path)).collect();
        // A server may be started before the first sync.
        if !line.starts_with("serve") && world.place.path("none").exists() {
            wrong.push(format!("{line} made the store"));
        }
        if !changed.is_empty() || world.files() != files {
            wrong.push(format!("{line} changed {changed:?}"));
        }
    }
    assert!(MISTAKES.len() >= 40 && wrong.is_empty(), "{}", wrong.join("\n"));
}
