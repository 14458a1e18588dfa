//! Terms to fetch: which terms of the index match the words of an expression. Of those of a segment the first in order count, and only terms
//! in documents that the caller sees. Where these are not all documents of the segment, more terms are fetched until there are enough.

use atlas_ops::error::Error;
use atlas_ops::read::index::{Fetched, Index};
use atlas_segment::terms::tag_term;

use crate::search::expression::Token;
use crate::search::language::Stems;
use crate::search::lists::Check;
use crate::search::lists::pages::{Pages, Wanted};
use crate::search::lists::similar::{Similar, SimilarWords};
use crate::search::lists::term::Term;

/// Most words that match a prefix, a stem or a tag in one segment.
const MAX_ALTERNATIVES: usize = 256;
/// Terms of one segment that are fetched first where some may be of documents that the caller does not see: twice as many as are wanted if
/// only deleted ones are hidden, …
const AT_FIRST: usize = 2 * MAX_ALTERNATIVES;
/// … more if others are; and then so many times as many, …
const AT_FIRST_OF_HIDDEN: usize = 16 * MAX_ALTERNATIVES;
const MORE: usize = 4;
/// … until a wave has so many terms.
const MAX_OF_WAVE: usize = 64 << 10;

/// Finds the terms of a segment that match, in order: those after one, if it is given, and at most so many.
type Matching<'a> = Box<dyn Fn(usize, Option<&str>, usize) -> Result<Vec<(String, u32)>, Error> + Send + 'a>;

/// Terms of all segments that match a word.
struct List<'a> {
    of_text: bool,
    matching: Matching<'a>,
    wanted: Vec<Wanted>,
    rest: Vec<Rest>,
    seen: Vec<Term>,
}

/// A segment with more terms, the last of those that were fetched, and how many come next.
struct Rest {
    segment: usize,
    after: Option<String>,
    next: usize,
}

impl List<'_> {
    fn count(&self, segment: usize) -> usize {
        self.seen.iter().filter(|term| term.segment == segment).count()
    }

    /// Takes the fetched terms, and wants more of segments that have too few.
    fn take(&mut self, pages: &mut Pages<'_>, fetched: &Fetched) -> Result<(), Error> {
        let mut count = (usize::MAX, 0);
        for wanted in std::mem::take(&mut self.wanted) {
            if count.0 != wanted.segment {
                count = (wanted.segment, self.count(wanted.segment));
            }
            if count.1 < MAX_ALTERNATIVES
                && let Some(term) = wanted.seen(pages.index, fetched)?
            {
                self.seen.push(term);
                count.1 += 1;
            }
        }
        self.want(pages)
    }

    fn want(&mut self, pages: &mut Pages<'_>) -> Result<(), Error> {
        for Rest { segment, after, next } in std::mem::take(&mut self.rest) {
            if self.count(segment) >= MAX_ALTERNATIVES {
                continue;
            }
            let most = next.min(MAX_OF_WAVE.saturating_sub(pages.wanted()).max(AT_FIRST));
            let found = (self.matching)(segment, after.as_deref(), most)?;
            if found.len() >= most {
                let after = found.last().map(|(term, _)| term.clone());
                self.rest.push(Rest { segment, after, next: next * MORE });
            }
            for (word, ordinal) in found {
                self.wanted.push(pages.term(segment, &word, ordinal, self.of_text)?);
            }
        }
        Ok(())
    }
}

/// The place of a list among those that were asked for.
#[derive(Clone, Copy)]
pub(super) struct ListId(usize);

/// Lists of terms to fetch.
pub(super) struct TermsToFetch<'a> {
    pages: Pages<'a>,
    lists: Vec<List<'a>>,
    similar: Vec<Similar>,
}

/// The fetched lists.
pub(super) struct FetchedTerms {
    lists: Vec<Vec<Term>>,
    similar: Vec<SimilarWords>,
}

impl<'a> TermsToFetch<'a> {
    pub(super) fn new(index: &'a Index) -> Self {
        Self { pages: Pages::new(index), lists: Vec::new(), similar: Vec::new() }
    }

    /// Asks for the terms that `matching` finds.
    fn list(&mut self, of_text: bool, matching: Matching<'a>) -> Result<ListId, Error> {
        let index = self.pages.index;
        let of_hidden = if index.is_whole() { AT_FIRST } else { AT_FIRST_OF_HIDDEN };
        let mut rest = Vec::new();
        for segment in index.segments() {
            let next = if index.shown(segment)?.is_some() { of_hidden } else { MAX_ALTERNATIVES };
            rest.push(Rest { segment, after: None, next });
        }
        let mut list = List { of_text, matching, wanted: Vec::new(), rest, seen: Vec::new() };
        list.want(&mut self.pages)?;
        self.lists.push(list);
        Ok(ListId(self.lists.len() - 1))
    }

    /// Whether no segment has a term that was asked for.
    pub(super) fn is_empty(&self, list: ListId) -> bool {
        self.lists.get(list.0).is_none_or(|list| list.wanted.is_empty())
    }

    /// The terms of all segments that match a word.
    pub(super) fn word(&mut self, token: &Token, of_text: bool) -> Result<ListId, Error> {
        let (index, Token { word, is_prefix }) = (self.pages.index, token.clone());
        self.list(
            of_text,
            Box::new(move |segment, after, most| {
                let table = index.terms(segment)?;
                Ok(match is_prefix {
                    true => table.with_prefix_where(&word, after, most, |_| true),
                    false => table.get(&word).map(|ordinal| (word.clone(), ordinal)).into_iter().collect(),
                })
            }),
        )
    }

    /// The terms of all segments with the stem of a word.
    pub(super) fn stem(&mut self, token: &Token, stems: &'a Stems) -> Result<ListId, Error> {
        let index = self.pages.index;
        let stem = stems.of(&token.word).filter(|_| !token.is_prefix);
        let own = token.word.clone();
        self.list(
            true,
            Box::new(move |segment, after, most| {
                let Some(stem) = &stem else { return Ok(Vec::new()) };
                let is_of_stem = |word: &str| word == own || stems.has(stem, word);
                let (table, mut found) = (index.terms(segment)?, Vec::new());
                for prefix in &stem.prefixes {
                    found.extend(table.with_prefix_where(prefix, after, most - found.len(), is_of_stem));
                }
                Ok(found)
            }),
        )
    }

    /// The terms of a tag and of those below it.
    pub(super) fn tag(&mut self, tag: &str) -> Result<ListId, Error> {
        let (index, own) = (self.pages.index, tag_term(tag));
        self.list(
            false,
            Box::new(move |segment, after, most| {
                let table = index.terms(segment)?;
                let of_tag = table.get(&own).filter(|_| after.is_none()).map(|ordinal| (own.clone(), ordinal));
                let below = table.with_prefix_where(&format!("{own}/"), after, most, |_| true);
                Ok(of_tag.into_iter().chain(below).collect())
            }),
        )
    }

    /// The words that are similar to one.
    pub(super) fn near(&mut self, word: &str) -> Result<usize, Error> {
        self.similar.push(Similar::of(&mut self.pages, word)?);
        Ok(self.similar.len() - 1)
    }

    /// Fetches them, mostly in one wave.
    pub(super) async fn fetch(mut self, check: Check<'_>) -> Result<FetchedTerms, Error> {
        while let Some(fetched) = self.pages.fetch().await? {
            for list in &mut self.lists {
                check()?;
                list.take(&mut self.pages, &fetched)?;
            }
            for similar in &mut self.similar {
                similar.take(&mut self.pages, &fetched)?;
            }
        }
        Ok(FetchedTerms {
            lists: self.lists.into_iter().map(|list| list.seen).collect(),
            similar: self.similar.into_iter().map(Similar::words).collect(),
        })
    }
}

impl FetchedTerms {
    /// The terms of a list, by segment.
    pub(super) fn list(&mut self, id: ListId) -> Vec<Term> {
        let mut terms = self.lists.get_mut(id.0).map(std::mem::take).unwrap_or_default();
        terms.sort_by_key(|term| term.segment);
        terms
    }

    /// The similar words that were asked for at a place.
    pub(super) fn similar(&mut self, at: usize) -> SimilarWords {
        self.similar.get_mut(at).map(std::mem::take).unwrap_or_default()
    }
}
