//! Which documents of an index the caller sees.

use std::ops::Range;
use std::sync::OnceLock;

use atlas_access::acl::is_closed_path;

use crate::error::Error;
use crate::read::index::{DocumentRef, Index};

/// By segment, for each document whether the caller sees it, once that is asked for; [`None`] where the caller sees all.
#[derive(Default)]
pub(super) struct ShownDocuments(OnceLock<Vec<Option<Vec<bool>>>>);

impl Index {
    /// Whether a document is live and the caller sees it. Configuration of an app and the trash are hidden from
    /// everybody.
    pub fn shows(&self, document: DocumentRef) -> bool {
        !self.is_closed(document) && self.view.shows(document.segment, document.document, || self.path(document).ok())
    }

    fn is_closed(&self, document: DocumentRef) -> bool {
        let is_dotted = self.paths(document.segment).is_ok_and(|paths| paths.dotted().contains(&document.document));
        is_dotted && self.path(document).map_or(true, |path| is_closed_path(&path))
    }

    /// For each document of a segment whether it is [shown](Self::shows); [`None`] if all are.
    ///
    /// # Errors
    /// When the index is damaged.
    pub fn shown(&self, segment: usize) -> Result<Option<&[bool]>, Error> {
        let known = match self.shown.0.get() {
            Some(known) => known,
            None => {
                let made = self.segments().map(|segment| self.shown_of(segment)).collect::<Result<_, _>>()?;
                self.shown.0.get_or_init(|| made)
            }
        };
        Ok(known.get(segment).and_then(Option::as_deref))
    }

    fn shown_of(&self, segment: usize) -> Result<Option<Vec<bool>>, Error> {
        let documents = self.layout(segment)?.documents;
        if !self.is_whole() {
            let shown: Vec<bool> =
                (0..documents).map(|document| self.shows(DocumentRef { segment, document })).collect();
            return Ok(Some(shown).filter(|shown| shown.contains(&false)));
        }
        let deleted = self.snapshot().tombstones(segment);
        let closed = self.closed(segment)?;
        if closed.is_empty() && deleted.is_some_and(|deleted| deleted.is_empty()) {
            return Ok(None);
        }
        let mut shown = vec![deleted.is_some(); documents as usize];
        for document in closed.into_iter().flatten().chain(deleted.into_iter().flat_map(|deleted| deleted.iter())) {
            shown.get_mut(document as usize).into_iter().for_each(|shown| *shown = false);
        }
        Ok(Some(shown))
    }

    /// The documents of a segment that are closed to everybody.
    fn closed(&self, segment: usize) -> Result<Vec<Range<u32>>, Error> {
        let paths = self.paths(segment)?;
        let Range { mut start, end } = paths.dotted();
        let mut closed = Vec::new();
        while start < end {
            let path = paths.one_path(start)?;
            // Its first folder decides for all that is there.
            let of_folder = path.find('/').and_then(|at| path.get(..=at)).map(|folder| paths.with_prefix(folder).end);
            let next = of_folder.unwrap_or_default().clamp(start + 1, end);
            if is_closed_path(&path) {
                closed.push(start..next);
            }
            start = next;
        }
        Ok(closed)
    }
}
