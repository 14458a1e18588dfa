//! Real stores, started by the project's own script and stopped after the tests.

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use atlas_mirror::location::{self, Variables};
use atlas_mirror::{Store, StoreOptions};

use crate::project::{project, skip};

/// A running store.
pub struct RealStore {
    /// The variables to connect to it.
    variables: Vec<(String, String)>,
}

/// LocalStack's S3.
pub fn localstack() -> Option<&'static RealStore> {
    static STORE: OnceLock<Option<RealStore>> = OnceLock::new();
    let installed = || project().join("target/tools/localstack/bin/python").exists();
    // CI must not skip the tests that prove the mirror correct.
    let needed = std::env::var_os("CI").is_some();
    STORE.get_or_init(|| RealStore::start("localstack", installed() || needed)).as_ref()
}

/// MinIO.
pub fn minio() -> Option<&'static RealStore> {
    static STORE: OnceLock<Option<RealStore>> = OnceLock::new();
    let installed = || project().join("target/tools/bin/minio").exists();
    STORE.get_or_init(|| RealStore::start("minio", installed())).as_ref()
}

impl RealStore {
    fn start(kind: &str, wanted: bool) -> Option<Self> {
        if !wanted {
            skip(&format!("tests on {kind}, which is not installed; run: make setup-{kind}"));
            return None;
        }
        let started = Command::new(project().join("localstack/start.sh")).arg(kind).output().unwrap();
        assert!(started.status.success(), "{kind}: {}", String::from_utf8_lossy(&started.stderr));
        let text = String::from_utf8(started.stdout).unwrap();
        let variables = text.lines().filter_map(|line| line.strip_prefix("export ")?.split_once('='));
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let store = Self { variables: variables.collect() };
        let port = store.endpoint().rsplit(':').next().unwrap().to_owned();
        stop_after_this_process(kind, &port);
        Some(store)
    }

    /// Its URL: `http://127.0.0.1:port`.
    pub fn endpoint(&self) -> &str {
        let found = self.variables.iter().find(|(name, _)| name == "AWS_ENDPOINT_URL");
        &found.expect("the script says where the store is").1
    }

    /// The environment of a process that connects to it.
    pub fn environment(&self) -> HashMap<&str, &str> {
        let named = self.variables.iter().filter(|(name, _)| name.starts_with("AWS_"));
        named.map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    /// The variables to connect to it, with other values for some names.
    pub fn variables(&self, others: &[(&str, &str)]) -> Variables {
        let others = others.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.variables.iter().cloned().chain(others).collect()
    }

    /// An empty place in it, as a URL.
    pub fn fresh_url(&self) -> String {
        static PLACES: AtomicUsize = AtomicUsize::new(0);
        format!("s3://atlas/test %23{}/{}", std::process::id(), PLACES.fetch_add(1, Relaxed))
    }

    /// An empty place in it.
    pub fn fresh(&self) -> Store {
        patient(location::open(&self.fresh_url(), &self.variables(&[])).unwrap())
    }
}

/// `store` with long time limits, for tests of other things: on a busy machine an emulator may not answer for seconds.
#[must_use]
pub fn patient(store: Store) -> Store {
    let (request_timeout, retry_budget) = (Duration::from_secs(20), Duration::from_secs(60));
    store.limited(StoreOptions { request_timeout, retry_budget, ..StoreOptions::default() })
}

/// Runs even if this process is killed.
#[allow(clippy::zombie_processes, reason = "it outlives this process, which is its purpose")]
fn stop_after_this_process(kind: &str, port: &str) {
    let script = "while kill -0 \"$1\"; do sleep 1; done; exec localstack/stop.sh \"$2\" \"$3\"";
    let mut guard = Command::new("bash");
    guard.args(["-c", script, "guard", &std::process::id().to_string(), kind, port]).current_dir(project());
    guard.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
}
