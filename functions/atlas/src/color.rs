//! Colours, on terminals whose owner has not refused them (<https://no-color.org>).

use std::env;
use std::io::IsTerminal;

use crate::output::plain;

/// Whether there are colours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Color(bool);

impl Color {
    /// Those of what is written to `stream`.
    pub(crate) fn of(stream: &impl IsTerminal) -> Self {
        let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        Self(stream.is_terminal() && !is_set("NO_COLOR") && env::var_os("TERM").is_none_or(|term| term != "dumb"))
    }

    /// A path.
    pub(crate) fn path(self, text: &str) -> String {
        self.painted("35", text)
    }

    /// A line's number.
    pub(crate) fn number(self, number: u64) -> String {
        self.painted("32", &number.to_string())
    }

    /// What is added.
    pub(crate) fn added(self, text: &str) -> String {
        self.painted("32", text)
    }

    /// What is taken away.
    pub(crate) fn removed(self, text: &str) -> String {
        self.painted("31", text)
    }

    fn painted(self, code: &str, text: &str) -> String {
        let text = plain(text);
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text }
    }
}
