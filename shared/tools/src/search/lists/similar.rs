//! Words similar to one that no note has: those with the fewest edits, among those that the caller sees.

use std::collections::BTreeMap;
use std::sync::Arc;

use atlas_ops::error::Error;
use atlas_ops::read::index::Fetched;
use atlas_vault::words::is_unspaced;

use crate::search::lists::pages::{Pages, Wanted};
use crate::search::lists::term::Term;

/// The weight of an occurrence of a similar word.
const MISSPELT: f32 = 0.5;
/// Words up to this many characters are similar with one edit, longer ones with two.
const ONE_EDIT_CHARS: usize = 5;
/// Most words that a misspelt one may mean.
const MAX_CORRECTIONS: usize = 16;
/// Words that are fetched first where some may be of notes that the caller may not read; and then so many times as many.
const AT_FIRST_OF_HIDDEN: usize = 4096;
const MORE: usize = 4;

/// The nearest words with their terms, and their edits.
#[derive(Default)]
pub(super) struct SimilarWords {
    pub(super) edits: u8,
    pub(super) terms: BTreeMap<Arc<str>, Vec<Term>>,
}

impl SimilarWords {
    /// Whether another word with so many edits is one too many, or too far.
    fn are_enough(&self, edits: u8) -> bool {
        self.terms.len() >= MAX_CORRECTIONS || (!self.terms.is_empty() && edits > self.edits)
    }
}

/// Similar words to fetch.
pub(super) struct Similar {
    wanted: Vec<(u8, Wanted)>,
    /// Those that may be fetched too, by edits and word, each with its segment and ordinal; and how many next.
    rest: std::iter::Peekable<std::vec::IntoIter<(u8, String, usize, u32)>>,
    next: usize,
    seen: SimilarWords,
}

impl Similar {
    pub(super) fn of(pages: &mut Pages<'_>, word: &str) -> Result<Self, Error> {
        let index = pages.index;
        let most_edits = if word.chars().count() > ONE_EDIT_CHARS { 2 } else { 1 };
        let mut found = Vec::new();
        for segment in index.segments() {
            for (other, ordinal, edits) in index.terms(segment)?.near(word, most_edits) {
                // A word with two typing errors still begins right, which the table knows.
                if !other.starts_with('#') && !other.contains(is_unspaced) {
                    found.push((edits, other, segment, ordinal));
                }
            }
        }
        found.sort_unstable();
        let next = if index.is_whole() { MAX_CORRECTIONS } else { AT_FIRST_OF_HIDDEN };
        let rest = found.into_iter().peekable();
        let mut similar = Self { wanted: Vec::new(), rest, next, seen: SimilarWords::default() };
        similar.want(pages)?;
        Ok(similar)
    }

    /// Wants the terms of the next words.
    fn want(&mut self, pages: &mut Pages<'_>) -> Result<(), Error> {
        for _ in 0..self.next {
            let Some((edits, word, segment, ordinal)) = self.rest.next_if(|(edits, ..)| !self.seen.are_enough(*edits))
            else {
                break;
            };
            self.wanted.push((edits, pages.term(segment, &word, ordinal, true)?));
            // All terms of a word are fetched together.
            while let Some((_, _, segment, ordinal)) = self.rest.next_if(|(_, other, ..)| *other == word) {
                self.wanted.push((edits, pages.term(segment, &word, ordinal, true)?));
            }
        }
        self.next *= MORE;
        Ok(())
    }

    /// Takes the fetched terms, and wants more if there are too few.
    pub(super) fn take(&mut self, pages: &mut Pages<'_>, fetched: &Fetched) -> Result<(), Error> {
        for (edits, wanted) in std::mem::take(&mut self.wanted) {
            if self.seen.are_enough(edits) && !self.seen.terms.contains_key(&wanted.word) {
                break;
            }
            if let Some(term) = wanted.seen(pages.index, fetched)? {
                self.seen.edits = edits;
                self.seen.terms.entry(term.word.clone()).or_default().push(Term { factor: MISSPELT, ..term });
            }
        }
        self.want(pages)
    }

    pub(super) fn words(self) -> SimilarWords {
        self.seen
    }
}
