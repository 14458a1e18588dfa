//! How much of a note a change removes.
//!
//! Two texts are compared by their lines, in any order. A missing line counts as gone when more than half of its words are missing too:
//! checking off a task or correcting a word removes no line. The frontmatter is compared separately, by the names of its properties and
//! by all its words, so that a property may get another value.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher as _};

use crate::frontmatter;

/// In a note with at most this many lines and words, the loss of half the body is not significant: only the loss of all
/// lines is.
const FEW_LINES: usize = 5;
const FEW_WORDS: usize = 30;
/// Most distinct lines, and most distinct words of changed lines, that are recorded of the text after the change.
/// Others count as gone.
const MAX_KNOWN: usize = 1 << 20;

/// The amount of a note that a change removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// The properties in the frontmatter.
    properties: Share,
    /// The words in the frontmatter.
    values: Share,
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
}

/// A line, and its hash for comparison.
#[derive(Clone, Copy)]
struct Line<'a> {
    text: &'a str,
    hash: u64,
}

impl Loss {
    /// The loss by changing `before` to `after`.
    #[must_use]
    pub fn between(before: &str, after: &str) -> Self {
        let (old, new) = (Text::of(before), Text::of(after));
        let kept = new.properties();
        let properties = old.properties();
        let gone = properties.iter().filter(|name| !kept.contains(*name)).count();
        let mut loss = Self { properties: Share { gone, of: properties.len() }, ..Self::default() };
        for line in old.lines(old.yaml.0, old.yaml.1, true) {
            loss.values.of += units(line.text).count();
        }
        if old.text.get(old.yaml.0..old.yaml.1) != new.text.get(new.yaml.0..new.yaml.1) {
            let (old, new) = (old.lines(old.yaml.0, old.yaml.1, true), new.lines(new.yaml.0, new.yaml.1, true));
            loss.values.gone = compared(old, new).1;
        }
        for line in old.lines(0, before.len(), false) {
            loss.lines.of += 1;
            loss.words.of += units(line.text).count();
        }
        let (start, end) = (common_start(before, after), common_end(before, after));
        let (old_end, new_end) = ((before.len() - end).max(start), (after.len() - end).max(start));
        let (old, new) = (old.lines(start, old_end, false), new.lines(start, new_end, false));
        (loss.lines.gone, loss.words.gone) = compared(old, new);
        loss
    }

    /// Whether nothing is gone.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.properties.gone + self.values.gone + self.lines.gone + self.words.gone == 0
    }

    /// Whether enough is gone that the note counts as destroyed: all its properties, if it had several; most of the
    /// words in its properties; or more than half of its lines or of its words. A note of a few lines is destroyed when
    /// none of them is left.
    #[must_use]
    pub const fn is_destruction(&self) -> bool {
        let Self { properties, values, lines, words } = self;
        let is_small = lines.of <= FEW_LINES && words.of <= FEW_WORDS;
        let is_rest = lines.of == lines.gone;
        (properties.is_all() && (properties.of > 1 || is_rest))
            || (values.of > FEW_WORDS && values.is_most())
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

    fn properties(&self) -> HashSet<&'a str> {
        let yaml = self.text.get(self.yaml.0..self.yaml.1).unwrap_or_default();
        yaml.lines().filter_map(property).collect()
    }

    /// The lines of the body, or of the frontmatter, that begin in this range and are not empty.
    fn lines(&self, start: usize, end: usize, is_yaml: bool) -> impl Iterator<Item = Line<'a>> + Clone {
        let body = self.body;
        let part = self.text.get(start..end).unwrap_or_default();
        let lines = part.split_inclusive('\n').scan(start, |at, line| {
            let begin = *at;
            *at += line.len();
            Some((begin, line.trim()))
        });
        let wanted = move |(at, line): (usize, &'a str)| {
            (!line.is_empty() && (at < body) == is_yaml).then(|| Line { text: line, hash: hash(&line) })
        };
        lines.filter_map(wanted)
    }
}

/// The name of the property that begins on this line of YAML, if one does.
fn property(line: &str) -> Option<&str> {
    let name = line.split_once(':')?.0.trim_end();
    let is_name = !name.is_empty() && !name.starts_with([' ', '\t', '-', '#', '{', '[']);
    is_name.then_some(name)
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
mod tests {
    use std::ops::Range;

    use proptest::prelude::*;

    use super::*;

    fn destroys(before: &str, after: &str) -> bool {
        Loss::between(before, after).is_destruction()
    }

    fn numbered(lines: Range<usize>) -> String {
        lines.map(|line| format!("What was said on day {line}, by whom, and why it holds.\n")).collect()
    }

    #[test]
    fn more_than_half_of_the_lines_is_destruction_and_half_is_not() {
        let before = numbered(0..100);
        assert!(!destroys(&before, &numbered(50..100)));
        assert!(destroys(&before, &numbered(51..100)));
        assert!(destroys(&before, ""));
        assert!(destroys(&before, "gone\n"));
        assert!(!destroys(&before, &(numbered(0..100) + "more\n")));
        let reversed: String = before.lines().rev().map(|line| format!("{line}\n")).collect();
        assert!(Loss::between(&before, &reversed).is_none());
    }

    #[test]
    fn long_lines_count_by_their_words() {
        let paragraph = |from: usize| (from..from + 60).map(|n| format!("word{n} ")).collect::<String>();
        let before = format!("# One\n\n{}\n\n# Two\n\n# Three\n\n# Four\n", paragraph(0));
        assert!(destroys(&before, "# One\n\n# Two\n\n# Three\n\n# Four\n"));
        assert!(!destroys(&before, &before.replace("word7 ", "another ")));
        assert!(destroys(&format!("# T\n\n{}\n", paragraph(0)), &format!("# T\n\n{}\n", paragraph(100))));
        assert!(destroys(&paragraph(0), &paragraph(100)));
        assert!(!destroys(&paragraph(0), &paragraph(10)));
    }

    #[test]
    fn a_note_of_a_few_lines_is_destroyed_when_none_is_left() {
        for (before, after, expected) in [
            ("# A\n\nwords\n", "# A\n\nother words\n", false),
            ("# A\n\nwords\n", "# A\n", false),
            ("# A\n\nwords\n", "# B\n\nother\n", true),
            ("# A\n\nwords\n", "", true),
            ("hello there\n", "bye\n", true),
            ("hello there\n", "hello you\n", false),
            ("- [ ] buy milk\n", "- [x] buy milk ✅ 2024-05-01\n", false),
            ("", "text\n", false),
            ("\n\n", "text\n", false),
            ("⭐⭐⭐\n", "x\n", true),
        ] {
            assert_eq!(destroys(before, after), expected, "{before:?} -> {after:?}");
        }
    }

    #[test]
    fn frontmatter_is_destroyed_when_no_property_is_left() {
        let note = |yaml: &str| format!("---\n{yaml}---\n{}", numbered(0..20));
        let before = note("status: draft\ntags:\n- one\n- two\n");
        assert!(!destroys(&before, &note("status: done and dusted\ntags: [three]\n")));
        assert!(!destroys(&before, &note("status: draft\n")));
        assert!(destroys(&before, &numbered(0..20)));
        assert!(destroys(&before, &note("other: 1\n")));
        assert!(!destroys("---\nstatus: a b c\n---\n", "---\nstatus: d e f\n---\n"));
        assert!(!destroys(&note("tags: [one]\n"), &numbered(0..20)), "the only property");
        assert!(destroys("---\nstatus: a b c\n---\n", ""));
        let call = "Call Anna on 030 12345 before Friday.\n";
        assert!(destroys(&format!("---\ntags: [idea]\n---\n{call}"), "---\ntags: []\n---\n"), "the body alone");
        let long: String = (0..200).map(|n| format!("word{n} ")).collect();
        assert!(
            destroys(&note(&format!("a: 1\nsummary: {long}\n")), &note("a: 1\nsummary: \n")),
            "what a property says"
        );
    }

    #[test]
    fn all_tasks_of_a_note_may_be_checked_off_and_items_numbered_anew() {
        let items = |from: usize| (from..from + 40).map(|n| format!("{n}. item{}\n", n - from)).collect::<String>();
        assert!(Loss::between(&items(1), &items(2)).is_none());
        for item in ["- [ ]", "1. [ ]", "> * [/]"] {
            let tasks: String = (0..40).map(|task| format!("{item} task{task}\n")).collect();
            assert!(Loss::between(&tasks, &tasks.replace("[ ]", "[x]").replace("[/]", "[-]")).is_none());
        }
    }

    #[test]
    fn long_texts_are_compared_by_their_lines_too() {
        let before = numbered(0..120_000);
        let reversed: String = before.lines().rev().map(|line| format!("{line}\n")).collect();
        let both_ends = format!("first\n{before}last\n");
        assert!(Loss::between(&before, &reversed).is_none());
        assert!(Loss::between(&both_ends, &format!("1st\n{before}end\n")).lines.gone <= 2);
        assert!(destroys(&both_ends, &format!("first\n{}last\n", numbered(90_000..120_000))));
    }

    #[test]
    fn what_is_beyond_the_most_that_is_known_counts_as_gone() {
        let lines = |numbers: Range<usize>| numbers.map(|number| format!("{number:x}\n")).collect::<String>();
        let before = lines(0..MAX_KNOWN * 2 + 2);
        let after: String = before.lines().rev().map(|line| format!("{line}\n")).collect();
        let gone = Loss::between(&before, &after).lines.gone;
        assert!(gone > MAX_KNOWN && gone <= MAX_KNOWN + 2, "{gone}");
    }

    proptest! {
        #[test]
        fn what_stays_is_no_loss(before in "[a-c \n#-]{0,60}", first in "[a-c \n]{0,20}", last in "[a-c \n]{0,20}") {
            prop_assert!(Loss::between(&before, &before).is_none());
            let more = format!("{first}\n{before}\n{last}");
            let loss = Loss::between(&before, &more);
            // Text before the frontmatter turns it into body.
            prop_assert!(loss.is_none() || before.starts_with("---"));
        }

        #[test]
        fn nothing_is_left_of_what_is_emptied(before in "\\PC{0,80}") {
            let loss = Loss::between(&before, "");
            prop_assert_eq!(loss.is_destruction(), !before.trim().is_empty());
            prop_assert!(loss.lines.gone <= loss.lines.of && loss.words.gone <= loss.words.of);
        }

        #[test]
        fn no_more_is_gone_than_was_there(before in "(?s).{0,120}", after in "(?s).{0,120}") {
            let Loss { properties, values, lines, words } = Loss::between(&before, &after);
            for share in [properties, values, lines, words] {
                prop_assert!(share.gone <= share.of);
            }
        }
    }
}
