//! Output: results on standard output, everything else on standard error. A closed pipe is not an error.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

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

/// One line without control characters: names come from files and stores, and must not control the terminal.
pub(crate) fn plain(text: &str) -> String {
    let shown = |character: char| match character {
        '\t' => ' ',
        character if character.is_control() => '\u{fffd}',
        character => character,
    };
    text.chars().map(shown).collect()
}
