//! Terms of segments with their postings.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use atlas_ops::error::Error;
use atlas_ops::read::index::Index;
use atlas_segment::Part;

/// Documents with their levels.
pub(super) type Postings = Vec<(u32, u32)>;

/// The documents of a term that the caller sees, once they are asked for; of one term only once.
pub(super) type Decoded = Arc<OnceLock<Postings>>;

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
        if let Some(known) = self.postings.get() {
            return Ok(known);
        }
        let decoded = self.decoded(index)?;
        let postings = match index.shown(self.segment)? {
            None => decoded.collect(),
            Some(shown) => {
                decoded.filter(|(document, _)| shown.get(*document as usize).copied().unwrap_or_default()).collect()
            }
        };
        Ok(self.postings.get_or_init(|| postings))
    }

    /// All its documents, whoever sees them.
    pub(crate) fn all_postings(&self, index: &Index) -> Result<Cow<'_, [(u32, u32)]>, Error> {
        match index.shown(self.segment)? {
            None => self.postings(index).map(Cow::Borrowed),
            Some(_) => Ok(Cow::Owned(self.decoded(index)?.collect())),
        }
    }

    fn decoded(&self, index: &Index) -> Result<impl Iterator<Item = (u32, u32)> + '_, Error> {
        let universe = index.layout(self.segment)?.documents;
        let postings = self.page.term_page()?.postings(self.list, universe);
        Ok(postings.into_iter().flat_map(|postings| postings.weighted()))
    }

    /// How many documents it has that the caller sees.
    pub(crate) const fn count(&self) -> u32 {
        self.count
    }
}
