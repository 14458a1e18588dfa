//! `rg` as a whole process.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The result if it is missing.
pub(crate) const MISSING: &str = "not run: there is no `rg`; run `make setup-bench`";

/// The time of a search of the folder `root`; [`None`] if there is no `rg`.
pub(crate) fn time(root: &Path, options: &[&str], pattern: &str) -> Option<Duration> {
    let mut command = Command::new("rg");
    command.args(["--no-config", "--no-ignore", "--hidden", "--line-number"]).args(options);
    command.args(["--regexp", pattern, "--"]).arg(root).stdout(Stdio::null());
    let begun = Instant::now();
    let status = command.status().ok()?;
    let took = begun.elapsed();
    assert!(status.code().is_some_and(|code| code < 2), "rg of {pattern:?} failed");
    Some(took)
}
