//! Output: results on standard output, everything else on standard error. A closed pipe is not an error.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use atlas_vault::visible::piece;
use indicatif::ProgressBar;
use serde::Serialize;
use tracing_subscriber::filter::LevelFilter;

/// A command completed and has reported a result that its exit status should show.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ended {
    /// It found nothing.
    NothingFound,
    /// Something waits for a person, or conflicts.
    NeedsAttention,
}

impl Ended {
    /// How a command ends which has looked whether something waits.
    pub(crate) fn waiting(something: bool) -> Result<(), Box<dyn Error>> {
        if something { Err(Self::NeedsAttention.into()) } else { Ok(()) }
    }

    /// The exit status.
    pub(crate) fn status(self) -> u8 {
        match self {
            Self::NothingFound => 1,
            Self::NeedsAttention => 3,
        }
    }
}

impl Error for Ended {}

impl Display for Ended {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NothingFound => "nothing was found",
            Self::NeedsAttention => "something waits, or is in conflict",
        })
    }
}

/// Prints a line of the result that is [plain] except for colours.
pub(crate) fn painted(text: &str) {
    around_bar(|| {
        let _ = writeln!(io::stdout(), "{text}");
    });
}

/// Prints a line of the result.
pub(crate) fn line(text: impl Display) {
    painted(&plain(&text.to_string()));
}

/// Prints a line beside the result, unless only results and errors are wanted.
pub(crate) fn note(text: impl Display) {
    if verbosity() > Verbosity::Quiet {
        to_stderr(text);
    }
}

/// Prints a question, at any verbosity.
pub(crate) fn question(text: &str) {
    to_stderr(text);
}

/// Prints an error as one line.
pub(crate) fn error(error: &dyn Error) {
    to_stderr(format_args!("atlas: {error}"));
}

fn to_stderr(text: impl Display) {
    around_bar(|| {
        let _ = writeln!(io::stderr(), "{}", plain(&text.to_string()));
    });
}

/// The bar that stands on the terminal, while there is one.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Has what is printed from now on stand above `bar`; none if there is no bar any more.
pub(crate) fn print_above(bar: Option<ProgressBar>) {
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

/// Prints while the bar is out of the way.
fn around_bar(print: impl FnOnce()) {
    let bar = BAR.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// Prints the result as JSON.
pub(crate) fn json(result: &impl Serialize) -> Result<(), Box<dyn Error>> {
    let text = serde_json::to_string(result)?;
    let _ = writeln!(io::stdout(), "{text}");
    Ok(())
}

/// The amount of output beside results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Errors only.
    Quiet,
    /// Messages for people.
    Normal,
    /// Also the names of changed files, and the libraries' log.
    Verbose,
    /// The libraries' whole log.
    Debug,
}

/// The program's verbosity, from its arguments.
static VERBOSITY: OnceLock<Verbosity> = OnceLock::new();

/// Sets the verbosity, once.
pub(crate) fn set_verbosity(wanted: Verbosity) {
    let _ = VERBOSITY.set(wanted);
}

/// The verbosity.
pub(crate) fn verbosity() -> Verbosity {
    VERBOSITY.get().copied().unwrap_or(Verbosity::Normal)
}

/// The level of logging for the verbosity.
pub(crate) fn log_level() -> &'static str {
    match verbosity() {
        Verbosity::Quiet => "error",
        Verbosity::Normal => "warn",
        Verbosity::Verbose => "info",
        Verbosity::Debug => "debug",
    }
}

/// Logs the libraries' messages to standard error.
pub(crate) fn start_log() {
    let level = log_level().parse().unwrap_or(LevelFilter::WARN);
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr).without_time().with_target(false);
    if io::stderr().is_terminal() { log.init() } else { log.with_ansi(false).init() }
}

/// A path as people write it, with `~` for their home.
pub(crate) fn short(path: &Path) -> String {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    match home.as_deref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

/// One line in which what cannot be seen stands as its number: names and texts come from files and stores, and must neither control the terminal nor
/// look like others.
pub(crate) fn plain(text: &str) -> String {
    plain_within("", text, "")
}

/// The same for `text`, which stands between others.
pub(crate) fn plain_within(before: &str, text: &str, after: &str) -> String {
    // The ends of lines, which `piece` leaves, would begin another line here.
    piece(before, text, after).replace('\t', " ").replace('\r', "⟨U+000D⟩").replace('\n', "⟨U+000A⟩")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_what_cannot_be_seen_and_stays_one_line() {
        assert_eq!(plain("pay\u{202E}exe.md\tno\u{200B}w"), "pay⟨U+202E⟩exe.md no⟨U+200B⟩w");
        assert_eq!(plain("\u{1b}[2Ja\r\nb"), "⟨U+001B⟩[2Ja⟨U+000D⟩⟨U+000A⟩b");
        assert_eq!(plain("👩\u{200D}👧 שלום"), "👩\u{200D}👧 שלום");
        assert_eq!(plain_within("👩", "\u{200D}", "👧"), "\u{200D}");
    }
}
