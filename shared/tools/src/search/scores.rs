//! Scores: BM25 (Robertson and Zaragoza, 2009) over the words of a note, with higher weights in its title, tags and
//! headings, and in the texts of links to it. A part of a word's score is by the word itself, the rest by all words with its stem; a note
//! with more of the words scores higher.

use std::collections::BTreeMap;

use atlas_ops::error::Error;
use atlas_ops::read::index::{DocumentRef, Index};
use atlas_segment::terms::{LEVELS, weight_of};

use crate::search::anchors::anchored;
use crate::search::expression::Expression;
use crate::search::lists::{Check, Lists, Term, Word};
use crate::search::merge::{Weighted, keep, merge};
use crate::search::snippet::SearchedWords;

/// How fast further occurrences saturate, …
const K1: f32 = 1.2;
/// … and how much a note's length counts.
const B: f32 = 0.85;
/// The part of a word's score that is by its stem.
const STEM: f32 = 0.6;
/// The part of a score that a note loses which has none of the words that count.
const COVERAGE: f32 = 0.1;

/// The scores of an expression.
pub(crate) struct Scores<'a> {
    index: &'a Index,
    lists: &'a Lists,
    /// By scored word: what its own terms and those of its stem are worth.
    worths: Vec<[f32; 2]>,
    /// By scored word and segment: the documents of its own terms and of its stem, with their weights.
    postings: Vec<[Vec<Weighted>; 2]>,
    documents: u64,
    average: f32,
}

/// The two kinds of terms of a word, each with its part of the score.
pub(crate) fn halves(word: &Word) -> [(f32, &[Term]); 2] {
    if word.stem.is_empty() {
        [(1.0, word.own.as_slice()), (0.0, &[])]
    } else {
        [(1.0 - STEM, word.own.as_slice()), (STEM, word.stem.as_slice())]
    }
}

impl<'a> Scores<'a> {
    /// Sums up what the words of `lists` weigh in each document.
    ///
    /// # Errors
    /// When the index is damaged, or it takes too much time.
    pub(crate) fn new(index: &'a Index, lists: &'a Lists, check: Check<'_>) -> Result<Self, Error> {
        let (documents, average) = size(index)?;
        let mut scores = Self { index, lists, worths: Vec::new(), postings: Vec::new(), documents, average };
        for word in &lists.words {
            check()?;
            let mut worths = [0.0; 2];
            let mut postings = [Vec::new(), Vec::new()];
            for (((part, terms), worth), postings) in halves(word).into_iter().zip(&mut worths).zip(&mut postings) {
                let mut count = 0;
                let mut anchored = if word.is_common { BTreeMap::new() } else { anchored(index, terms)? };
                for segment in index.segments() {
                    let rest = anchored.split_off(&DocumentRef { segment: segment + 1, document: 0 });
                    let of_segment = std::mem::replace(&mut anchored, rest);
                    let found = merged(weighted(index, segment, terms)?, of_segment);
                    count += found.len();
                    postings.push(found);
                }
                *worth = part * word.share * scores.rarity(count as u64);
            }
            scores.worths.push(worths);
            scores.postings.push(postings);
        }
        Ok(scores)
    }

    /// The weight of a word in so many documents: the rarer, the more (the inverse document frequency of BM25).
    fn rarity(&self, count: u64) -> f32 {
        let (all, some) = (self.documents as f32, count.min(self.documents) as f32);
        ((all - some + 0.5) / (some + 0.5)).ln_1p()
    }

    fn worth(&self, terms: &[Term]) -> f32 {
        self.rarity(terms.iter().map(|term| u64::from(term.count())).sum())
    }

    /// The weights of the two kinds of terms of a scored word.
    pub(crate) fn worths(&self, word: usize) -> [f32; 2] {
        self.worths.get(word).copied().unwrap_or_default()
    }

    /// The words for a snippet.
    pub(crate) fn searched(&self, expression: &Expression) -> SearchedWords {
        self.lists.searched(expression, |terms| self.worth(terms))
    }

    /// The live documents that the index cannot exclude, with their scores.
    pub(crate) fn all(&self, expression: &Expression) -> Result<Vec<(f32, DocumentRef)>, Error> {
        let mut found = Vec::new();
        for (segment, scores) in self.by_segment(expression)?.into_iter().enumerate() {
            for (document, score) in scores {
                let document = DocumentRef { segment, document };
                if can_be_shown(self.index, document)? {
                    found.push((score, document));
                }
            }
        }
        Ok(found)
    }

    /// By segment: the documents that the index cannot exclude, with their scores.
    pub(crate) fn by_segment(&self, expression: &Expression) -> Result<Vec<Weighted>, Error> {
        let index = self.index;
        let mut of_segments = Vec::with_capacity(index.segments().len());
        for segment in index.segments() {
            let mut scores = self.sums(segment, expression)?;
            // Required and excluded terms.
            let mut keep = |terms: &[Term], is_wanted: bool| -> Result<(), Error> {
                keep(&mut scores, &weighted(index, segment, terms)?, is_wanted);
                Ok(())
            };
            for tag in &expression.tags {
                keep(self.lists.tag(tag), true)?;
            }
            for tag in &expression.excluded_tags {
                keep(self.lists.tag(tag), false)?;
            }
            for token in expression.phrases.iter().flatten() {
                keep(self.lists.exact(token), true)?;
            }
            for phrase in &expression.excluded {
                if let [token] = phrase.as_slice() {
                    keep(self.lists.exact(token), false)?;
                }
            }
            of_segments.push(scores);
        }
        Ok(of_segments)
    }

    /// The documents of `segment` with any of the words, or all where none is asked for, with their scores.
    fn sums(&self, segment: usize, expression: &Expression) -> Result<Weighted, Error> {
        let lengths = self.index.terms(segment)?.lengths();
        let norm = |length: u32| K1 * (1.0 - B + B * length as f32 / self.average);
        let score = |worth: f32, weight: f32, norm: f32| worth * weight * (K1 + 1.0) / (weight + norm);
        let (mut total, mut worths, mut lists) = (0.0, Vec::new(), Vec::new());
        for (worth, of_segments) in self.worths.iter().flatten().zip(self.postings.iter().flatten()) {
            total += if of_segments.iter().all(Vec::is_empty) { 0.0 } else { *worth };
            if let Some(own) = of_segments.get(segment).filter(|own| !own.is_empty()) {
                worths.push(*worth);
                lists.push(own.as_slice());
            }
        }
        let mut scores = if expression.words.is_empty() {
            (0u32..).zip(lengths).map(|(document, _)| (document, 0.0)).collect()
        } else {
            merge(
                &lists,
                |(sum, covered): &mut (f32, f32), list, document, weight| {
                    let length = lengths.get(document as usize).copied().unwrap_or_default();
                    let worth = worths.get(list).copied().unwrap_or_default();
                    *sum += score(worth, weight, norm(length));
                    *covered += worth;
                },
                |(sum, covered)| if total > 0.0 { sum * (1.0 - COVERAGE + COVERAGE * covered / total) } else { sum },
            )
        };
        for token in expression.phrases.iter().flatten() {
            let terms = self.lists.exact(token);
            let worth = self.worth(terms);
            let mut rest = scores.iter_mut().peekable();
            for (document, weight) in weighted(self.index, segment, terms)? {
                while rest.next_if(|(scored, _)| *scored < document).is_some() {}
                let Some((_, sum)) = rest.next_if(|(scored, _)| *scored == document) else { continue };
                *sum += score(worth, weight, norm(lengths.get(document as usize).copied().unwrap_or_default()));
            }
        }
        Ok(scores)
    }
}

/// Whether the caller sees a document, and it has a text.
pub(crate) fn can_be_shown(index: &Index, document: DocumentRef) -> Result<bool, Error> {
    Ok(index.shows(document) && index.span(document)?.length > 0)
}

/// `found`, with what links add.
fn merged(found: Weighted, anchored: BTreeMap<DocumentRef, f32>) -> Weighted {
    if anchored.is_empty() {
        return found;
    }
    let anchored: Weighted = anchored.into_iter().map(|(document, weight)| (document.document, weight)).collect();
    merge(&[&found, &anchored], |sum: &mut f32, _, _, weight| *sum += weight, |sum| sum)
}

/// The documents of `segment` with any of `terms` that the caller sees, and the sums of their weights: all terms count as one.
pub(crate) fn weighted(index: &Index, segment: usize, terms: &[Term]) -> Result<Weighted, Error> {
    let mut lists = Vec::new();
    let mut weights = Vec::new();
    for term in terms.iter().filter(|term| term.segment == segment) {
        lists.push(term.postings(index)?);
        weights.push(LEVELS.map(|level| term.factor * weight_of(level) as f32));
    }
    let weight = |list: usize, level: u32| {
        let of_level = weights.get(list).and_then(|weights| weights.get((level as usize).wrapping_sub(1)));
        of_level.copied().unwrap_or_default()
    };
    if let [postings] = lists.as_slice() {
        return Ok(postings.iter().map(|(document, level)| (*document, weight(0, *level))).collect());
    }
    Ok(merge(&lists, |sum: &mut f32, list, _, level| *sum += weight(list, level), |sum| sum))
}

/// The number of documents that the caller sees, and their average number of words.
fn size(index: &Index) -> Result<(u64, f32), Error> {
    let (mut documents, mut words) = (0, 0);
    for segment in index.segments() {
        let table = index.terms(segment)?;
        match index.shown(segment)? {
            None => {
                documents += table.lengths().len() as u64;
                words += table.words();
            }
            Some(shown) => {
                for (length, _) in table.lengths().iter().zip(shown).filter(|(_, is_shown)| **is_shown) {
                    documents += 1;
                    words += u64::from(*length);
                }
            }
        }
    }
    Ok((documents, (words as f32 / documents.max(1) as f32).max(1.0)))
}
