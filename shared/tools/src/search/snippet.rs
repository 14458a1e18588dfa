//! Snippets: the most relevant line of a note for the searched words.

use std::collections::HashMap;
use std::ops::Range;

use atlas_ops::read::excerpt::cut_at;
use atlas_vault::words::{Word, words, words_where};

use crate::search::expression::Token;
use crate::search::sieve::Sieve;

/// Most bytes of a snippet.
const SNIPPET_BYTES: usize = 320;
/// A line shorter than this is quoted with the one after it.
const SHORT_BYTES: usize = 80;
/// The weight of a line of the frontmatter, compared with one of the text.
const FRONTMATTER: f32 = 0.25;
/// Most distinct words searched in one note.
const MAX_WORDS: usize = 64;

/// The searched words and their weights.
#[derive(Default)]
pub(crate) struct SearchedWords {
    words: Vec<(Token, f32)>,
    /// By word of a text: the index of the searched word that it matches.
    known: HashMap<String, u8>,
    /// Prefixes, and their indexes.
    prefixes: Vec<(Token, u8)>,
    sieve: Sieve,
}

/// A passage.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Snippet {
    /// Counted from 0.
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl SearchedWords {
    /// Adds a word, which texts also have in these spellings.
    pub(crate) fn push<'a>(&mut self, token: Token, worth: f32, spellings: impl Iterator<Item = &'a str>) {
        let Some(index) = u8::try_from(self.words.len()).ok().filter(|index| usize::from(*index) < MAX_WORDS) else {
            return;
        };
        self.sieve.add(&token.word, token.is_prefix);
        if token.is_prefix {
            self.prefixes.push((token.clone(), index));
        } else {
            self.known.entry(token.word.clone()).or_insert(index);
            for spelling in spellings {
                self.sieve.add(spelling, false);
                self.known.entry(spelling.to_owned()).or_insert(index);
            }
        }
        self.words.push((token, worth));
    }

    /// The index of the searched word that a text's word matches.
    pub(crate) fn index(&self, word: &str) -> Option<u8> {
        let prefix = || self.prefixes.iter().find(|(token, _)| token.is(word)).map(|(_, index)| *index);
        self.known.get(word).copied().or_else(prefix)
    }

    /// The words of a text that match searched ones, with the indexes of those.
    fn matches<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (Word<'a>, u8)> {
        let words = words_where(text, |written| self.sieve.may_pass(written));
        words.filter_map(|word| self.index(&word.folded).map(|index| (word, index)))
    }

    /// The searched words that a text has, each once.
    pub(crate) fn found(&self, text: &str) -> impl Iterator<Item = &str> {
        let mut found = 0u64;
        self.matches(text).for_each(|(_, index)| found |= 1 << index);
        let has = move |index: &usize| found & (1 << index) != 0;
        (0..self.words.len())
            .filter(has)
            .filter_map(|index| self.words.get(index))
            .map(|(token, _)| token.word.as_str())
    }

    /// A searched word, and its weight.
    pub(crate) fn word(&self, index: u8) -> Option<(&str, f32)> {
        self.words.get(usize::from(index)).map(|(token, worth)| (token.word.as_str(), *worth))
    }

    /// The best line of `text`: the one with the greatest weight of searched words, the first of equals; its beginning
    /// if there is none. Lines of `passage`, its bytes, come before all others.
    pub(crate) fn snippet(&self, text: &str, passage: Range<usize>) -> Snippet {
        let body = body(text);
        let mut best: Option<(f32, usize, usize)> = None;
        let mut line_end = 0;
        let (mut start, mut found, mut score) = (0, 0u64, 0.0);
        let mut first = 0;
        let text_of_passage = text.get(passage.clone()).filter(|_| !passage.is_empty());
        let skipped = if text_of_passage.is_some() { passage.start } else { 0 };
        for (mut word, index) in self.matches(text_of_passage.unwrap_or(text)) {
            word.range = word.range.start + skipped..word.range.end + skipped;
            if word.range.start >= line_end || found == 0 {
                let before = text.get(..word.range.start).unwrap_or_default();
                start = memchr::memrchr(b'\n', before.as_bytes()).map_or(0, |end| end + 1);
                let after = text.as_bytes().get(word.range.start..).unwrap_or_default();
                line_end = memchr::memchr(b'\n', after).map_or(text.len(), |end| word.range.start + end);
                (found, score, first) = (0, 0.0, word.range.start);
            }
            let bit = 1 << index;
            score += match self.words.get(usize::from(index)) {
                Some((_, value)) if found & bit == 0 => *value,
                // A repetition counts little.
                Some((_, value)) => value / 16.0,
                None => 0.0,
            };
            found |= bit;
            let score = if start < body { score * FRONTMATTER } else { score };
            if best.is_none_or(|(most, at, _)| score > most || at == start && score >= most) {
                best = Some((score, start, first));
            }
        }
        if best.is_none() && text_of_passage.is_some() {
            return self.snippet(text, 0..0);
        }
        let (start, at) = best.map_or_else(|| (beginning(text), 0), |(_, start, at)| (start, at.saturating_sub(start)));
        let line = memchr::memchr_iter(b'\n', text.as_bytes().get(..start).unwrap_or_default()).count();
        Snippet { line, text: quote(text.get(start..).unwrap_or_default(), at) }
    }
}

/// The first of these lines that is no heading and not empty, of those that begin with line `first`; else the first of them.
pub(crate) fn first_of(text: &str, (first, lines): (u32, u32)) -> Snippet {
    let mut all = text.lines().enumerate().skip(first as usize).take(lines as usize);
    let begin = all.clone().next();
    let found = all.find(|(_, line)| !line.trim().is_empty() && !line.starts_with('#')).or(begin);
    let (line, text) = found.unwrap_or_default();
    Snippet { line, text: quote(text, 0) }
}

/// The end of the frontmatter, if there is one.
fn body(text: &str) -> usize {
    let is_fenced = text.starts_with("---\n") || text.starts_with("---\r\n");
    memchr::memmem::find(text.as_bytes(), b"\n---").filter(|_| is_fenced).map_or(0, |end| end + 1)
}

/// The start of the first line that is not empty.
fn beginning(text: &str) -> usize {
    let skipped = text.len() - text.trim_start().len();
    text.get(..skipped).and_then(|skipped| skipped.rfind('\n')).map_or(0, |end| end + 1)
}

/// The first line of `rest`, cut around byte `at`; with the next that is not empty if it is short.
fn quote(rest: &str, at: usize) -> String {
    let mut lines = rest.split('\n').map(|line| line.trim_end_matches('\r'));
    let line = lines.next().unwrap_or_default();
    let mut quote = cut_at(line.as_bytes(), at, SNIPPET_BYTES);
    if line.len() < SHORT_BYTES
        && let Some(next) = lines.find(|line| !line.trim().is_empty())
    {
        quote.push('\n');
        quote.push_str(&cut_at(next.as_bytes(), 0, SNIPPET_BYTES - SHORT_BYTES));
    }
    quote
}

/// Whether the words of `phrase` occur in sequence in `text`.
pub(crate) fn holds(text: &str, phrase: &[Token]) -> bool {
    // For each partial match, the number of matched words.
    let mut begun: Vec<usize> = Vec::new();
    for word in words(text) {
        // A tail that the previous word contains does not interrupt a sequence.
        if word.is_tail {
            if let [token] = phrase
                && token.is(&word.folded)
            {
                return true;
            }
            continue;
        }
        begun.push(0);
        begun.retain_mut(|matched| {
            let goes_on = phrase.get(*matched).is_some_and(|token| token.is(&word.folded));
            *matched += 1;
            goes_on
        });
        if begun.contains(&phrase.len()) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(word: &str) -> Token {
        Token { word: word.trim_end_matches('*').to_owned(), is_prefix: word.ends_with('*') }
    }

    fn snippet(text: &str, words: &[(&str, f32)]) -> Snippet {
        searched(words).snippet(text, 0..0)
    }

    fn searched(words: &[(&str, f32)]) -> SearchedWords {
        let mut searched = SearchedWords::default();
        words.iter().for_each(|(word, value)| searched.push(token(word), *value, std::iter::empty()));
        searched
    }

    #[test]
    fn a_snippet_is_the_line_that_says_most() {
        let text = "# Harbour\n\nThe tide.\nNothing.\nThe harbour at high tide, where ships lie and wait for water and for wind.\r\nMore\n";
        let best = snippet(text, &[("harbour", 1.0), ("tide", 1.5)]);
        assert_eq!(best.line, 4);
        assert_eq!(best.text, "The harbour at high tide, where ships lie and wait for water and for wind.\nMore");
        assert_eq!(snippet(text, &[("harbour", 1.0)]), Snippet { line: 0, text: "# Harbour\nThe tide.".to_owned() });
        assert_eq!(snippet("\n\n  one\ntwo", &[("never", 1.0)]), Snippet { line: 2, text: "  one\ntwo".to_owned() });
        assert_eq!(snippet("", &[("never", 1.0)]), Snippet { line: 0, text: String::new() });
        assert_eq!(snippet("---\ntitle: tide\n---\nlow\ntide", &[("tide", 1.0)]).line, 4);
        assert_eq!(snippet("---\ntitle: tide\n---\nlow", &[("tide", 1.0)]).line, 1);
        assert_eq!(snippet("a\nthe 日本の潮 b\n", &[("本の", 1.0)]).line, 1);
    }

    #[test]
    fn the_best_passage_comes_before_other_lines() {
        let text = "# One\nharbour and tide\n# Two\nthe tides\n# Three\n";
        let mut words = searched(&[("harbour", 1.0)]);
        words.push(token("tide"), 1.0, ["tides"].into_iter());
        assert_eq!(words.snippet(text, 0..0).line, 1);
        assert_eq!(words.snippet(text, 23..39), Snippet { line: 3, text: "the tides\n# Three".to_owned() });
        assert_eq!(words.snippet(text, 39..text.len()).line, 1);
    }

    #[test]
    fn a_long_line_is_cut_around_the_word() {
        let text = format!("{} harbour {}", "x ".repeat(5_000), "y ".repeat(5_000));
        let best = snippet(&text, &[("harbour", 1.0)]).text;
        assert!(best.contains("harbour") && best.starts_with('…') && best.ends_with('…') && best.len() < 400);
    }

    #[test]
    fn a_phrase_is_words_that_follow_each_other() {
        let phrase: Vec<Token> = ["high", "high", "tide*"].map(token).to_vec();
        assert!(holds("a high, High-high tides", &phrase));
        assert!(!holds("high tide high", &phrase));
        assert!(holds("x日本の潮だy", &["本の", "の潮"].map(token)));
        assert!(holds("x日本の潮y", &["の潮", "y"].map(token)) && holds("日本の潮", &["潮*"].map(token)));
        assert!(!holds("", &phrase));
    }
}
