//! The programs that tests run: `atlas` itself, and others.

use std::fmt::Debug;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use atlas_mirror::location::{self, Variables};
use atlas_mirror::{Mirror, Options, PartCache, Store};
use atlas_testkit::project::project;
use atlas_testkit::real_store::{RealStore, patient};
use serde_json::Value;

/// The folder that cargo builds these tests into.
pub fn target() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned()
}

/// `command`, which runs cargo, without cargo's variables about these tests' package: some packages' build scripts
/// would rebuild because of them, and the next `cargo test` would rebuild again.
pub fn building(mut command: Command) -> Command {
    for (name, _) in std::env::vars() {
        if ["CARGO_MANIFEST_", "CARGO_PKG_"].iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command
}

/// The host program, built with the features of all tests: `cargo test` of the whole workspace has already built it.
pub fn atlas() -> Command {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    at_test_home(Command::new(BUILT.get_or_init(|| {
        let mut build = building(Command::new(env!("CARGO")));
        build
            .args(["test", "--quiet", "--locked", "--workspace", "--test", "program", "--no-run", "--target-dir"])
            .arg(target())
            .current_dir(project());
        assert!(build.status().unwrap().success());
        target().join("debug/atlas")
    })))
}

/// The program of the release before, if it was built (`make setup-previous`).
pub fn previous() -> Option<Command> {
    let program = target().join("previous/atlas");
    program.exists().then(|| at_test_home(Command::new(program)))
}

/// `command` without the settings of who runs the tests.
fn at_test_home(mut command: Command) -> Command {
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("ATLAS_")) {
        command.env_remove(name);
    }
    static HOME: OnceLock<tempfile::TempDir> = OnceLock::new();
    at_home(&mut command, HOME.get_or_init(|| tempfile::tempdir().unwrap()).path());
    command
}

/// The program of a function that answers events, as a process for one event.
pub fn function(name: &str, event: &str) -> Command {
    let atlas = atlas();
    let mut command = Command::new(Path::new(atlas.get_program()).with_file_name(name));
    for (variable, _) in std::env::vars().filter(|(variable, _)| variable.starts_with("ATLAS_")) {
        command.env_remove(variable);
    }
    command.arg(event);
    command
}

/// Makes the program store its state in `home` only.
fn at_home(command: &mut Command, home: &Path) {
    command.env("HOME", home).env_remove("XDG_STATE_HOME").env_remove("XDG_DATA_HOME");
}

/// An empty place for a mirror, and a folder for related files: the sync state, exports.
pub struct Place {
    folder: tempfile::TempDir,
    /// The store, as a URL.
    pub store: String,
    bucket: Option<&'static RealStore>,
}

impl Place {
    /// A folder store.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = format!("file://{}", folder.path().join("store").display());
        Self { folder, store, bucket: None }
    }

    /// A place in a running store.
    pub fn on(bucket: &'static RealStore) -> Self {
        Self { store: bucket.fresh_url(), bucket: Some(bucket), ..Self::new() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `command` with the variables to connect to the store.
    pub fn reached_by(&self, mut command: Command) -> Command {
        command.envs(self.bucket.map(RealStore::environment).unwrap_or_default());
        command
    }

    /// `atlas NAME` on the vault here.
    pub fn atlas(&self, name: &str) -> Command {
        let mut command = self.reached_by(atlas());
        command.args([name, "--vault", "main", "--store", &self.store]);
        command
    }

    pub fn sync(&self, root: &Path) -> Command {
        self.on_vault("sync", root)
    }

    /// A command on a vault's folder.
    pub fn on_vault(&self, name: &str, root: &Path) -> Command {
        let mut command = self.atlas(name);
        command.arg("--root").arg(root).arg("--state").arg(self.path("state"));
        command
    }

    /// `atlas` as a person with this home starts it in `folder`; no store is given.
    pub fn in_folder(&self, folder: &Path) -> Command {
        let mut command = atlas();
        at_home(&mut command, self.folder.path());
        command.current_dir(folder);
        command
    }

    /// Asserts that an export equals `folder`, and returns its generation.
    #[track_caller]
    pub fn exports(&self, folder: &Path) -> u64 {
        let to = tempfile::tempdir_in(self.folder.path()).unwrap();
        let exported = json_of(self.atlas("export").arg("--json").arg("--to").arg(to.path()));
        let difference = difference(folder, to.path());
        assert!(difference.is_empty(), "{difference}");
        exported["generation"].as_u64().unwrap()
    }

    /// The store, opened in this process.
    pub fn open(&self) -> Store {
        let variables = self.bucket.map_or_else(Variables::default, |bucket| bucket.variables(&[]));
        patient(location::open(&self.store, &variables).unwrap())
    }

    /// A cold process's mirror.
    pub fn mirror(&self) -> Mirror {
        Mirror::open(self.open(), "main".parse().unwrap(), PartCache::new(0).into(), Options::default()).unwrap()
    }
}

/// The differences between two folders; empty if they are equal.
pub fn difference(one: &Path, other: &Path) -> String {
    let output = Command::new("diff")
        .args(["--recursive", "--brief", "--exclude=.atlas-mirror"])
        .arg(one)
        .arg(other)
        .output()
        .unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// The output of a command that must succeed.
#[track_caller]
pub fn json_of(command: &mut Command) -> Value {
    let output = command.output().unwrap();
    // A sync reports its result even if something is left to look at.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stdout)))
}

/// The error message of a command that must fail.
#[track_caller]
pub fn refusal_of(command: &mut Command) -> String {
    let output = command.stdout(Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    said
}

/// A free port of the loopback address.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A program that is stopped on drop.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

/// `atlas serve` on a free port, with more settings, and the lines that it prints.
pub fn serve(
    place: &Place,
    settings: impl IntoIterator<Item = (&'static str, String)>,
) -> (Running, impl Iterator<Item = String>) {
    let mut serve = place.atlas("serve");
    serve.args(["--addr", "127.0.0.1:0"]).envs(settings);
    let mut running = Running(serve.stdout(Stdio::piped()).spawn().unwrap());
    let lines = BufReader::new(running.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    (running, lines)
}

/// The result of `look` once it succeeds; panics with the last error after `limit`.
#[track_caller]
pub fn until<T, E: Debug>(limit: Duration, what: &str, mut look: impl FnMut() -> Result<T, E>) -> T {
    let begun = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(said) => assert!(begun.elapsed() < limit, "not within {limit:?}: {what}\n{said:?}"),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The status and body of `curl`'s answer.
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
