//! Compares two texts for a person.

use std::ops::Range;

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, TokenSource, UnifiedDiffConfig};

/// Longest line whose words are compared, in bytes.
const MAX_LINE: usize = 4 << 10;

/// The differences between `old` and `new` as a unified diff without a header; empty if there are none.
#[must_use]
pub fn unified(old: &str, new: &str) -> String {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let printer = BasicLineDiffPrinter(&input.interner);
    diff.unified_diff(&printer, UnifiedDiffConfig::default(), &input).to_string()
}

/// The number of lines that only one of two texts has.
#[must_use]
pub fn distance(old: &str, new: &str) -> u64 {
    let diff = Diff::compute(Algorithm::Histogram, &InternedInput::new(old, new));
    u64::from(diff.count_removals()) + u64::from(diff.count_additions())
}

/// Parts of a line, as ranges of bytes.
pub type Parts = Vec<Range<usize>>;

/// The parts of two versions of a line that differ, as ranges of bytes, word by word; [`None`] if they have little in common, or are long.
#[must_use]
pub fn words(old: &str, new: &str) -> Option<(Parts, Parts)> {
    if old.len().max(new.len()) > MAX_LINE {
        return None;
    }
    let input = InternedInput::new(Words(old), Words(new));
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let (starts_of_old, starts_of_new) = (starts(old), starts(new));
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for hunk in diff.hunks() {
        push(&mut removed, &starts_of_old, &hunk.before);
        push(&mut added, &starts_of_new, &hunk.after);
    }
    let differ = |ranges: &[Range<usize>]| ranges.iter().map(Range::len).sum::<usize>();
    let is_alike =
        |all: &str, ranges: &[Range<usize>]| differ(ranges).saturating_mul(10) <= all.len().saturating_mul(7);
    (is_alike(old, &removed) || is_alike(new, &added)).then_some((removed, added))
}

fn push(ranges: &mut Vec<Range<usize>>, starts: &[usize], tokens: &Range<u32>) {
    let start = |token: u32| starts.get(token as usize).copied().unwrap_or_default();
    if !tokens.is_empty() {
        ranges.push(start(tokens.start)..start(tokens.end));
    }
}

/// Where each word of a line begins, and where the last ends.
fn starts(line: &str) -> Vec<usize> {
    let mut starts = vec![0];
    let mut end = 0;
    for word in Words(line) {
        end += word.len();
        starts.push(end);
    }
    starts
}

/// The words of a line, and what is between them.
#[derive(Clone, Copy)]
struct Words<'a>(&'a str);

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let mut letters = self.0.chars();
        let first = letters.next()?;
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let end = match first {
            first if is_word(first) => self.0.find(|letter| !is_word(letter)).unwrap_or(self.0.len()),
            first if first.is_whitespace() => {
                self.0.find(|letter: char| !letter.is_whitespace()).unwrap_or(self.0.len())
            }
            first => first.len_utf8(),
        };
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(word)
    }
}

impl<'a> TokenSource for Words<'a> {
    type Token = &'a str;
    type Tokenizer = Self;

    fn tokenize(&self) -> Self {
        *self
    }

    fn estimate_tokens(&self) -> u32 {
        u32::try_from(self.0.len() / 4).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_the_lines_that_go_and_come() {
        let diff = unified("one\ntwo\nthree\n", "one\n2\nthree\n");
        assert_eq!(diff, "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
        assert_eq!((unified("same\n", "same\n").as_str(), distance("same\n", "same\n")), ("", 0));
        assert_eq!(distance("one\ntwo\nthree\n", "one\n2\nthree\nfour\n"), 3);
        assert!(unified("gone\n", "").ends_with("-gone\n"));
    }

    #[test]
    fn words_that_differ_are_marked() {
        let parts = |old: &str, new: &str| {
            let (removed, added) = words(old, new)?;
            let of = |text: &str, ranges: Vec<Range<usize>>| -> Vec<String> {
                ranges.into_iter().map(|range| text[range].to_owned()).collect()
            };
            Some((of(old, removed), of(new, added)))
        };
        let some = |removed: &[&str], added: &[&str]| {
            Some((
                removed.iter().map(|&one| one.to_owned()).collect(),
                added.iter().map(|&one| one.to_owned()).collect(),
            ))
        };
        assert_eq!(parts("the red boat sails", "the blue boat sails"), some(&["red"], &["blue"]));
        assert_eq!(parts("see [[Häfen]].", "see [[Häfen]], and on."), some(&[], &[", and on"]));
        assert_eq!(parts("one", "one"), some(&[], &[]));
        assert_eq!(parts("entirely other", "nothing=alike!"), None);
        assert_eq!(parts(&"x ".repeat(3000), "x"), None);
    }
}
