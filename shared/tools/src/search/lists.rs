//! The terms of an expression in the index: for each word its own terms, those of its stem, or similar ones if no note has it. Only terms in
//! documents that the caller sees count.

mod wanted;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use atlas_ops::error::Error;
use atlas_ops::read::index::{DocumentRef, Fetched, Index};
use atlas_segment::Part;
use atlas_vault::words::is_unspaced;

use crate::search::Correction;
use crate::search::expression::{Expression, Token};
use crate::search::language::Language;
use crate::search::lists::wanted::{Decoded, MAX_ALTERNATIVES, MAX_CORRECTIONS, TermsToFetch, Wanted};
use crate::search::snippet::SearchedWords;

/// The weight of a common word, as a share of that by its rarity, …
const COMMON: f32 = 0.1;
/// … and a similar word two edits away.
const TWO_EDITS: f32 = 0.5;
/// Joined neighbours have at least so many bytes.
const MIN_JOINED_BYTES: usize = 5;

/// The postings of an expression.
pub(crate) struct Lists {
    /// The scored words, in order.
    pub(crate) words: Vec<Word>,
    /// Words of phrases and of what is excluded.
    exact: HashMap<String, Vec<Term>>,
    tags: HashMap<String, Vec<Term>>,
    /// Words that no note has.
    pub(crate) corrections: Vec<Correction>,
}

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

/// A term of a segment.
#[derive(Clone)]
pub(crate) struct Term {
    pub(crate) segment: usize,
    pub(crate) word: Arc<str>,
    /// Its page, and its index there.
    page: Arc<Part>,
    pub(crate) list: u32,
    /// The page with its passages, if they are known.
    pub(crate) passages: Option<Arc<Part>>,
    pub(crate) factor: f32,
    /// The number of its documents.
    count: u32,
    postings: Decoded,
}

/// A word whose pages are not there yet.
struct WantedWord {
    token: Token,
    is_common: bool,
    own: Vec<Wanted>,
    stem: Vec<Wanted>,
    /// Similar terms with their edits, if there are no others.
    near: Vec<(u8, Wanted)>,
    /// Whether it is not of the expression, but two neighbours of it.
    is_joined: bool,
}

impl Lists {
    pub(crate) async fn fetch(index: &Index, expression: &Expression) -> Result<Self, Error> {
        let spoken = expression.words.iter().chain(expression.phrases.iter().flatten());
        let language = Language::of(spoken.map(|token| token.word.as_str()));
        let stems = language.stems();
        let mut wanted = TermsToFetch::new(index);
        let mut words = Vec::new();
        for token in &expression.words {
            let is_common = !token.is_prefix && language.is_common(&token.word);
            let own = wanted.word(token, !is_common)?;
            let stem = if is_common { Vec::new() } else { wanted.stem(token, &stems)? };
            // For who does not see everything only postings tell which words are unknown.
            let is_unknown = index.is_whole() && own.is_empty() && stem.is_empty();
            let is_similar = is_unknown && !is_common && token.may_be_misspelt();
            let near = if is_similar { wanted.near(&token.word)? } else { Vec::new() };
            words.push(WantedWord { token: token.clone(), is_common, own, stem, near, is_joined: false });
        }
        let neighbours = if expression.is_as_written { expression.words.as_slice() } else { &[] };
        for token in joined(neighbours, language) {
            let (own, stem) = (wanted.word(&token, true)?, wanted.stem(&token, &stems)?);
            words.push(WantedWord { token, is_common: false, own, stem, near: Vec::new(), is_joined: true });
        }
        let mut exact = HashMap::new();
        for token in expression.phrases.iter().chain(&expression.excluded).flatten() {
            exact.insert(key(token), wanted.word(token, false)?);
        }
        let mut tags = HashMap::new();
        for tag in expression.tags.iter().chain(&expression.excluded_tags) {
            tags.insert(tag.clone(), wanted.tag(tag)?);
        }
        let fetched = index.load(wanted.wave).await?;
        let seen = |terms: Vec<Wanted>| seen(index, &fetched, terms);
        let of_key = |(key, terms): (String, Vec<Wanted>)| Ok((key, seen(terms)?));
        let exact = exact.into_iter().map(of_key).collect::<Result<HashMap<_, _>, Error>>()?;
        let tags = tags.into_iter().map(of_key).collect::<Result<HashMap<_, _>, Error>>()?;
        let mut lists = Self { words: Vec::new(), exact, tags, corrections: Vec::new() };
        let mut unknown = Vec::new();
        for WantedWord { token, is_common, own, stem, near, is_joined } in words {
            let (own, mut stem) = (seen(own)?, seen(stem)?);
            if stem.len() == own.len() {
                stem.clear();
            }
            let is_unknown = own.is_empty() && stem.is_empty();
            if is_unknown && is_joined {
                continue;
            }
            let share = if is_common { COMMON } else { 1.0 };
            let mut word = Word { token, is_common, share, own, stem };
            if is_unknown && index.is_whole() {
                lists.corrections.extend(word.correct(nearest(index, &fetched, near)?));
            } else if is_unknown && !is_common && word.token.may_be_misspelt() {
                unknown.push(lists.words.len());
            }
            lists.words.push(word);
        }
        lists.correct(index, unknown).await?;
        Ok(lists)
    }

    /// Gives words that no note has the terms of similar ones; `unknown` are their places.
    async fn correct(&mut self, index: &Index, unknown: Vec<usize>) -> Result<(), Error> {
        let mut wanted = TermsToFetch::new(index);
        let mut near = Vec::new();
        for at in unknown {
            if let Some(word) = self.words.get(at) {
                near.push((at, wanted.near(&word.token.word)?));
            }
        }
        if near.is_empty() {
            return Ok(());
        }
        let fetched = index.load(wanted.wave).await?;
        for (at, near) in near {
            let nearest = nearest(index, &fetched, near)?;
            self.corrections.extend(self.words.get_mut(at).and_then(|word| word.correct(nearest)));
        }
        Ok(())
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
    fn correct(&mut self, (edits, near): (u8, ByWord)) -> Option<Correction> {
        let instead: Vec<String> = near.keys().take(MAX_CORRECTIONS).map(|word| word.to_string()).collect();
        (!instead.is_empty()).then(|| {
            self.own = near.into_values().take(MAX_CORRECTIONS).flatten().collect();
            self.share *= if edits < 2 { 1.0 } else { TWO_EDITS };
            Correction { word: self.token.word.clone(), instead }
        })
    }
}

impl Term {
    /// Its documents with their levels.
    pub(crate) fn postings(&self, index: &Index) -> Result<&[(u32, u32)], Error> {
        if let Some(known) = self.postings.get() {
            return Ok(known);
        }
        let universe = index.layout(self.segment)?.documents;
        let postings = self.page.term_page()?.postings(self.list, universe);
        Ok(self.postings.get_or_init(|| postings.map(|postings| postings.weighted().collect()).unwrap_or_default()))
    }

    /// How many documents it has.
    pub(crate) const fn count(&self) -> u32 {
        self.count
    }
}

/// Terms by their words.
type ByWord = BTreeMap<Arc<str>, Vec<Term>>;

/// Of similar terms the nearest that the caller sees, by word, and their edits.
fn nearest(index: &Index, fetched: &Fetched, near: Vec<(u8, Wanted)>) -> Result<(u8, ByWord), Error> {
    let (edits, terms): (Vec<u8>, Vec<Wanted>) = near.into_iter().unzip();
    let terms = counts(index, fetched, terms)?;
    let seen = edits.into_iter().zip(terms).filter(|(_, term)| index.is_whole() || term.count > 0);
    let mut nearest = u8::MAX;
    let mut by_word = ByWord::new();
    for (edits, term) in seen {
        // The nearest come first.
        nearest = nearest.min(edits);
        if edits == nearest {
            by_word.entry(term.word.clone()).or_default().push(term);
        }
    }
    Ok((nearest, by_word))
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

/// `terms` with their pages, and the number of their documents.
fn counts(index: &Index, fetched: &Fetched, terms: Vec<Wanted>) -> Result<Vec<Term>, Error> {
    let counted = |wanted: Wanted| {
        let Wanted { segment, word, slot, list, passages, factor, postings } = wanted;
        let passages = passages.map(|slot| fetched.get(slot)).transpose()?;
        let mut term = Term { segment, word, page: fetched.get(slot)?, list, passages, factor, count: 0, postings };
        term.count = if index.is_whole() {
            let universe = index.layout(segment)?.documents;
            term.page.term_page()?.postings(list, universe).map_or(0, |postings| postings.count())
        } else {
            let shown = |document| index.shows(DocumentRef { segment, document });
            let seen = term.postings(index)?.iter().filter(|(document, _)| shown(*document));
            u32::try_from(seen.count()).unwrap_or(u32::MAX)
        };
        Ok(term)
    };
    terms.into_iter().map(counted).collect()
}

/// Like [`counts`], for terms in documents that the caller sees; limited in each segment.
fn seen(index: &Index, fetched: &Fetched, terms: Vec<Wanted>) -> Result<Vec<Term>, Error> {
    let mut terms = counts(index, fetched, terms)?;
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
