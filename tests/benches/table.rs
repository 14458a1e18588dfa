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

    /// Adds a row; `holds` says whether the target is met, if there is one.
    pub(crate) fn row(&mut self, what: &str, vault: &str, result: &str, target: &str, holds: Option<bool>) {
        let holds = holds.map_or("", |holds| if holds { "ok" } else { "**no**" });
        let row = format!("| {what} | {vault} | {result} | {target} | {holds} |");
        eprintln!("{row}");
        writeln!(self.0, "{row}").unwrap();
    }

    /// Adds a row for ascending times, whose median should not be over `target`.
    pub(crate) fn time(&mut self, what: &str, vault: &str, times: &[Duration], target: Option<Duration>) {
        let median = times[times.len() / 2];
        let result = format!(
            "median {}, 95% under {}, longest {}",
            duration(median),
            duration(times[times.len() * 95 / 100]),
            duration(times[times.len() - 1])
        );
        let limit = target.map_or(String::new(), |target| format!("median {}", duration(target)));
        self.row(what, vault, &result, &limit, target.map(|target| median <= target));
    }
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
