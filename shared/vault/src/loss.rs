//! How much of a note a change removes.
//!
//! Two texts are compared by their lines, in any order. A missing line counts as gone when more than half of its words are missing too:
//! checking off a task or correcting a word removes no line. The frontmatter is compared separately, by the values of its properties
//! without their names ([`values`]), so that a property may get another value. Canvases, bases and drawings are compared by what a person
//! wrote in them.

mod values;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};

use crate::canvas::Canvas;
use crate::excalidraw::unpacked;
use crate::frontmatter;

/// In a note with at most this many lines and words, the loss of half the body is not significant: only the loss of all
/// lines is.
const FEW_LINES: usize = 5;
const FEW_WORDS: usize = 30;
/// A tag, a state, a date or a name has at most this many words. Such a value may be replaced or removed.
const SHORT_WORDS: usize = 6;
/// Most distinct lines, and most distinct words of changed lines, that are recorded of the text after the change.
/// Others count as gone.
const MAX_KNOWN: usize = 1 << 20;

/// The amount of a note that a change removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// The properties with a value. One is gone when it has none any more, and no other has its words.
    properties: Share,
    /// The words of all values.
    values: Share,
    /// The words of those values that are texts.
    texts: Share,
    /// The body's lines that are not empty.
    lines: Share,
    /// The body's words, each paired with the word before it.
    words: Share,
}

/// The number of removed units, and of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Share {
    gone: usize,
    of: usize,
}

impl Share {
    const fn is_all(self) -> bool {
        self.of > 0 && self.gone == self.of
    }

    const fn is_most(self) -> bool {
        self.gone > self.of / 2
    }

    const fn add(&mut self, other: Self) {
        self.gone += other.gone;
        self.of += other.of;
    }
}

/// A line, and its hash for comparison.
#[derive(Clone, Copy)]
struct Line<'a> {
    text: &'a str,
    hash: u64,
}

impl Loss {
    /// The loss by changing the file at `path` from `before` to `after`.
    #[must_use]
    pub fn of_file(path: &str, before: &str, after: &str) -> Self {
        let extension = path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
        match extension.as_deref() {
            Some("canvas") => Self::of_canvas(before, after),
            // The whole file is YAML.
            Some("base") => {
                let fenced = |yaml: &str| format!("---\n{}\n---\n", yaml.trim_start_matches('\u{feff}'));
                Self::between(&fenced(before), &fenced(after))
            }
            // A small change of what is compressed is one of all its digits.
            _ => Self::between(&unpacked(before), &unpacked(after)),
        }
    }

    /// Ids, positions and colours are no loss.
    fn of_canvas(before: &str, after: &str) -> Self {
        let Ok(canvas) = Canvas::read(before) else { return Self::between(before, after) };
        let (texts, is_empty) = (canvas.texts(), canvas.nodes().is_empty() && canvas.edges().is_empty());
        match texts.is_empty() {
            true if is_empty => Self::default(),
            true => Self::between(before, after),
            false => Self::between(&texts, &Canvas::read(after).map_or_else(|_| after.to_owned(), |now| now.texts())),
        }
    }

    /// The loss by changing the note `before` to `after`.
    #[must_use]
    pub fn between(before: &str, after: &str) -> Self {
        let (old, new) = (Text::of(before), Text::of(after));
        let mut loss = if old.yaml() == new.yaml() { Self::default() } else { values::loss(old.yaml(), new.yaml()) };
        for line in old.lines(0, before.len()) {
            loss.lines.of += 1;
            loss.words.of += units(line.text).count();
        }
        let (start, end) = (common_start(before, after), common_end(before, after));
        let (old_end, new_end) = ((before.len() - end).max(start), (after.len() - end).max(start));
        let (old, new) = (old.lines(start, old_end), new.lines(start, new_end));
        (loss.lines.gone, loss.words.gone) = compared(old, new);
        loss
    }

    /// Whether nothing is gone.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.values.gone + self.lines.gone + self.words.gone == 0
    }

    /// Whether enough is gone that the note counts as destroyed: more than half of its lines or of its words; all its
    /// properties, if it had several or one with a text; or most of the texts in its properties. A note of a few lines
    /// is destroyed when none of them is left. A note that says more in its properties than in its body is destroyed
    /// when most of them are gone, or most of their texts.
    #[must_use]
    pub const fn is_destruction(&self) -> bool {
        let Self { properties, values, texts, lines, words } = self;
        let is_small = lines.of <= FEW_LINES && words.of <= FEW_WORDS;
        let is_of_properties = words.of < values.of;
        let few = if is_of_properties { SHORT_WORDS } else { FEW_WORDS };
        (is_of_properties && properties.is_most())
            || (properties.is_all() && (properties.of > 1 || values.of > SHORT_WORDS))
            || (texts.of > few && texts.is_most())
            || lines.is_all()
            || (!is_small && (lines.is_most() || words.is_most()))
    }
}

/// How many of the `old` lines, and of their words, are not among the `new`.
fn compared<'a>(old: impl Iterator<Item = Line<'a>>, new: impl Iterator<Item = Line<'a>> + Clone) -> (usize, usize) {
    let mut there = Known::default();
    new.clone().for_each(|line| there.add(line.hash));
    let (mut lines_gone, mut words_gone) = (0, 0);
    let mut changed: Vec<Line<'a>> = Vec::new();
    for line in old.filter(|line| !there.take(line.hash)) {
        if changed.len() < MAX_KNOWN {
            changed.push(line);
        } else {
            lines_gone += 1;
            words_gone += units(line.text).count();
        }
    }
    if changed.is_empty() {
        return (0, 0);
    }
    let mut words = Known::default();
    for line in new.filter(|line| there.take(line.hash)) {
        units(line.text).for_each(|unit| words.add(unit));
    }
    for line in changed {
        let mut share = Share::default();
        for unit in units(line.text) {
            share.of += 1;
            share.gone += usize::from(!words.take(unit));
        }
        words_gone += share.gone;
        lines_gone += usize::from(share.is_most());
    }
    (lines_gone, words_gone)
}

/// The remaining number of occurrences of at most [`MAX_KNOWN`] units.
#[derive(Default)]
struct Known(HashMap<u64, usize>);

impl Known {
    fn add(&mut self, hash: u64) {
        if self.0.len() < MAX_KNOWN || self.0.contains_key(&hash) {
            *self.0.entry(hash).or_default() += 1;
        }
    }

    /// Takes one occurrence; returns whether there was one.
    fn take(&mut self, hash: u64) -> bool {
        match self.0.get_mut(&hash) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        }
    }
}

/// A note's text, and the range of its frontmatter.
struct Text<'a> {
    text: &'a str,
    /// Start and end of the YAML, in bytes.
    yaml: (usize, usize),
    /// The start of the body.
    body: usize,
}

impl<'a> Text<'a> {
    fn of(text: &'a str) -> Self {
        let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let fences = frontmatter::fences(text, start);
        let (yaml, body) = fences.map_or(((0, 0), 0), |(yaml, body)| ((yaml.start, yaml.end), body));
        Self { text, yaml, body }
    }

    fn yaml(&self) -> &'a str {
        self.text.get(self.yaml.0..self.yaml.1).unwrap_or_default()
    }

    /// The lines of the body that begin in this range and are not empty.
    fn lines(&self, start: usize, end: usize) -> impl Iterator<Item = Line<'a>> + Clone {
        let body = self.body;
        let part = self.text.get(start..end).unwrap_or_default();
        let lines = part.split_inclusive('\n').scan(start, |at, line| {
            let begin = *at;
            *at += line.len();
            Some((begin, line.trim()))
        });
        let wanted = move |(at, line): (usize, &'a str)| {
            (!line.is_empty() && at >= body).then(|| Line { text: line, hash: hash(&line) })
        };
        lines.filter_map(wanted)
    }
}

/// The start of the first line in which two texts differ.
fn common_start(one: &str, other: &str) -> usize {
    let alike = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    if alike == one.len() && alike == other.len() {
        return alike;
    }
    one.as_bytes().get(..alike).and_then(|alike| memchr::memrchr(b'\n', alike)).map_or(0, |at| at + 1)
}

/// The length in bytes of the whole lines that two texts have in common at their ends.
fn common_end(one: &str, other: &str) -> usize {
    let alike = one.bytes().rev().zip(other.bytes().rev()).take_while(|(one, other)| one == other).count();
    let tail = one.as_bytes().get(one.len() - alike..).unwrap_or_default();
    memchr::memchr(b'\n', tail).map_or(0, |at| tail.len() - at - 1)
}

fn hash(what: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// The words of a line, each paired with the word before it. A line without words counts as one unit.
fn units(line: &str) -> impl Iterator<Item = u64> + '_ {
    let mut before = "";
    let mut words = words(without_marker(line)).peekable();
    let wordless = words.peek().is_none().then(|| hash(&("", line)));
    let pairs = words.map(move |word| {
        let unit = hash(&(before, word));
        before = word;
        unit
    });
    wordless.into_iter().chain(pairs)
}

/// A list item without its number and its check box, which do not count as words.
fn without_marker(line: &str) -> &str {
    let quoted = line.trim_start_matches(['>', ' ', '\t']);
    let number = quoted.trim_start_matches(|one: char| one.is_ascii_digit());
    let is_item = number.len() < quoted.len() && (number.starts_with(". ") || number.starts_with(") "));
    let item = if is_item { number } else { quoted }.trim_start_matches(['-', '*', '+', '.', ')', ' ', '\t']);
    let mut rest = item.strip_prefix('[').unwrap_or_default().chars();
    if rest.next().is_some() && rest.next() == Some(']') { rest.as_str() } else { item }
}

/// Runs of letters and digits. In scripts without spaces, each character is a word.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.get(rest.find(char::is_alphanumeric)?..)?;
        let is_own = |one: char| one >= '\u{2e80}';
        let first = rest.chars().next()?;
        let end = match is_own(first) {
            true => first.len_utf8(),
            false => rest.find(|one: char| !one.is_alphanumeric() || is_own(one)).unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at_checked(end)?;
        rest = after;
        Some(word)
    })
}

#[cfg(test)]
mod tests;
