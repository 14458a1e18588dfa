//! Terms to fetch: which terms of the index match the words of an expression.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use atlas_ops::error::Error;
use atlas_ops::read::index::{Index, Slot, Wave};
use atlas_segment::terms::tag_term;
use atlas_vault::words::is_unspaced;

use crate::search::expression::Token;
use crate::search::language::Stems;

/// The weight of an occurrence of a similar word.
const MISSPELT: f32 = 0.5;
/// Words up to this many characters are similar with one edit, longer ones with two.
const ONE_EDIT_CHARS: usize = 5;
/// Most words that match a prefix, a stem or a tag in one segment.
pub(super) const MAX_ALTERNATIVES: usize = 256;
/// Most terms of one segment that are looked at for similar words, or for those of a stem.
const MAX_LOOKED_AT: usize = 4096;
/// Most words that a misspelt one may mean.
pub(super) const MAX_CORRECTIONS: usize = 16;

/// Documents with their levels, once they are asked for; of one term only once.
pub(super) type Decoded = Arc<OnceLock<Vec<(u32, u32)>>>;

/// A term whose pages are not there yet.
pub(super) struct Wanted {
    pub(super) segment: usize,
    pub(super) word: Arc<str>,
    pub(super) slot: Slot,
    pub(super) list: u32,
    pub(super) passages: Option<Slot>,
    pub(super) factor: f32,
    pub(super) postings: Decoded,
}

/// Terms whose postings to fetch.
pub(super) struct TermsToFetch<'a> {
    index: &'a Index,
    pub(super) wave: Wave,
    slots: HashMap<(usize, u64), Slot>,
    /// By segment and ordinal.
    decoded: HashMap<(usize, u32), Decoded>,
}

impl<'a> TermsToFetch<'a> {
    pub(super) fn new(index: &'a Index) -> Self {
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
    pub(super) fn word(&mut self, token: &Token, of_text: bool) -> Result<Vec<Wanted>, Error> {
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
    pub(super) fn stem(&mut self, token: &Token, stems: &Stems) -> Result<Vec<Wanted>, Error> {
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
    pub(super) fn near(&mut self, word: &str) -> Result<Vec<(u8, Wanted)>, Error> {
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
    pub(super) fn tag(&mut self, tag: &str) -> Result<Vec<Wanted>, Error> {
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
