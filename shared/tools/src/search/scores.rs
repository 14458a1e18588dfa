//! Scores: BM25 (Robertson and Zaragoza, 2009) over the words of a note, with higher weights in its title, tags and
//! headings, and in the texts of links to it. A part of a word's score is by the word itself, the rest by all words with its stem; a note
//! with more of the words scores higher.

use std::collections::BTreeMap;

use atlas_ops::error::Error;
use atlas_ops::read::index::{DocumentRef, Index};
use atlas_segment::terms::weight_of;

use crate::search::anchors::anchored;
use crate::search::expression::Expression;
use crate::search::lists::{Lists, Term, Word};
use crate::search::snippet::SearchedWords;

/// How fast further occurrences saturate, …
const K1: f32 = 1.2;
/// … and how much a note's length counts.
const B: f32 = 0.85;
/// The part of a word's score that is by its stem.
const STEM: f32 = 0.6;
/// The part of a score that a note loses which has none of the words that count.
const COVERAGE: f32 = 0.1;

/// The score of a document that is no result.
pub(crate) const NONE: f32 = f32::NEG_INFINITY;

/// Terms in fewer than one of so many documents are merged, others are summed in a table of all documents.
const FEW: usize = 32;

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

/// Ascending documents with their weights.
type Weighted = Vec<(u32, f32)>;

/// The two kinds of terms of a word, each with its part of the score.
pub(crate) fn halves(word: &Word) -> [(f32, &[Term]); 2] {
    if word.stem.is_empty() {
        [(1.0, word.own.as_slice()), (0.0, &[])]
    } else {
        [(1.0 - STEM, word.own.as_slice()), (STEM, word.stem.as_slice())]
    }
}

impl<'a> Scores<'a> {
    pub(crate) fn new(index: &'a Index, lists: &'a Lists) -> Result<Self, Error> {
        let (documents, average) = size(index)?;
        let mut scores = Self { index, lists, worths: Vec::new(), postings: Vec::new(), documents, average };
        for word in &lists.words {
            let mut worths = [0.0; 2];
            let mut postings = [Vec::new(), Vec::new()];
            for (((part, terms), worth), postings) in halves(word).into_iter().zip(&mut worths).zip(&mut postings) {
                let mut count = 0;
                let mut anchored = if word.is_common { BTreeMap::new() } else { anchored(index, terms)? };
                for segment in index.segments() {
                    let rest = anchored.split_off(&DocumentRef { segment: segment + 1, document: 0 });
                    let of_segment = std::mem::replace(&mut anchored, rest);
                    let found = merged(weighted(index, segment, terms)?, of_segment);
                    let seen = |(document, _): &&(u32, f32)| index.shows(DocumentRef { segment, document: *document });
                    count += if index.is_whole() { found.len() } else { found.iter().filter(seen).count() };
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
            for (document, score) in (0u32..).zip(scores) {
                let document = DocumentRef { segment, document };
                if score > NONE && can_be_shown(self.index, document)? {
                    found.push((score, document));
                }
            }
        }
        Ok(found)
    }

    /// The score of each document of each segment, whoever sees it; [`NONE`] if the index excludes it.
    pub(crate) fn by_segment(&self, expression: &Expression) -> Result<Vec<Vec<f32>>, Error> {
        let index = self.index;
        let mut of_segments = Vec::with_capacity(index.segments().len());
        for segment in index.segments() {
            let mut scores = self.sums(segment, expression)?;
            // Required and excluded terms.
            let mut keep = |terms: &[Term], is_wanted: bool| -> Result<(), Error> {
                for (score, has) in scores.iter_mut().zip(having(index, segment, terms)?) {
                    if has != is_wanted {
                        *score = NONE;
                    }
                }
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

    /// The score of each document of `segment`; [`NONE`] if it has none of the words.
    fn sums(&self, segment: usize, expression: &Expression) -> Result<Vec<f32>, Error> {
        let lengths = self.index.terms(segment)?.lengths();
        let none = if expression.words.is_empty() { 0.0 } else { NONE };
        let mut scores = vec![none; lengths.len()];
        let mut covered = vec![0.0f32; lengths.len()];
        let mut total = 0.0;
        let norms: Vec<f32> = lengths.iter().map(|length| K1 * (1.0 - B + B * *length as f32 / self.average)).collect();
        for (worths, postings) in self.worths.iter().zip(&self.postings) {
            for (worth, of_segments) in worths.iter().zip(postings) {
                total += if of_segments.iter().all(Vec::is_empty) { 0.0 } else { *worth };
                for (document, weight) in of_segments.get(segment).into_iter().flatten() {
                    let at = *document as usize;
                    if let (Some(score), Some(norm), Some(covered)) =
                        (scores.get_mut(at), norms.get(at), covered.get_mut(at))
                    {
                        *score = f32::max(*score, 0.0) + worth * weight * (K1 + 1.0) / (weight + norm);
                        *covered += worth;
                    }
                }
            }
        }
        if total > 0.0 {
            for (score, covered) in scores.iter_mut().zip(&covered).filter(|(score, _)| **score > 0.0) {
                *score *= 1.0 - COVERAGE + COVERAGE * covered / total;
            }
        }
        for token in expression.phrases.iter().flatten() {
            let terms = self.lists.exact(token);
            let worth = self.worth(terms);
            for (document, weight) in weighted(self.index, segment, terms)? {
                let at = document as usize;
                if let (Some(score), Some(norm)) = (scores.get_mut(at), norms.get(at))
                    && *score > NONE
                {
                    *score += worth * weight * (K1 + 1.0) / (weight + norm);
                }
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
fn merged(mut found: Weighted, anchored: BTreeMap<DocumentRef, f32>) -> Weighted {
    if anchored.is_empty() {
        return found;
    }
    found.extend(anchored.into_iter().map(|(document, weight)| (document.document, weight)));
    summed(found)
}

/// Each document once, in order, with the sum of its weights.
fn summed(mut found: Weighted) -> Weighted {
    found.sort_by_key(|(document, _)| *document);
    found.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        kept.1 += if is_same { next.1 } else { 0.0 };
        is_same
    });
    found
}

/// The documents of `segment` with any of `terms`, and the sums of their weights: all terms count as one.
pub(crate) fn weighted(index: &Index, segment: usize, terms: &[Term]) -> Result<Weighted, Error> {
    let of_segment = || terms.iter().filter(|term| term.segment == segment);
    let weight = |term: &Term, level: u32| term.factor * weight_of(level) as f32;
    let mut all = Vec::new();
    let mut most = 0;
    for term in of_segment() {
        let postings = term.postings(index)?;
        most += postings.len();
        all.push((term, postings));
    }
    if let [(term, postings)] = all.as_slice() {
        return Ok(postings.iter().map(|(document, level)| (*document, weight(term, *level))).collect());
    }
    let documents = index.terms(segment)?.lengths().len();
    if most < documents / FEW {
        let each = |(term, postings): &(&Term, &[(u32, u32)])| -> Vec<_> {
            postings.iter().map(|(document, level)| (*document, weight(term, *level))).collect()
        };
        return Ok(summed(all.iter().flat_map(each).collect()));
    }
    let mut weights = vec![0.0; documents];
    for (term, postings) in all {
        for (document, level) in postings {
            if let Some(sum) = weights.get_mut(*document as usize) {
                *sum += weight(term, *level);
            }
        }
    }
    Ok((0u32..).zip(weights).filter(|(_, weight)| *weight > 0.0).collect())
}

/// For each document of `segment`, whether it contains any of `terms`.
fn having(index: &Index, segment: usize, terms: &[Term]) -> Result<Vec<bool>, Error> {
    let mut having = vec![false; index.terms(segment)?.lengths().len()];
    for (document, _) in weighted(index, segment, terms)? {
        if let Some(has) = having.get_mut(document as usize) {
            *has = true;
        }
    }
    Ok(having)
}

/// The number of documents that the caller sees, and their average number of words.
fn size(index: &Index) -> Result<(u64, f32), Error> {
    let (mut documents, mut words) = (0, 0);
    for segment in index.segments() {
        let table = index.terms(segment)?;
        if index.is_whole() {
            documents += table.lengths().len() as u64;
            words += table.words();
        } else {
            for (document, length) in (0..).zip(table.lengths()) {
                if index.shows(DocumentRef { segment, document }) {
                    documents += 1;
                    words += u64::from(*length);
                }
            }
        }
    }
    Ok((documents, (words as f32 / documents.max(1) as f32).max(1.0)))
}
