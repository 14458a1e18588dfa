//! The results, as rows of a markdown table: on the terminal, and in a file for `make bench`.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

/// Rows of one benchmark.
pub(crate) struct Table(File);

impl Table {
    /// An empty file for the rows of the benchmark `name`.
    pub(crate) fn create(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench");
        std::fs::create_dir_all(&folder).unwrap();
        Self(File::create(folder.join(name).with_extension("md")).unwrap())
    }

    /// Adds a row; `holds` is whether the target is met, if there is one.
    pub(crate) fn row(&mut self, what: &str, vault: &str, result: &str, target: &str, holds: Option<bool>) {
        let holds = holds.map_or("", |holds| if holds { "ok" } else { "**no**" });
        let row = format!("| {what} | {vault} | {result} | {target} | {holds} |");
        eprintln!("{row}");
        writeln!(self.0, "{row}").unwrap();
    }
}

/// Ascending times in a few words.
pub(crate) fn summary(times: &[Duration]) -> String {
    format!(
        "median {}, 95% under {}, longest {}",
        duration(times[times.len() / 2]),
        duration(times[times.len() * 95 / 100]),
        duration(times[times.len() - 1])
    )
}

/// The median time of `repeats` runs.
pub(crate) fn median(repeats: usize, once: impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<Duration> = std::iter::repeat_with(once).take(repeats).collect();
    times.sort_unstable();
    times[repeats / 2]
}

/// A duration to two or three digits.
pub(crate) fn duration(duration: Duration) -> String {
    let milliseconds = duration.as_secs_f64() * 1e3;
    match milliseconds {
        0.0..1.0 => format!("{:.0} µs", milliseconds * 1e3),
        1.0..10.0 => format!("{milliseconds:.1} ms"),
        _ => format!("{milliseconds:.0} ms"),
    }
}

/// Of ascending values, the one that `percent` of them do not exceed.
pub(crate) fn at(values: &[f64], percent: usize) -> f64 {
    values[(values.len() - 1) * percent / 100]
}
