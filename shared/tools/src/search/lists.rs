//! The terms of an expression in the index: for each word its own terms, those of its stem, or similar ones if no note has it. Only terms in
//! documents that the caller sees count.

mod pages;
mod similar;
mod term;
mod wanted;

use std::collections::{BTreeMap, HashMap};

use atlas_ops::error::Error;
use atlas_ops::read::index::Index;
use atlas_vault::words::is_unspaced;

use crate::search::Correction;
use crate::search::expression::{Expression, Token};
use crate::search::language::Language;
use crate::search::lists::similar::SimilarWords;
pub(crate) use crate::search::lists::term::Term;
use crate::search::lists::wanted::{ListId, TermsToFetch};
use crate::search::snippet::SearchedWords;

/// The weight of a common word, as a share of that by its rarity, …
const COMMON: f32 = 0.1;
/// … and a similar word two edits away.
const TWO_EDITS: f32 = 0.5;
/// Joined neighbours have at least so many bytes.
const MIN_JOINED_BYTES: usize = 5;
/// Most documents of all scored words together: 96 MB of documents with their weights, and less than that of what is decoded for them.
const MAX_DOCUMENTS: u64 = 12 << 20;

/// The postings of an expression.
pub(crate) struct Lists {
    /// The scored words, in order.
    pub(crate) words: Vec<Word>,
    /// Words of phrases and of what is excluded.
    exact: HashMap<String, Vec<Term>>,
    tags: HashMap<String, Vec<Term>>,
    /// Words that no note has, in the order of the expression.
    pub(crate) corrections: Vec<Correction>,
    /// Words that are in too many notes to count beside the others.
    pub(crate) left_out: Vec<String>,
}

/// Fails once a call has taken too much time.
pub(crate) type Check<'a> = &'a (dyn Fn() -> Result<(), Error> + Sync);

/// A scored word.
pub(crate) struct Word {
    pub(crate) token: Token,
    /// Whether it says next to nothing.
    pub(crate) is_common: bool,
    /// Its weight, as a share of that by its rarity.
    pub(crate) share: f32,
    /// Its own terms: itself, those that it begins, or similar ones.
    pub(crate) own: Vec<Term>,
    /// Those with its stem, its own among them; empty if there are no others.
    pub(crate) stem: Vec<Term>,
}

/// A word whose terms are not there yet.
struct WantedWord {
    token: Token,
    is_common: bool,
    own: ListId,
    stem: Option<ListId>,
    /// The place of similar words, if no note has it.
    near: Option<usize>,
    /// Whether it is not of the expression, but two neighbours of it.
    is_joined: bool,
}

impl Lists {
    /// Fetches the postings of an expression.
    ///
    /// # Errors
    /// When the store fails, the index is damaged, or it takes too much time.
    pub(crate) async fn fetch(index: &Index, expression: &Expression, check: Check<'_>) -> Result<Self, Error> {
        let spoken = expression.words.iter().chain(expression.phrases.iter().flatten());
        let language = Language::of(spoken.map(|token| token.word.as_str()));
        let stems = language.stems();
        let mut wanted = TermsToFetch::new(index);
        let mut words = Vec::new();
        for token in &expression.words {
            check()?;
            let is_common = !token.is_prefix && language.is_common(&token.word);
            let own = wanted.word(token, !is_common)?;
            let stem = if is_common { None } else { Some(wanted.stem(token, &stems)?) };
            // For who does not see everything only postings tell which words are unknown.
            let is_unknown = index.is_whole() && wanted.is_empty(own) && stem.is_none_or(|stem| wanted.is_empty(stem));
            let is_similar = is_unknown && !is_common && token.may_be_misspelt();
            let near = if is_similar { Some(wanted.near(&token.word)?) } else { None };
            words.push(WantedWord { token: token.clone(), is_common, own, stem, near, is_joined: false });
        }
        let neighbours = if expression.is_as_written { expression.words.as_slice() } else { &[] };
        for token in joined(neighbours, language) {
            let (own, stem) = (wanted.word(&token, true)?, Some(wanted.stem(&token, &stems)?));
            words.push(WantedWord { token, is_common: false, own, stem, near: None, is_joined: true });
        }
        let mut exact = HashMap::new();
        for token in expression.phrases.iter().chain(&expression.excluded).flatten() {
            exact.insert(key(token), wanted.word(token, false)?);
        }
        let mut tags = HashMap::new();
        for tag in expression.tags.iter().chain(&expression.excluded_tags) {
            tags.insert(tag.clone(), wanted.tag(tag)?);
        }
        let mut fetched = wanted.fetch(check).await?;
        let mut of_key = |(key, list): (String, ListId)| (key, fetched.list(list));
        let exact = exact.into_iter().map(&mut of_key).collect();
        let tags = tags.into_iter().map(of_key).collect();
        let mut lists = Self { words: Vec::new(), exact, tags, corrections: Vec::new(), left_out: Vec::new() };
        // By the place of their word.
        let mut corrections = BTreeMap::new();
        let mut unknown = Vec::new();
        for WantedWord { token, is_common, own, stem, near, is_joined } in words {
            let own = fetched.list(own);
            let mut stem = stem.map(|stem| fetched.list(stem)).unwrap_or_default();
            if stem.len() == own.len() {
                stem.clear();
            }
            let is_unknown = own.is_empty() && stem.is_empty();
            if is_unknown && is_joined {
                continue;
            }
            let share = if is_common { COMMON } else { 1.0 };
            let mut word = Word { token, is_common, share, own, stem };
            if let Some(near) = near {
                corrections
                    .extend(word.correct(fetched.similar(near)).map(|correction| (lists.words.len(), correction)));
            } else if is_unknown && !is_common && word.token.may_be_misspelt() {
                unknown.push(lists.words.len());
            }
            lists.words.push(word);
        }
        corrections.extend(lists.correct(index, unknown, check).await?);
        lists.corrections = corrections.into_values().collect();
        lists.leave_out();
        Ok(lists)
    }

    /// Leaves out the words that most notes have, as long as all have too many together; never the last one.
    fn leave_out(&mut self) {
        let documents = |word: &Word| word.own.iter().chain(&word.stem).map(|term| u64::from(term.count())).sum();
        let counts: Vec<u64> = self.words.iter().map(documents).collect();
        for at in too_many(&counts, MAX_DOCUMENTS) {
            if let Some(word) = self.words.get_mut(at) {
                (word.own, word.stem) = (Vec::new(), Vec::new());
                if !self.left_out.contains(&word.token.word) {
                    self.left_out.push(word.token.word.clone());
                }
            }
        }
        // A word that the query repeats may still count once.
        let counts = |word: &Word| !(word.own.is_empty() && word.stem.is_empty());
        self.left_out.retain(|out| !self.words.iter().any(|word| word.token.word == *out && counts(word)));
    }

    /// Gives words that no note has the terms of similar ones; `unknown` are their places. Returns what was corrected, by place.
    async fn correct(
        &mut self,
        index: &Index,
        unknown: Vec<usize>,
        check: Check<'_>,
    ) -> Result<Vec<(usize, Correction)>, Error> {
        let mut wanted = TermsToFetch::new(index);
        let mut near = Vec::new();
        for at in unknown {
            if let Some(word) = self.words.get(at) {
                near.push((at, wanted.near(&word.token.word)?));
            }
        }
        let mut fetched = wanted.fetch(check).await?;
        let mut corrections = Vec::new();
        for (at, near) in near {
            let similar = fetched.similar(near);
            let correction = self.words.get_mut(at).and_then(|word| word.correct(similar));
            corrections.extend(correction.map(|correction| (at, correction)));
        }
        Ok(corrections)
    }

    /// The terms of a word of a phrase.
    pub(crate) fn exact(&self, token: &Token) -> &[Term] {
        self.exact.get(&key(token)).map(Vec::as_slice).unwrap_or_default()
    }

    /// The terms of a tag.
    pub(crate) fn tag(&self, tag: &str) -> &[Term] {
        self.tags.get(tag).map(Vec::as_slice).unwrap_or_default()
    }

    /// The words for a snippet, with their worths: those of the expression in all their spellings.
    pub(crate) fn searched(&self, expression: &Expression, worth: impl Fn(&[Term]) -> f32) -> SearchedWords {
        let mut searched = SearchedWords::default();
        for word in &self.words {
            let all = if word.stem.is_empty() { &word.own } else { &word.stem };
            let is_corrected = self.corrections.iter().any(|correction| correction.word == word.token.word);
            let first = word.own.first().filter(|_| is_corrected);
            let token = first
                .map_or_else(|| word.token.clone(), |term| Token { word: term.word.to_string(), is_prefix: false });
            searched.push(token, worth(all) * word.share, all.iter().map(|term| &*term.word));
        }
        for token in expression.phrases.iter().flatten() {
            searched.push(token.clone(), worth(self.exact(token)), std::iter::empty());
        }
        searched
    }
}

impl Word {
    /// Takes the terms of similar words, if there are any.
    fn correct(&mut self, SimilarWords { edits, terms }: SimilarWords) -> Option<Correction> {
        let instead: Vec<String> = terms.keys().map(|word| word.to_string()).collect();
        (!instead.is_empty()).then(|| {
            self.own = terms.into_values().flatten().collect();
            self.share *= if edits < 2 { 1.0 } else { TWO_EDITS };
            Correction { word: self.token.word.clone(), instead }
        })
    }
}

/// The places of the greatest of `counts` without which the sum of the others is at most `most`, or only one is left; the greatest first, of
/// equal ones the first.
fn too_many(counts: &[u64], most: u64) -> Vec<usize> {
    let mut places: Vec<usize> = (0..counts.len()).collect();
    places.sort_by_key(|at| counts.get(*at).copied().map(std::cmp::Reverse));
    let mut sum: u64 = counts.iter().sum();
    let is_over = |at: &usize| {
        let is_over = sum > most;
        sum -= counts.get(*at).copied().unwrap_or_default();
        is_over && sum > 0
    };
    places.into_iter().take_while(is_over).collect()
}

fn key(token: &Token) -> String {
    if token.is_prefix { format!("{}*", token.word) } else { token.word.clone() }
}

/// Neighbours as one word: "data view" may be "dataview".
fn joined(words: &[Token], language: Language) -> Vec<Token> {
    let is_plain = |token: &Token| !token.is_prefix && !token.word.contains(is_unspaced);
    let pairs = words.windows(2).filter_map(|pair| match pair {
        [one, other] if is_plain(one) && is_plain(other) => Some((one, other)),
        _ => None,
    });
    let telling = pairs.filter(|(one, other)| !(language.is_common(&one.word) && language.is_common(&other.word)));
    let all = telling.map(|(one, other)| Token { word: format!("{}{}", one.word, other.word), is_prefix: false });
    all.filter(|token| token.word.len() >= MIN_JOINED_BYTES && !words.contains(token)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_words_of_most_notes_are_left_out_first() {
        assert!(too_many(&[5, 0, 9, 9, 1], 24).is_empty());
        assert_eq!(too_many(&[5, 0, 9, 9, 1], 23), [2]);
        assert_eq!(too_many(&[5, 0, 9, 9, 1], 6), [2, 3]);
        assert_eq!(too_many(&[5, 0, 9, 9, 1], 0), [2, 3, 0]);
        assert_eq!(too_many(&[7; 500], 21).len(), 497);
    }

    proptest! {
        #[test]
        fn what_is_left_fits_or_is_one_word(counts in prop::collection::vec(0u64..20, 0..9), most in 0u64..60) {
            let out = too_many(&counts, most);
            let left: Vec<u64> = (0..counts.len()).filter(|at| !out.contains(at)).map(|at| counts[at]).collect();
            let known = left.iter().filter(|count| **count > 0).count();
            prop_assert!(left.iter().sum::<u64>() <= most || known == 1);
            prop_assert!(known > 0 || counts.iter().all(|count| *count == 0));
            prop_assert!(out.iter().all(|at| left.iter().all(|left| *left <= counts[*at])));
        }
    }
}
