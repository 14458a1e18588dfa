//! The terms of an expression in the index: for each word its own terms, those of its stem, or similar ones if no note has it. Only terms in
//! documents that the caller sees count.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use atlas_ops::error::Error;
use atlas_ops::read::index::{DocumentRef, Fetched, Index, Slot, Wave};
use atlas_segment::Part;
use atlas_segment::terms::tag_term;
use atlas_vault::words::is_unspaced;

use crate::search::Correction;
use crate::search::expression::{Expression, Token};
use crate::search::language::{Language, Stems};
use crate::search::snippet::SearchedWords;

/// The weight of a common word, as a share of that by its rarity, …
const COMMON: f32 = 0.1;
/// … and a similar word two edits away.
const TWO_EDITS: f32 = 0.5;
/// The weight of an occurrence of a similar word.
const MISSPELT: f32 = 0.5;
/// Words up to this many characters are similar with one edit, longer ones with two.
const ONE_EDIT_CHARS: usize = 5;
/// Joined neighbours have at least so many bytes.
const MIN_JOINED_BYTES: usize = 5;
/// Most words that match a prefix, a stem or a tag in one segment.
const MAX_ALTERNATIVES: usize = 256;
/// Most terms of one segment that are looked at for similar words, or for those of a stem.
const MAX_LOOKED_AT: usize = 4096;
/// Most words that a misspelt one may mean.
const MAX_CORRECTIONS: usize = 16;

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

/// Documents with their levels, once they are asked for; of one term only once.
type Decoded = Arc<OnceLock<Vec<(u32, u32)>>>;

/// A term whose pages are not there yet.
struct Wanted {
    segment: usize,
    word: Arc<str>,
    slot: Slot,
    list: u32,
    passages: Option<Slot>,
    factor: f32,
    postings: Decoded,
}

/// A word whose pages are not there yet.
struct WantedWord {
    token: Token,
    is_common: bool,
    own: Vec<Wanted>,
    stem: Vec<Wanted>,
    /// Similar terms with their edits, if all others may be in notes that the caller does not see.
    near: Vec<(u8, Wanted)>,
    /// Whether it is not of the expression, but two neighbours of it.
    is_joined: bool,
}

/// Terms whose postings to fetch.
struct TermsToFetch<'a> {
    index: &'a Index,
    wave: Wave,
    slots: HashMap<(usize, u64), Slot>,
    /// By segment and ordinal.
    decoded: HashMap<(usize, u32), Decoded>,
}

impl<'a> TermsToFetch<'a> {
    fn new(index: &'a Index) -> Self {
        Self { index, wave: Wave::default(), slots: HashMap::new(), decoded: HashMap::new() }
    }

    fn term(&mut self, segment: usize, word: &str, ordinal: u32, of_text: bool) -> Result<Wanted, Error> {
        let (table, layout) = (self.index.terms(segment)?, self.index.layout(segment)?);
        let (part, list) = table.page(layout, ordinal)?;
        let mut add = |part: atlas_segment::PartRef| {
            let wave = &mut self.wave;
            *self.slots.entry((segment, part.range.start)).or_insert_with(|| wave.add(segment, part))
        };
        let slot = add(part);
        let passages = match (self.index.passages(segment)?, table.page_number(ordinal)) {
            (Some(passages), Some(number)) if of_text => Some(add(passages.page(layout, number)?)),
            _ => None,
        };
        let postings = self.decoded.entry((segment, ordinal)).or_default().clone();
        Ok(Wanted { segment, word: word.into(), slot, list, passages, factor: 1.0, postings })
    }

    /// The terms of all segments that match a word.
    fn word(&mut self, token: &Token, of_text: bool) -> Result<Vec<Wanted>, Error> {
        let mut terms = Vec::new();
        for segment in self.index.segments() {
            let table = self.index.terms(segment)?;
            if token.is_prefix {
                for (word, ordinal) in table.with_prefix(&token.word, most_alternatives(self.index)) {
                    terms.push(self.term(segment, &word, ordinal, of_text)?);
                }
            } else if let Some(ordinal) = table.get(&token.word) {
                terms.push(self.term(segment, &token.word, ordinal, of_text)?);
            }
        }
        Ok(terms)
    }

    /// The terms of all segments with the stem of a word.
    fn stem(&mut self, token: &Token, stems: &Stems) -> Result<Vec<Wanted>, Error> {
        let mut terms = Vec::new();
        let Some(stem) = stems.of(&token.word).filter(|_| !token.is_prefix) else { return Ok(terms) };
        for segment in self.index.segments() {
            let mut found = Vec::new();
            self.index.terms(segment)?.each_with_prefix(&stem.prefix, MAX_LOOKED_AT, |word, ordinal| {
                if word == token.word || stems.has(&stem, word) {
                    found.push((word.to_owned(), ordinal));
                }
            });
            for (word, ordinal) in found {
                terms.push(self.term(segment, &word, ordinal, true)?);
            }
        }
        Ok(terms)
    }

    /// The terms of all segments that are similar to a word, with their edits.
    fn near(&mut self, word: &str) -> Result<Vec<(u8, Wanted)>, Error> {
        let most_edits = if word.chars().count() > ONE_EDIT_CHARS { 2 } else { 1 };
        let mut found = Vec::new();
        for segment in self.index.segments() {
            for (other, ordinal, edits) in self.index.terms(segment)?.near(word, most_edits, MAX_LOOKED_AT) {
                // A word with two typing errors still begins right, which the table knows.
                if !other.starts_with('#') && !other.contains(is_unspaced) {
                    found.push((edits, other, segment, ordinal));
                }
            }
        }
        // Of hidden words some may displace others, unless all are looked at.
        let most = if self.index.is_whole() { MAX_CORRECTIONS } else { MAX_LOOKED_AT };
        found.sort_unstable();
        let mut words = 0;
        let mut terms: Vec<(u8, Wanted)> = Vec::new();
        for (edits, other, segment, ordinal) in found {
            words += usize::from(terms.last().is_none_or(|(_, last)| *last.word != *other));
            if words > most {
                break;
            }
            let term = self.term(segment, &other, ordinal, true)?;
            terms.push((edits, Wanted { factor: MISSPELT, ..term }));
        }
        Ok(terms)
    }

    /// The terms of a tag and of those below it.
    fn tag(&mut self, tag: &str) -> Result<Vec<Wanted>, Error> {
        let mut terms = Vec::new();
        for segment in self.index.segments() {
            let table = self.index.terms(segment)?;
            let below = table.with_prefix(&format!("{}/", tag_term(tag)), most_alternatives(self.index));
            let ordinals = table.get(&tag_term(tag)).into_iter().chain(below.into_iter().map(|(_, ordinal)| ordinal));
            for ordinal in ordinals {
                terms.push(self.term(segment, tag, ordinal, false)?);
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
            // For who does not see everything all words may be unknown, which only their postings tell.
            let may_be_unknown = own.is_empty() && stem.is_empty() || !index.is_whole();
            let is_similar = may_be_unknown && !is_common && token.may_be_misspelt();
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
            if is_unknown {
                lists.correct(&mut word, nearest(index, &fetched, near)?);
            }
            lists.words.push(word);
        }
        Ok(lists)
    }

    /// Gives a word that no note has the terms of similar ones.
    fn correct(&mut self, word: &mut Word, (edits, near): (u8, BTreeMap<Arc<str>, Vec<Term>>)) {
        let instead: Vec<String> = near.keys().take(MAX_CORRECTIONS).map(|word| word.to_string()).collect();
        if !instead.is_empty() {
            self.corrections.push(Correction { word: word.token.word.clone(), instead });
            word.own = near.into_values().take(MAX_CORRECTIONS).flatten().collect();
            word.share *= if edits < 2 { 1.0 } else { TWO_EDITS };
        }
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
