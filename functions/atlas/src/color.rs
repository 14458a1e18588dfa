//! Colours, on terminals whose users have not disabled them (<https://no-color.org>).

use std::env;
use std::io::IsTerminal;

use regex::Regex;

use crate::output::{plain, plain_within};

/// Whether there are colours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Color(bool);

impl Color {
    /// The colours for `stream`.
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

    /// An added line.
    pub(crate) fn added(self, text: &str) -> String {
        self.painted("32", text)
    }

    /// A removed line.
    pub(crate) fn removed(self, text: &str) -> String {
        self.painted("31", text)
    }

    /// A line, with `matches` highlighted.
    pub(crate) fn matches(self, line: &str, matches: Option<&Regex>) -> String {
        let Some(matches) = matches.filter(|_| self.0) else { return plain(line) };
        let mut painted = String::new();
        let mut last = 0;
        let shown = |start: usize, end: usize| {
            let part = |range| line.get(range).unwrap_or_default();
            plain_within(part(0..start), part(start..end), part(end..line.len()))
        };
        for found in matches.find_iter(line).filter(|found| !found.is_empty()) {
            painted.push_str(&shown(last, found.start()));
            painted.push_str(&self.colored("1;31", shown(found.start(), found.end())));
            last = found.end();
        }
        painted.push_str(&shown(last, line.len()));
        painted
    }

    fn painted(self, code: &str, text: &str) -> String {
        self.colored(code, plain(text))
    }

    fn colored(self, code: &str, shown: String) -> String {
        if self.0 { format!("\u{1b}[{code}m{shown}\u{1b}[0m") } else { shown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_looked_for_stands_out() {
        let boat = Regex::new("boats?").unwrap();
        let line = "a boat, two boats\u{7}";
        assert_eq!(
            Color(true).matches(line, Some(&boat)),
            "a \u{1b}[1;31mboat\u{1b}[0m, two \u{1b}[1;31mboats\u{1b}[0m".to_owned() + &plain("\u{7}")
        );
        for (color, matches) in [(Color(false), Some(&boat)), (Color(true), None)] {
            assert_eq!(color.matches(line, matches), plain(line));
        }
        assert_eq!(Color(true).matches("ab", Some(&Regex::new("x*").unwrap())), "ab");
    }
}
