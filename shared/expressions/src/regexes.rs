//! Regular expressions as JavaScript writes them, for the linear engine.

use regex::{Regex, RegexBuilder};

use crate::error::{Error, Result};

/// Longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1000;
/// Most memory that a compiled pattern may take, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// A compiled pattern, with what was written.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// The pattern as it was written.
    pub source: String,
    /// Its flags, as they were written.
    pub flags: String,
    regex: Regex,
}

impl Pattern {
    /// Compiles `source` with the flags `g`, `i`, `m`, `s` and `u`.
    ///
    /// # Errors
    /// If it is not a pattern, is too large, or wants what a linear engine has not: lookaround and backreferences.
    pub fn new(source: &str, flags: &str) -> Result<Self> {
        if source.len() > MAX_PATTERN_BYTES {
            return Err(Error::limit(format!("a regular expression has at most {MAX_PATTERN_BYTES} bytes")));
        }
        if let Some(flag) = flags.chars().find(|flag| !"gimsuy".contains(*flag)) {
            return Err(Error::evaluation(format!("there is no flag \"{flag}\" of regular expressions")));
        }
        for around in ["(?=", "(?!", "(?<=", "(?<!"] {
            if source.contains(around) {
                return Err(Error::unsupported(format!(
                    "lookaround (\"{around}\") is not supported in regular expressions: match more, and use a group"
                )));
            }
        }
        let translated = translate(source)?;
        let regex = RegexBuilder::new(&translated)
            .case_insensitive(flags.contains('i'))
            .multi_line(flags.contains('m'))
            .dot_matches_new_line(flags.contains('s'))
            .size_limit(MAX_COMPILED_BYTES)
            .dfa_size_limit(MAX_COMPILED_BYTES)
            .build();
        let regex = regex.map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => Error::limit("that regular expression is too large"),
            _ => Error::evaluation(format!("\"{source}\" is not a regular expression")),
        })?;
        Ok(Self { source: source.to_owned(), flags: flags.to_owned(), regex })
    }

    /// The compiled pattern.
    #[must_use]
    pub fn regex(&self) -> &Regex {
        &self.regex
    }

    /// Whether all matches count, not the first alone.
    pub(crate) fn global(&self) -> bool {
        self.flags.contains('g')
    }

    /// Replaces matches with `by`, in which `$1` to `$99`, `$&`, `$<name>` and `$$` are what JavaScript says.
    pub(crate) fn replace(&self, text: &str, by: &str, all: bool) -> String {
        let mut written = String::with_capacity(text.len());
        let mut end = 0;
        for found in self.regex.captures_iter(text).take(if all { usize::MAX } else { 1 }) {
            let Some(whole) = found.get(0) else { break };
            written.push_str(text.get(end..whole.start()).unwrap_or_default());
            expand(by, &found, &mut written);
            end = whole.end();
        }
        written.push_str(text.get(end..).unwrap_or_default());
        written
    }

    /// The parts of `text` between matches, with what the groups matched among them; at most `limit`.
    pub(crate) fn split(&self, text: &str, limit: usize) -> Vec<String> {
        let mut parts = Vec::new();
        if limit == 0 {
            return parts;
        }
        if text.is_empty() {
            return if self.regex.is_match("") { parts } else { vec![String::new()] };
        }
        let mut start = 0;
        for found in self.regex.captures_iter(text) {
            let Some(whole) = found.get(0) else { break };
            if whole.is_empty() && (whole.start() <= start || whole.end() >= text.len()) || whole.start() >= text.len()
            {
                continue;
            }
            parts.push(text.get(start..whole.start()).unwrap_or_default().to_owned());
            parts.extend(
                found.iter().skip(1).map(|group| group.map_or_else(String::new, |group| group.as_str().to_owned())),
            );
            start = whole.end();
            if parts.len() >= limit {
                parts.truncate(limit);
                return parts;
            }
        }
        parts.push(text.get(start..).unwrap_or_default().to_owned());
        parts.truncate(limit);
        parts
    }
}

fn expand(by: &str, found: &regex::Captures<'_>, written: &mut String) {
    let group = |number: usize| found.get(number).map_or("", |group| group.as_str());
    let mut rest = by;
    while let Some(at) = rest.find('$') {
        written.push_str(rest.get(..at).unwrap_or_default());
        let after = rest.get(at + 1..).unwrap_or_default();
        let digits = after.bytes().take(2).take_while(u8::is_ascii_digit).count();
        let number = |count: usize| after.get(..count).and_then(|digits| digits.parse::<usize>().ok());
        let taken = (1..=digits).rev().find_map(|count| {
            number(count).filter(|number| (1..found.len()).contains(number)).map(|number| (number, count))
        });
        let used = match (after.bytes().next(), taken) {
            (_, Some((number, count))) => {
                written.push_str(group(number));
                count
            }
            (Some(b'$'), _) => {
                written.push('$');
                1
            }
            (Some(b'&'), _) => {
                written.push_str(group(0));
                1
            }
            (Some(b'<'), _) if after.contains('>') => {
                let end = after.find('>').unwrap_or(1);
                written.push_str(found.name(after.get(1..end).unwrap_or_default()).map_or("", |group| group.as_str()));
                end + 1
            }
            _ => {
                written.push('$');
                0
            }
        };
        rest = after.get(used..).unwrap_or_default();
    }
    written.push_str(rest);
}

/// JavaScript's pattern in the engine's syntax: `\d`, `\w` and `\b` are of ASCII, braces and brackets may stand alone.
fn translate(source: &str) -> Result<String> {
    let mut written = String::with_capacity(source.len() + 16);
    let mut chars = source.char_indices().peekable();
    let mut class = false;
    while let Some((at, char)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        match char {
            '\\' => {
                let Some((_, escaped)) = chars.next() else {
                    return Err(Error::evaluation("a regular expression may not end with a single \"\\\""));
                };
                match escaped {
                    'd' => written.push_str(if class { "0-9" } else { "[0-9]" }),
                    'D' => written.push_str("[^0-9]"),
                    'w' => written.push_str(if class { "0-9A-Za-z_" } else { "[0-9A-Za-z_]" }),
                    'W' => written.push_str("[^0-9A-Za-z_]"),
                    's' => written.push_str(if class { r"\s\x{FEFF}" } else { r"[\s\x{FEFF}]" }),
                    'b' if class => written.push_str(r"\x08"),
                    'b' => written.push_str(r"(?-u:\b)"),
                    'S' | 'n' | 'r' | 't' | 'f' | 'v' | 'p' | 'P' | 'x' => {
                        written.push('\\');
                        written.push(escaped);
                    }
                    'B' => written.push_str(r"(?-u:\B)"),
                    'u' => {
                        let digits = source
                            .get(at + 2..at + 6)
                            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
                        if let Some(digits) = digits {
                            written.push_str(&format!(r"\x{{{digits}}}"));
                            (0..4).for_each(|_| {
                                chars.next();
                            });
                        } else if next_is_brace(source, at + 2) {
                            written.push_str(r"\x");
                        } else {
                            written.push('u');
                        }
                    }
                    '0' => written.push_str(r"\x00"),
                    '1'..='9' | 'k' => {
                        return Err(Error::unsupported("backreferences are not supported in regular expressions"));
                    }
                    _ => written.push_str(&regex::escape(escaped.encode_utf8(&mut [0; 4]))),
                }
            }
            '[' if class => written.push_str(r"\["),
            '[' => {
                class = true;
                written.push('[');
                if next == Some('^') {
                    written.push('^');
                    chars.next();
                }
                if chars.peek().is_some_and(|(_, next)| *next == ']') {
                    return Err(Error::unsupported("an empty class \"[]\" is not supported in regular expressions"));
                }
            }
            ']' if class => {
                class = false;
                written.push(']');
            }
            ']' => written.push_str(r"\]"),
            '&' | '~' if class => {
                written.push('\\');
                written.push(char);
            }
            '-' if class && next == Some('-') => written.push_str(r"\-"),
            '{' if !class && !is_count(source.get(at..).unwrap_or_default()) && !escaped_braces(source, at) => {
                written.push_str(r"\{")
            }
            '}' if !class && !closes_count(source, at) => written.push_str(r"\}"),
            '.' if !class => written.push('.'),
            _ => written.push(char),
        }
    }
    Ok(written)
}

fn next_is_brace(source: &str, at: usize) -> bool {
    source.get(at..).is_some_and(|rest| rest.starts_with('{'))
}

/// Whether the text begins with `{2}`, `{2,}` or `{2,3}`, or the braces of `\p{…}`.
fn is_count(text: &str) -> bool {
    let Some((inner, _)) = text.get(1..).and_then(|text| text.split_once('}')) else { return false };
    let (low, high) = inner.split_once(',').unwrap_or((inner, ""));
    !low.is_empty() && low.bytes().chain(high.bytes()).all(|byte| byte.is_ascii_digit())
}

fn closes_count(source: &str, at: usize) -> bool {
    let before = source.get(..at).unwrap_or_default();
    before
        .rfind('{')
        .is_some_and(|open| is_count(source.get(open..).unwrap_or_default()) || escaped_braces(before, open))
}

/// Whether the brace at `open` belongs to `\p`, `\P`, `\u` or `\x`.
fn escaped_braces(before: &str, open: usize) -> bool {
    before.get(..open).is_some_and(|before| [r"\p", r"\P", r"\u", r"\x"].iter().any(|escape| before.ends_with(escape)))
}

/// The text as a pattern that matches it alone, in JavaScript's syntax.
pub(crate) fn escape(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for char in text.chars() {
        if ".*+?^${}()|[]\\/".contains(char) {
            written.push('\\');
        }
        written.push(char);
    }
    written
}
