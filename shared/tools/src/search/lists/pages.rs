//! Pages of terms to fetch, and the terms that wait for them.

use std::collections::HashMap;
use std::sync::Arc;

use atlas_ops::error::Error;
use atlas_ops::read::index::{Fetched, Index, Slot, Wave};
use atlas_segment::PartRef;

use crate::search::lists::term::{Decoded, Term};

/// A term whose pages are not there yet.
pub(super) struct Wanted {
    pub(super) segment: usize,
    pub(super) word: Arc<str>,
    slot: Slot,
    list: u32,
    passages: Option<Slot>,
    postings: Decoded,
}

impl Wanted {
    /// The term with its pages; [`None`] if the caller sees none of its documents.
    pub(super) fn seen(self, index: &Index, fetched: &Fetched) -> Result<Option<Term>, Error> {
        let Self { segment, word, slot, list, passages, postings } = self;
        let passages = passages.map(|slot| fetched.get(slot)).transpose()?;
        let page = fetched.get(slot)?;
        let mut term = Term { segment, word, page, list, passages, factor: 1.0, count: 0, postings };
        term.count = match index.shown(segment)? {
            None => {
                let universe = index.layout(segment)?.documents;
                term.page.term_page()?.postings(list, universe).map_or(0, |postings| postings.count())
            }
            Some(_) => u32::try_from(term.postings(index)?.len()).unwrap_or(u32::MAX),
        };
        Ok(Some(term).filter(|term| term.count > 0))
    }
}

/// The wave of pages to fetch.
pub(super) struct Pages<'a> {
    pub(super) index: &'a Index,
    wave: Wave,
    slots: HashMap<(usize, u64), Slot>,
    /// How many terms the wave is of.
    wanted: usize,
    /// By segment and ordinal.
    decoded: HashMap<(usize, u32), Decoded>,
}

impl<'a> Pages<'a> {
    pub(super) fn new(index: &'a Index) -> Self {
        Self { index, wave: Wave::default(), slots: HashMap::new(), wanted: 0, decoded: HashMap::new() }
    }

    pub(super) fn term(&mut self, segment: usize, word: &str, ordinal: u32, of_text: bool) -> Result<Wanted, Error> {
        let (table, layout) = (self.index.terms(segment)?, self.index.layout(segment)?);
        let (part, list) = table.page(layout, ordinal)?;
        let mut add = |part: PartRef| {
            let wave = &mut self.wave;
            *self.slots.entry((segment, part.range.start)).or_insert_with(|| wave.add(segment, part))
        };
        let slot = add(part);
        let passages = match (self.index.passages(segment)?, table.page_number(ordinal)) {
            (Some(passages), Some(number)) if of_text => Some(add(passages.page(layout, number)?)),
            _ => None,
        };
        self.wanted += 1;
        let postings = self.decoded.entry((segment, ordinal)).or_default().clone();
        Ok(Wanted { segment, word: word.into(), slot, list, passages, postings })
    }

    /// How many terms were asked for since the last fetch.
    pub(super) const fn wanted(&self) -> usize {
        self.wanted
    }

    /// Fetches the wanted pages, if there are any.
    pub(super) async fn fetch(&mut self) -> Result<Option<Fetched>, Error> {
        if self.slots.is_empty() {
            return Ok(None);
        }
        self.slots.clear();
        self.wanted = 0;
        // Of terms that the caller does not see nobody holds them any more.
        self.decoded.retain(|_, decoded| Decoded::strong_count(decoded) > 1);
        self.index.load(std::mem::take(&mut self.wave)).await.map(Some)
    }
}
