//! Finds places where a note mentions something without a link.

use std::ops::Range;

use crate::fold::fold_char;
use crate::lines::Lines;
use crate::words::{is_unspaced, is_word};
use crate::{markdown, mask, note};

/// Most words of a name; in scripts without spaces every character is one.
const MAX_WORDS: usize = 16;
/// Most bytes of a note that are searched.
const MAX_BYTES: usize = 1 << 20;

/// A place where a note names something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention<T> {
    /// The mentioned thing.
    pub meaning: T,
    /// The range of the name.
    pub range: Range<usize>,
    /// Its line, counted from 0.
    pub line: u32,
}

/// The mentions in a note, in order: of several that begin at one word the longest, and none within another. `meaning`
/// returns what a folded run of words names. Frontmatter, code, HTML, comments, links, tags and bare URLs contain no
/// mentions; no mention spans lines.
pub fn mentions<T>(text: &str, mut meaning: impl FnMut(&str) -> Option<T>) -> Vec<Mention<T>> {
    let text = text.get(..text.floor_char_boundary(MAX_BYTES)).unwrap_or_default();
    let parsed = note::parse(text);
    let lines = Lines::new(text);
    let start = parsed.frontmatter.as_ref().map_or(0, |frontmatter| frontmatter.body_start);
    let masked = mask::mask(text.get(start..).unwrap_or_default());
    let skips = markdown::read(&masked).skips.into_iter().map(|skip| skip.range.start + start..skip.range.end + start);
    let tags = parsed.tags.iter().filter_map(|tag| tag.range.clone());
    let mut hidden: Vec<Range<usize>> =
        skips.chain(parsed.links.iter().map(|link| link.range.clone())).chain(tags).collect();
    hidden.sort_unstable_by_key(|range| range.start);

    let mut found = Vec::new();
    let mut candidate = String::new();
    let words = words(&masked, start, &hidden);
    let mut at = 0;
    while let Some(first) = words.get(at) {
        candidate.clear();
        let mut longest = None;
        let mut end = first.start;
        for (count, word) in words.iter().skip(at).take(MAX_WORDS).enumerate() {
            let between = masked.get(end - start..word.start - start).unwrap_or_default();
            if between.contains(['\n', '\r']) || is_hidden(&hidden, end..word.start) {
                break;
            }
            let written = masked.get(word.start - start..word.end - start).unwrap_or_default();
            candidate.extend(between.chars().chain(written.chars()).map(fold_char));
            end = word.end;
            if let Some(meaning) = meaning(&candidate) {
                longest = Some((count + 1, meaning, first.start..word.end));
            }
        }
        at += match longest {
            Some((count, meaning, range)) => {
                found.push(Mention { meaning, line: lines.at(range.start), range });
                count
            }
            None => 1,
        };
    }
    found
}

/// Whether a hidden part lies in `range`.
fn is_hidden(hidden: &[Range<usize>], range: Range<usize>) -> bool {
    let at = hidden.partition_point(|part| part.start < range.start);
    hidden.get(at).is_some_and(|part| part.start < range.end)
}

/// The words of a body, which begins at `start` of the text, outside of the hidden parts and bare URLs.
fn words(body: &str, start: usize, hidden: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut hidden = hidden.iter().peekable();
    let mut hidden_until = 0;
    let mut is_url = false;
    // Whether the last word goes on with the next letter.
    let mut is_open = false;
    for (at, c) in body.char_indices() {
        let at = at + start;
        while let Some(range) = hidden.next_if(|range| range.start <= at) {
            hidden_until = hidden_until.max(range.end);
        }
        if c.is_whitespace() {
            is_url = false;
        } else if c == ':' && body.get(at - start..).is_some_and(|rest| rest.starts_with("://")) {
            is_url = true;
            if is_open {
                words.pop();
            }
        }
        if at < hidden_until || is_url || !is_word(c) {
            is_open = false;
            continue;
        }
        match words.last_mut().filter(|_| is_open && !is_unspaced(c)) {
            Some(word) => word.end = at + c.len_utf8(),
            None => words.push(at..at + c.len_utf8()),
        }
        is_open = !is_unspaced(c);
    }
    words
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::fold::fold;

    fn told(text: &str, names: &[&str]) -> Vec<(String, u32)> {
        let names: HashMap<String, &str> = names.iter().map(|name| (fold(name), *name)).collect();
        let all = mentions(text, |candidate| names.get(candidate).copied());
        all.into_iter().map(|mention| (text[mention.range].to_owned(), mention.line)).collect()
    }

    #[test]
    fn names_are_found_where_no_link_is_and_the_longest_counts() {
        let text = "---\ntitle: Tide\n---\nThe TIDE table, not Tidewater.\n[[Tide]] `tide` #tide https://tide.org/tide\n%% tide %%\ntide\ntable\nÉtudes of tide-tables";
        let found = told(text, &["Tide", "Tide table", "études", "tide-tables"]);
        let expected = [("TIDE table", 3), ("tide", 6), ("Études", 8), ("tide-tables", 8)];
        assert_eq!(found, expected.map(|(name, line)| (name.to_owned(), line)));
    }

    #[test]
    fn names_in_scripts_without_spaces_are_found_within_runs() {
        assert_eq!(told("今日は潮位表を見る", &["潮位表", "潮"]), [("潮位表".to_owned(), 0)]);
    }

    #[test]
    fn long_notes_are_looked_at_in_time() {
        let text = "a ".repeat(400_000);
        assert!(told(&text, &["b"]).is_empty());
        let links = "[[a]] tide ".repeat(50_000);
        assert_eq!(told(&links, &["tide"]).len(), 50_000);
    }

    proptest! {
        #[test]
        fn mentions_stand_in_order_outside_of_links(text in "([ab潮 \n`#|]|\\[\\[a\\]\\]|%%|://){0,30}") {
            let links = crate::parse(&text).links;
            let mut end = 0;
            for mention in mentions(&text, |candidate| (candidate.len() > 1 || candidate == "a").then_some(())) {
                prop_assert!(mention.range.start >= end);
                end = mention.range.end;
                prop_assert!(!text[mention.range.clone()].contains('\n'));
                prop_assert!(links.iter().all(|link| link.range.end <= mention.range.start || link.range.start >= mention.range.end));
            }
        }
    }
}
