//! The progress of long work: a bar on a terminal, elsewhere a line from time to time.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use atlas_mirror::repair::Repaired;
use atlas_sync::{Phase, Progress};
use indicatif::{DecimalBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};

use crate::output::{self, Verbosity};

/// The interval of lines, if standard error is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// The progress display for standard error; none if `quiet`.
pub(crate) fn start(quiet: bool) -> Arc<dyn Progress> {
    let is_terminal = std::io::stderr().is_terminal();
    if output::verbosity() == Verbosity::Quiet || (quiet && !is_terminal) {
        Arc::new(())
    } else if is_terminal {
        let bar = ProgressBar::no_length();
        output::print_above(Some(bar.clone()));
        Arc::new(Bar(bar))
    } else {
        let now = Instant::now();
        Arc::new(ProgressLines(Mutex::new(Line { phase: Phase::Scan, done: 0, total: None, began: now, printed: now })))
    }
}

/// Passes progress on, and records the current phase.
pub(crate) struct Phases {
    inner: Mutex<Arc<dyn Progress>>,
    now: Mutex<(Phase, u64)>,
    repaired: Mutex<Option<Repaired>>,
}

impl Phases {
    /// Wraps a display.
    pub(crate) fn over(inner: Arc<dyn Progress>) -> Arc<Self> {
        Arc::new(Self { inner: Mutex::new(inner), now: Mutex::new((Phase::Scan, 0)), repaired: Mutex::default() })
    }

    fn inner(&self) -> Arc<dyn Progress> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the display.
    pub(crate) fn end(&self) {
        *self.inner.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(());
    }

    /// The result of a repair, if there was one.
    pub(crate) fn repaired(&self) -> Option<Repaired> {
        self.repaired.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The message after an interruption.
    pub(crate) fn interrupted(&self) -> String {
        let (phase, done) = *self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let done = match phase {
            Phase::Embed => format!("{} passages", HumanCount(done)),
            Phase::Scan | Phase::Extract => format!("{} files", HumanCount(done)),
            Phase::Commit => "perhaps committed".to_owned(),
            _ => format!("{} done", DecimalBytes(done)),
        };
        let (name, kept) = (name(phase), "what was uploaded is not uploaded again");
        format!("interrupted while {name} ({done}); the next sync goes on from here, {kept}")
    }
}

impl Progress for Phases {
    fn begin(&self, phase: Phase, total: Option<u64>) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = (phase, 0);
        self.inner().begin(phase, total);
    }

    fn advance(&self, units: u64) {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).1 += units;
        self.inner().advance(units);
    }

    fn repaired(&self, repaired: &Repaired) {
        *self.repaired.lock().unwrap_or_else(PoisonError::into_inner) = Some(repaired.clone());
    }
}

const fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Scan => "listing",
        Phase::Read => "reading",
        Phase::Upload => "uploading",
        Phase::Index => "indexing",
        Phase::Commit => "committing",
        Phase::Write => "writing",
        Phase::Extract => "reading text in attachments",
        Phase::Embed => "embedding",
    }
}

/// The pause between two looks of a bar that nothing moves.
const TICK: Duration = Duration::from_millis(250);

/// A bar, removed when the work is done.
struct Bar(ProgressBar);

impl Progress for Bar {
    fn begin(&self, phase: Phase, total: Option<u64>) {
        let template = match (phase, total) {
            (Phase::Scan, _) => "{spinner} {msg} {human_pos} files, {per_sec}",
            (Phase::Embed, Some(_)) => "{spinner} {msg} {wide_bar} {human_pos} of {human_len} passages, {eta} left",
            (Phase::Extract, Some(_)) => "{spinner} {msg} {wide_bar} {human_pos} of {human_len} files, {eta} left",
            (Phase::Commit, _) => "{spinner} {msg}, {elapsed}",
            (_, None) => "{spinner} {msg} {decimal_bytes}, {decimal_bytes_per_sec}",
            (_, Some(_)) => {
                "{spinner} {msg} {wide_bar} {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left"
            }
        };
        self.0.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        self.0.set_message(name(phase));
        self.0.reset();
        // Nothing is counted in this phase, which takes minutes over a slow connection.
        match phase {
            Phase::Commit => self.0.enable_steady_tick(TICK),
            _ => self.0.disable_steady_tick(),
        }
        match total {
            Some(total) => self.0.set_length(total),
            None => self.0.unset_length(),
        }
    }

    fn advance(&self, units: u64) {
        self.0.inc(units);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        output::print_above(None);
        self.0.finish_and_clear();
    }
}

/// A line from time to time.
struct ProgressLines(Mutex<Line>);

struct Line {
    phase: Phase,
    done: u64,
    total: Option<u64>,
    began: Instant,
    printed: Instant,
}

impl Progress for ProgressLines {
    fn begin(&self, phase: Phase, total: Option<u64>) {
        let mut line = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *line = Line { phase, done: 0, total, began: Instant::now(), printed: line.printed };
    }

    fn advance(&self, units: u64) {
        let mut line = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        line.done += units;
        if line.printed.elapsed() < LINE_EVERY {
            return;
        }
        line.printed = Instant::now();
        output::note(line.text(line.began.elapsed()));
    }
}

impl Line {
    /// The progress of the phase, `elapsed` after it began: how much is done, how fast, and how long the rest takes at
    /// that speed.
    fn text(&self, elapsed: Duration) -> String {
        let (name, done) = (name(self.phase), self.done);
        let a_second = (done as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
        let (amount, unit): (fn(u64) -> String, &str) = match self.phase {
            Phase::Scan | Phase::Extract => (|count| HumanCount(count).to_string(), " files"),
            Phase::Embed => (|count| HumanCount(count).to_string(), " passages"),
            _ => (|bytes| DecimalBytes(bytes).to_string(), ""),
        };
        let speed = amount(a_second);
        match self.total {
            None => format!("{name}: {}{unit}, {speed}/s", amount(done)),
            Some(total) => {
                let left = HumanDuration(Duration::from_secs(total.saturating_sub(done) / a_second.max(1)));
                format!("{name}: {} of {}{unit}, {speed}/s, {left} left", amount(done), amount(total))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_much_how_fast_and_how_long_still() {
        let now = Instant::now();
        let line = |phase, done, total| Line { phase, done, total, began: now, printed: now };
        let after = Duration::from_secs(10);
        assert_eq!(line(Phase::Scan, 25_000, None).text(after), "listing: 25,000 files, 2,500/s");
        assert_eq!(
            line(Phase::Read, 20_000_000, Some(80_000_000)).text(after),
            "reading: 20.00 MB of 80.00 MB, 2.00 MB/s, 30 seconds left"
        );
        assert_eq!(
            line(Phase::Embed, 2_500, Some(130_000)).text(after),
            "embedding: 2,500 of 130,000 passages, 250/s, 9 minutes left"
        );
        assert_eq!(line(Phase::Upload, 0, None).text(Duration::ZERO), "uploading: 0 B, 0 B/s");
    }
}
