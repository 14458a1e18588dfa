//! Passages: the chunks of text that may contain a match, and their documents.

use crate::error::Error;
use crate::read::index::{DocumentRef, Index};

/// For each segment, the chunks that may match a probe.
pub struct Passages<'a> {
    index: &'a Index,
    segments: Vec<Vec<u32>>,
}

impl<'a> Passages<'a> {
    /// The given chunks for each segment; [`None`] means all of its chunks.
    pub fn of(index: &'a Index, chunks: Vec<Option<Vec<u32>>>) -> Result<Self, Error> {
        let mut segments = Vec::with_capacity(chunks.len());
        for (segment, chunks) in chunks.into_iter().enumerate() {
            segments.push(match chunks {
                Some(chunks) => chunks,
                None => (0..index.layout(segment)?.chunks).collect(),
            });
        }
        Ok(Self { index, segments })
    }

    /// The chunks of one segment, ascending.
    pub fn chunks(&self, segment: usize) -> &[u32] {
        self.segments.get(segment).map(Vec::as_slice).unwrap_or_default()
    }

    /// The documents of `segment` with such chunks, ascending.
    pub fn documents(&self, segment: usize) -> Result<impl Iterator<Item = u32> + Send, Error> {
        let table = self.index.chunks(segment)?;
        let mut next = 0;
        let documents = self.chunks(segment).iter().flat_map(move |chunk| {
            let documents = table.documents(*chunk).unwrap_or_default();
            let from = documents.start.max(next);
            next = documents.end;
            from..documents.end
        });
        Ok(documents.filter(|document| table.text(*document).is_some_and(|text| text.length > 0)))
    }

    /// The chunks of one document.
    pub fn of_document(&self, document: DocumentRef) -> Result<Vec<u32>, Error> {
        let all = self.chunks(document.segment);
        let range = self.index.chunks(document.segment)?.of(document.document).unwrap_or_default();
        let from = all.partition_point(|chunk| *chunk < range.start);
        Ok(all.iter().skip(from).take_while(|chunk| **chunk < range.end).copied().collect())
    }
}
