//! Passages: the chunks of text that may hold what is looked for, and the documents that they are of.

use atlas_segment::Probe;

use crate::error::Error;
use crate::index::{DocumentRef, Index};

/// The chunks of each segment that may hold what a probe is of.
pub(crate) struct Passages<'a> {
    index: &'a Index,
    segments: Vec<Vec<u32>>,
}

impl<'a> Passages<'a> {
    /// Those that the postings fetched for `probe` allow.
    pub(crate) fn of(index: &'a Index, probe: &Probe) -> Result<Self, Error> {
        let segments = index.segments().map(|segment| index.candidates(segment, probe)).collect::<Result<_, _>>()?;
        Ok(Self { index, segments })
    }

    /// Those of one segment, ascending.
    pub(crate) fn chunks(&self, segment: usize) -> &[u32] {
        self.segments.get(segment).map(Vec::as_slice).unwrap_or_default()
    }

    /// The documents of `segment` that they are of, ascending.
    pub(crate) fn documents(&self, segment: usize) -> Result<impl Iterator<Item = u32> + Send, Error> {
        let table = self.index.chunks(segment)?;
        let mut rest = self.chunks(segment);
        Ok(std::iter::from_fn(move || {
            let document = table.document(*rest.first()?)?;
            let end = table.of(document)?.end;
            rest = rest.get(rest.iter().take_while(|chunk| **chunk < end).count()..)?;
            Some(document)
        }))
    }

    /// Those of one document.
    pub(crate) fn of_document(&self, document: DocumentRef) -> Result<Vec<u32>, Error> {
        let all = self.chunks(document.segment);
        let range = self.index.chunks(document.segment)?.of(document.document).unwrap_or_default();
        let from = all.partition_point(|chunk| *chunk < range.start);
        Ok(all.iter().skip(from).take_while(|chunk| **chunk < range.end).copied().collect())
    }
}
