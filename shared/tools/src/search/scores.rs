//! Scores: BM25 (Robertson and Zaragoza, 2009) over the words of a note, with higher weights in its title, tags and
//! headings.

use std::collections::{BTreeMap, HashMap};

use atlas_ops::error::Error;
use atlas_ops::read::index::{DocumentRef, Fetched, Index, Slot, Wave};
use atlas_segment::terms::{tag_term, weight_of};

use crate::search::Correction;
use crate::search::expression::{Expression, Token};

/// How fast further occurrences saturate, …
const K1: f32 = 1.5;
/// … and how much a note's length counts.
const B: f32 = 0.75;
/// The weight of a word one edit away from the searched one.
const MISSPELT: f32 = 0.5;
/// Most words that match a prefix, a misspelt word or a tag in one segment.
const MAX_ALTERNATIVES: usize = 256;
/// Most words that a misspelt one may mean.
const MAX_CORRECTIONS: usize = 16;
/// The postings of an expression.
pub(crate) struct Lists {
    /// By word: the matching terms: its own, those that it begins, or those one edit away.
    words: HashMap<String, Vec<Term>>,
    tags: HashMap<String, Vec<Term>>,
    fetched: Fetched,
    /// The number of documents, and their average number of words.
    documents: u64,
    average: f32,
}

/// A term of a segment.
struct Term {
    segment: usize,
    /// The slot of its page, and its index there.
    slot: Slot,
    list: u32,
    factor: f32,
    /// The number of its documents.
    count: u32,
}

fn key(token: &Token) -> String {
    if token.is_prefix { format!("{}*", token.word) } else { token.word.clone() }
}

/// The terms that may match a word or tag, before it is known whether they occur in visible documents.
struct Candidates {
    /// The word's own, or those that it begins.
    own: Vec<Term>,
    /// Those one edit away, with their words.
    near: Vec<(String, Term)>,
}

/// Terms whose postings to fetch.
struct TermsToFetch<'a> {
    index: &'a Index,
    wave: Wave,
    slots: HashMap<(usize, u64), Slot>,
}

impl TermsToFetch<'_> {
    fn term(&mut self, segment: usize, ordinal: u32, factor: f32) -> Result<Term, Error> {
        let (part, list) = self.index.terms(segment)?.page(self.index.layout(segment)?, ordinal)?;
        let wave = &mut self.wave;
        let slot = *self.slots.entry((segment, part.range.start)).or_insert_with(|| wave.add(segment, part));
        Ok(Term { segment, slot, list, factor, count: 0 })
    }

    /// The terms of all segments that match a word.
    fn word(&mut self, token: &Token) -> Result<Vec<Term>, Error> {
        let mut terms = Vec::new();
        for segment in self.index.segments() {
            let table = self.index.terms(segment)?;
            if token.is_prefix {
                for (_, ordinal) in table.with_prefix(&token.word, most_alternatives(self.index)) {
                    terms.push(self.term(segment, ordinal, 1.0)?);
                }
            } else if let Some(ordinal) = table.get(&token.word) {
                terms.push(self.term(segment, ordinal, 1.0)?);
            }
        }
        Ok(terms)
    }

    /// The terms one edit away from a word.
    fn near(&mut self, word: &str) -> Result<Vec<(String, Term)>, Error> {
        let mut found = BTreeMap::new();
        for segment in self.index.segments() {
            let near = self.index.terms(segment)?.one_edit_from(word, most_alternatives(self.index));
            for (other, ordinal) in near.into_iter().filter(|(other, _)| !other.starts_with('#')) {
                found.entry(other).or_insert_with(Vec::new).push((segment, ordinal));
            }
        }
        let most = if self.index.is_whole() { MAX_CORRECTIONS } else { usize::MAX };
        let mut terms = Vec::new();
        for (other, places) in found.into_iter().take(most) {
            for (segment, ordinal) in places {
                terms.push((other.clone(), self.term(segment, ordinal, MISSPELT)?));
            }
        }
        Ok(terms)
    }

    /// The terms of a tag and of those below it.
    fn tag(&mut self, tag: &str) -> Result<Vec<Term>, Error> {
        let mut terms = Vec::new();
        for segment in self.index.segments() {
            let table = self.index.terms(segment)?;
            let below = table.with_prefix(&format!("{}/", tag_term(tag)), most_alternatives(self.index));
            let ordinals = table.get(&tag_term(tag)).into_iter().chain(below.into_iter().map(|(_, ordinal)| ordinal));
            for ordinal in ordinals {
                terms.push(self.term(segment, ordinal, 1.0)?);
            }
        }
        Ok(terms)
    }
}

/// Most terms of one segment that are considered for a word. Where some may only occur in hidden notes, more are
/// considered, so that these displace no others.
fn most_alternatives(index: &Index) -> usize {
    if index.is_whole() { MAX_ALTERNATIVES } else { 16 * MAX_ALTERNATIVES }
}

impl Lists {
    pub(crate) async fn fetch(index: &Index, expression: &Expression) -> Result<(Self, Vec<Correction>), Error> {
        let mut wanted = TermsToFetch { index, wave: Wave::default(), slots: HashMap::new() };
        let mut candidates = Vec::new();
        let exact = expression.phrases.iter().chain(&expression.excluded).flatten().map(|token| (token, false));
        for (token, may_correct) in exact.chain(expression.words.iter().map(|token| (token, true))) {
            let own = wanted.word(token)?;
            // A word only in hidden notes counts as misspelt too, which only its postings show.
            let may_be_misspelt = may_correct && token.may_be_misspelt() && (own.is_empty() || !index.is_whole());
            let near = if may_be_misspelt { wanted.near(&token.word)? } else { Vec::new() };
            candidates.push((token, Candidates { own, near }));
        }
        let mut tags = HashMap::new();
        for tag in expression.tags.iter().chain(&expression.excluded_tags) {
            tags.insert(tag.clone(), wanted.tag(tag)?);
        }
        let fetched = index.load(wanted.wave).await?;
        let (documents, average) = size(index)?;
        let mut lists = Self { words: HashMap::new(), tags: HashMap::new(), fetched, documents, average };
        let mut corrections = Vec::new();
        for (token, Candidates { own, near }) in candidates {
            let mut terms = lists.counted(index, own)?;
            if terms.is_empty() && !near.is_empty() {
                let (instead, near): (Vec<String>, Vec<Term>) = near.into_iter().unzip();
                let near = lists.counts(index, near)?;
                let seen = instead.into_iter().zip(near).filter(|(_, term)| index.is_whole() || term.count > 0);
                let mut by_word: BTreeMap<String, Vec<Term>> = BTreeMap::new();
                seen.for_each(|(word, term)| by_word.entry(word).or_default().push(term));
                let instead: Vec<String> = by_word.keys().take(MAX_CORRECTIONS).cloned().collect();
                terms = by_word.into_values().take(MAX_CORRECTIONS).flatten().collect();
                if !instead.is_empty() {
                    corrections.push(Correction { word: token.word.clone(), instead });
                }
            }
            lists.words.insert(key(token), terms);
        }
        for (tag, terms) in tags {
            let terms = lists.counted(index, terms)?;
            lists.tags.insert(tag, terms);
        }
        Ok((lists, corrections))
    }

    /// `terms` with the number of their documents.
    fn counts(&self, index: &Index, mut terms: Vec<Term>) -> Result<Vec<Term>, Error> {
        for term in &mut terms {
            let universe = index.layout(term.segment)?.documents;
            let page = self.fetched.get(term.slot)?;
            let postings = page.term_page()?.postings(term.list, universe);
            term.count = if index.is_whole() {
                postings.map_or(0, |postings| postings.count())
            } else {
                let segment = term.segment;
                let documents = postings.into_iter().flat_map(|postings| postings.weighted());
                let seen = documents.filter(|(document, _)| index.shows(DocumentRef { segment, document: *document }));
                u32::try_from(seen.count()).unwrap_or(u32::MAX)
            };
        }
        Ok(terms)
    }

    /// Like [`counts`](Self::counts), for terms in documents that the caller sees; limited in each segment.
    fn counted(&self, index: &Index, terms: Vec<Term>) -> Result<Vec<Term>, Error> {
        let mut terms = self.counts(index, terms)?;
        if !index.is_whole() {
            terms.retain(|term| term.count > 0);
        }
        let mut of_segment = HashMap::new();
        terms.retain(|term| {
            let count = of_segment.entry(term.segment).or_insert(0);
            *count += 1;
            // A tag matches itself besides.
            *count <= MAX_ALTERNATIVES + 1
        });
        Ok(terms)
    }

    fn terms(&self, token: &Token) -> &[Term] {
        self.words.get(&key(token)).map(Vec::as_slice).unwrap_or_default()
    }

    /// The weight of a word in a document: the rarer the more (the inverse document frequency of BM25).
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

    /// For each document of `segment`, whether it contains any of `terms`.
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

    /// The words for a snippet: those of the expression, or their replacements, with their weights.
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

    /// The live documents that the index cannot exclude, with their scores.
    pub(crate) fn scores(&self, index: &Index, expression: &Expression) -> Result<Vec<(f32, DocumentRef)>, Error> {
        let mut found = Vec::new();
        for segment in index.segments() {
            let mut scores = self.sums(index, segment, expression)?;
            // Required and excluded terms: a score below zero excludes a document.
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

    /// The score of each document of `segment`; below zero if it has none of the words.
    fn sums(&self, index: &Index, segment: usize, expression: &Expression) -> Result<Vec<f32>, Error> {
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
                    let norm = K1 * (1.0 - B + B * *length as f32 / self.average);
                    *score = f32::max(*score, 0.0) + worth * weight * (K1 + 1.0) / (weight + norm);
                }
            };
            if let [term] = terms.as_slice() {
                for (document, level) in self.postings(index, term)? {
                    add(document, term.factor * weight_of(level) as f32);
                }
                continue;
            }
            // All words that match a token count as one.
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
