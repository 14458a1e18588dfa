//! Terms of segments with their postings.

use std::sync::{Arc, OnceLock};

use atlas_ops::error::Error;
use atlas_ops::read::index::Index;
use atlas_segment::Part;

/// Documents with their levels.
type Postings = Vec<(u32, u32)>;

/// The postings of a term, once they are asked for; of one term only once.
pub(super) type Decoded = Arc<DecodedPostings>;

/// All documents of a term, and those that the caller sees, if these are fewer.
#[derive(Default)]
pub(super) struct DecodedPostings {
    all: OnceLock<Postings>,
    shown: OnceLock<Postings>,
}

/// A term of a segment.
#[derive(Clone)]
pub(crate) struct Term {
    pub(crate) segment: usize,
    pub(crate) word: Arc<str>,
    /// Its page, and its index there.
    pub(super) page: Arc<Part>,
    pub(crate) list: u32,
    /// The page with its passages, if they are known.
    pub(crate) passages: Option<Arc<Part>>,
    pub(crate) factor: f32,
    /// The number of its documents.
    pub(super) count: u32,
    pub(super) postings: Decoded,
}

impl Term {
    /// Its documents that the caller sees, with their levels.
    pub(crate) fn postings(&self, index: &Index) -> Result<&[(u32, u32)], Error> {
        let all = self.all_postings(index)?;
        let Some(shown) = index.shown(self.segment)? else { return Ok(all) };
        let is_shown = |document: u32| shown.get(document as usize).copied().unwrap_or_default();
        let seen = || all.iter().copied().filter(|(document, _)| is_shown(*document)).collect();
        Ok(self.postings.shown.get_or_init(seen))
    }

    /// All its documents, whoever sees them.
    pub(crate) fn all_postings(&self, index: &Index) -> Result<&[(u32, u32)], Error> {
        if let Some(known) = self.postings.all.get() {
            return Ok(known);
        }
        let universe = index.layout(self.segment)?.documents;
        let postings = self.page.term_page()?.postings(self.list, universe);
        let all = || postings.map(|postings| postings.weighted().collect()).unwrap_or_default();
        Ok(self.postings.all.get_or_init(all))
    }

    /// How many documents it has that the caller sees.
    pub(crate) const fn count(&self) -> u32 {
        self.count
    }
}
