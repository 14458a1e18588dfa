//! Scores: BM25 (Robertson and Zaragoza, 2009) over the words of a note, which count for more in its title, tags and headings.

use std::collections::{BTreeSet, HashMap};

use atlas_segment::terms::{tag_term, weight_of};

use crate::error::Error;
use crate::index::{DocumentRef, Fetched, Index, Slot, Wave};
use crate::search::Correction;
use crate::search::expression::{Expression, Token};

/// How soon more of a word says no more, …
const K1: f32 = 1.5;
/// … and how much a long note is held against it.
const B: f32 = 0.75;
/// What a word counts that is not the one looked for but one edit away.
const MISSPELT: f32 = 0.5;
/// Most words that a prefix, a misspelt word or a tag stands for in one segment.
const MAX_ALTERNATIVES: usize = 256;
/// Most words that a misspelt one may mean.
const MAX_CORRECTIONS: usize = 16;
/// The postings of what an expression names.
pub(crate) struct Lists {
    /// For each word the terms that stand for it: its own, those that it begins, or those one edit away.
    words: HashMap<String, Vec<Term>>,
    tags: HashMap<String, Vec<Term>>,
    fetched: Fetched,
    documents: u64,
}

/// A term of a segment.
struct Term {
    segment: usize,
    /// Its list: in which page, and there.
    slot: Slot,
    list: u32,
    factor: f32,
    /// How many documents have it.
    count: u32,
}

fn key(token: &Token) -> String {
    if token.is_prefix { format!("{}*", token.word) } else { token.word.clone() }
}

impl Lists {
    pub(crate) async fn fetch(index: &Index, expression: &Expression) -> Result<(Self, Vec<Correction>), Error> {
        let mut wave = Wave::default();
        let mut slots = HashMap::new();
        let mut term = |segment: usize, ordinal: u32, factor: f32| -> Result<Term, Error> {
            let (part, list) = index.terms(segment)?.page(index.layout(segment)?, ordinal)?;
            let slot = *slots.entry((segment, part.range.start)).or_insert_with(|| wave.add(segment, part));
            Ok(Term { segment, slot, list, factor, count: 0 })
        };
        let mut words = HashMap::new();
        let mut corrections = Vec::new();
        let exact = expression.phrases.iter().chain(&expression.excluded).flatten().map(|token| (token, false));
        for (token, may_correct) in exact.chain(expression.words.iter().map(|token| (token, true))) {
            let mut terms = Vec::new();
            for segment in index.segments() {
                let table = index.terms(segment)?;
                if token.is_prefix {
                    for (_, ordinal) in table.with_prefix(&token.word, MAX_ALTERNATIVES) {
                        terms.push(term(segment, ordinal, 1.0)?);
                    }
                } else if let Some(ordinal) = table.get(&token.word) {
                    terms.push(term(segment, ordinal, 1.0)?);
                }
            }
            if terms.is_empty() && may_correct && token.may_be_misspelt() {
                let instead = near(index, &token.word)?;
                for segment in index.segments() {
                    for other in &instead {
                        if let Some(ordinal) = index.terms(segment)?.get(other) {
                            terms.push(term(segment, ordinal, MISSPELT)?);
                        }
                    }
                }
                if !instead.is_empty() {
                    corrections.push(Correction { word: token.word.clone(), instead });
                }
            }
            words.insert(key(token), terms);
        }
        let mut tags = HashMap::new();
        for tag in expression.tags.iter().chain(&expression.excluded_tags) {
            let mut terms = Vec::new();
            for segment in index.segments() {
                let table = index.terms(segment)?;
                let below = table.with_prefix(&format!("{}/", tag_term(tag)), MAX_ALTERNATIVES);
                let ordinals =
                    table.get(&tag_term(tag)).into_iter().chain(below.into_iter().map(|(_, ordinal)| ordinal));
                for ordinal in ordinals {
                    terms.push(term(segment, ordinal, 1.0)?);
                }
            }
            tags.insert(tag.clone(), terms);
        }
        let fetched = index.load(wave).await?;
        let mut documents = 0;
        for segment in index.segments() {
            documents += index.terms(segment)?.lengths().len() as u64;
        }
        let mut lists = Self { words, tags, fetched, documents };
        lists.count(index)?;
        Ok((lists, corrections))
    }

    fn count(&mut self, index: &Index) -> Result<(), Error> {
        for term in self.words.values_mut().flatten() {
            let universe = index.layout(term.segment)?.documents;
            let page = self.fetched.get(term.slot)?;
            term.count = page.term_page()?.postings(term.list, universe).map_or(0, |postings| postings.count());
        }
        Ok(())
    }

    fn terms(&self, token: &Token) -> &[Term] {
        self.words.get(&key(token)).map(Vec::as_slice).unwrap_or_default()
    }

    /// How much it says that a document has a word: the rarer the more (the inverse document frequency of BM25).
    fn worth(&self, token: &Token) -> f32 {
        let count: u64 = self.terms(token).iter().map(|term| u64::from(term.count)).sum();
        let (all, some) = (self.documents as f32, count.min(self.documents) as f32);
        ((all - some + 0.5) / (some + 0.5)).ln_1p()
    }

    /// The documents of a term with their weights.
    fn postings(&self, index: &Index, term: &Term) -> Result<Vec<(u32, u32)>, Error> {
        let universe = index.layout(term.segment)?.documents;
        let page = self.fetched.get(term.slot)?;
        let postings = page.term_page()?.postings(term.list, universe);
        Ok(postings.map(|postings| postings.weighted().collect()).unwrap_or_default())
    }

    /// For each document of `segment` whether it has any of `terms`.
    fn having(&self, index: &Index, segment: usize, terms: &[Term]) -> Result<Vec<bool>, Error> {
        let mut having = vec![false; index.terms(segment)?.lengths().len()];
        for term in terms.iter().filter(|term| term.segment == segment) {
            for (document, _) in self.postings(index, term)? {
                if let Some(has) = having.get_mut(document as usize) {
                    *has = true;
                }
            }
        }
        Ok(having)
    }

    /// What a snippet is to show: the words of the expression, or what they stand for, and how much each says.
    pub(crate) fn wanted(&self, expression: &Expression, corrections: &[Correction]) -> Vec<(Token, f32)> {
        let mut wanted = Vec::new();
        for token in expression.words.iter().chain(expression.phrases.iter().flatten()) {
            let worth = self.worth(token);
            match corrections.iter().find(|correction| correction.word == token.word) {
                None => wanted.push((token.clone(), worth)),
                Some(correction) => {
                    let instead = correction.instead.iter().cloned();
                    wanted.extend(instead.map(|word| (Token { word, is_prefix: false }, worth)));
                }
            }
        }
        wanted
    }

    /// The live documents that the index allows, with their scores.
    pub(crate) fn scores(&self, index: &Index, expression: &Expression) -> Result<Vec<(f32, DocumentRef)>, Error> {
        let mut words = 0;
        for segment in index.segments() {
            words += index.terms(segment)?.words();
        }
        let average = (words as f32 / self.documents.max(1) as f32).max(1.0);
        let mut found = Vec::new();
        for segment in index.segments() {
            let mut scores = self.sums(index, segment, expression, average)?;
            // What a document must have, and must not: a score below zero takes it out.
            let mut keep = |terms: &[Term], is_wanted: bool| -> Result<(), Error> {
                for (score, has) in scores.iter_mut().zip(self.having(index, segment, terms)?) {
                    if has != is_wanted {
                        *score = -1.0;
                    }
                }
                Ok(())
            };
            let of_tag = |tag| self.tags.get(tag).map_or(&[][..], Vec::as_slice);
            for tag in &expression.tags {
                keep(of_tag(tag), true)?;
            }
            for tag in &expression.excluded_tags {
                keep(of_tag(tag), false)?;
            }
            for token in expression.phrases.iter().flatten() {
                keep(self.terms(token), true)?;
            }
            for phrase in &expression.excluded {
                if let [token] = phrase.as_slice() {
                    keep(self.terms(token), false)?;
                }
            }
            for (document, score) in (0u32..).zip(scores) {
                let document = DocumentRef { segment, document };
                if score >= 0.0 && index.shows(document) && index.span(document)?.length > 0 {
                    found.push((score, document));
                }
            }
        }
        Ok(found)
    }

    /// The score of each document of `segment`; below zero where it has none of the words.
    fn sums(&self, index: &Index, segment: usize, expression: &Expression, average: f32) -> Result<Vec<f32>, Error> {
        let lengths = index.terms(segment)?.lengths();
        let none = if expression.words.is_empty() { 0.0 } else { -1.0 };
        let mut scores = vec![none; lengths.len()];
        let mut weights: Vec<f32> = Vec::new();
        let scored = expression.words.iter().map(|token| (token, true));
        for (token, may_begin) in scored.chain(expression.phrases.iter().flatten().map(|token| (token, false))) {
            let worth = self.worth(token);
            let terms: Vec<&Term> = self.terms(token).iter().filter(|term| term.segment == segment).collect();
            let mut add = |document: u32, weight: f32| {
                let (Some(score), Some(length)) = (scores.get_mut(document as usize), lengths.get(document as usize))
                else {
                    return;
                };
                if *score >= 0.0 || may_begin {
                    let norm = K1 * (1.0 - B + B * *length as f32 / average);
                    *score = f32::max(*score, 0.0) + worth * weight * (K1 + 1.0) / (weight + norm);
                }
            };
            if let [term] = terms.as_slice() {
                for (document, level) in self.postings(index, term)? {
                    add(document, term.factor * weight_of(level) as f32);
                }
                continue;
            }
            // The words that a token stands for count as one.
            weights.clear();
            weights.resize(lengths.len(), 0.0);
            for term in terms {
                for (document, level) in self.postings(index, term)? {
                    if let Some(weight) = weights.get_mut(document as usize) {
                        *weight += term.factor * weight_of(level) as f32;
                    }
                }
            }
            (0u32..)
                .zip(&weights)
                .filter(|(_, weight)| **weight > 0.0)
                .for_each(|(document, weight)| add(document, *weight));
        }
        Ok(scores)
    }
}

/// The words of the vault that are one edit away from `word`, in order.
fn near(index: &Index, word: &str) -> Result<Vec<String>, Error> {
    let mut found = BTreeSet::new();
    for segment in index.segments() {
        let near = index.terms(segment)?.one_edit_from(word, MAX_ALTERNATIVES);
        found.extend(near.into_iter().map(|(other, _)| other).filter(|other| !other.starts_with('#')));
    }
    Ok(found.into_iter().take(MAX_CORRECTIONS).collect())
}
