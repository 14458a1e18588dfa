//! Regions: the text to search, in path order over all segments, in pieces that are adjacent in their segment. A region
//! consists of chunks, not documents: the texts of short notes are searched together.

use std::ops::Range;

use atlas_ops::error::Error;
use atlas_ops::read::index::{DocumentRef, Index};
use atlas_segment::TextSpan;

/// Text to search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) segment: usize,
    pub(crate) chunks: Range<u32>,
    /// Its documents to search, among those in the chunks.
    pub(crate) documents: Range<u32>,
    /// The span of their text.
    pub(crate) span: TextSpan,
}

/// The remaining regions.
pub(crate) struct Regions<'a> {
    index: &'a Index,
    segments: Vec<Rest>,
    /// Most chunks of a region.
    most: u32,
    /// The current segment, and the document at which another segment's document comes first.
    stretch: Option<(usize, u32)>,
}

/// The rest of a segment.
struct Rest {
    chunks: Vec<u32>,
    /// Index of the next chunk.
    next: usize,
    /// The first document to search.
    from: u32,
}

impl<'a> Regions<'a> {
    /// The text of these chunks of each segment, from these documents and chunks on, at most `most` chunks at a time.
    pub(crate) fn new(
        index: &'a Index,
        chunks: Vec<Option<Vec<u32>>>,
        most: u32,
        begin: impl Fn(usize) -> Result<(u32, u32), Error>,
    ) -> Result<Self, Error> {
        let mut segments = Vec::with_capacity(chunks.len());
        for (segment, chunks) in chunks.into_iter().enumerate() {
            let (from, first) = begin(segment)?;
            let chunks =
                chunks.map_or_else(|| Ok((first..index.layout(segment)?.chunks).collect()), Ok::<Vec<u32>, Error>)?;
            let next = chunks.partition_point(|chunk| *chunk < first);
            segments.push(Rest { chunks, next, from });
        }
        Ok(Self { index, segments, most, stretch: None })
    }

    /// The next chunk of `segment` and its first document to search: one that the caller sees.
    fn head(&mut self, segment: usize) -> Result<Option<(u32, u32)>, Error> {
        let table = self.index.chunks(segment)?;
        let Some(rest) = self.segments.get_mut(segment) else { return Ok(None) };
        while let Some(chunk) = rest.chunks.get(rest.next) {
            let documents = table.documents(*chunk).unwrap_or_default();
            let mut left = documents.start.max(rest.from)..documents.end;
            if let Some(document) = left.find(|document| self.index.shows(DocumentRef { segment, document: *document }))
            {
                return Ok(Some((*chunk, document)));
            }
            rest.next += 1;
        }
        Ok(None)
    }

    /// Chooses the segment whose next document comes first, and how far to search it.
    fn begin(&mut self) -> Result<Option<(usize, u32)>, Error> {
        let mut heads = Vec::new();
        for segment in self.index.segments() {
            if let Some((_, document)) = self.head(segment)? {
                heads.push((segment, document));
            }
        }
        if let [(segment, _)] = heads.as_slice() {
            return Ok(Some((*segment, u32::MAX)));
        }
        let mut paths = Vec::with_capacity(heads.len());
        for (segment, document) in heads {
            let document = DocumentRef { segment, document };
            paths.push((self.index.path(document)?, document));
        }
        paths.sort_unstable();
        let mut paths = paths.into_iter();
        let Some((_, DocumentRef { segment, document })) = paths.next() else { return Ok(None) };
        let end = match paths.next() {
            Some((other, _)) => self.index.paths(segment)?.first_from(other.as_bytes()),
            None => u32::MAX,
        };
        Ok(Some((segment, end.max(document.saturating_add(1)))))
    }

    /// The next region.
    pub(crate) fn next(&mut self) -> Result<Option<Region>, Error> {
        loop {
            let (segment, end) = match self.stretch.take() {
                Some(stretch) => stretch,
                None => match self.begin()? {
                    Some(stretch) => stretch,
                    None => return Ok(None),
                },
            };
            if let Some(region) = self.next_of(segment, end)? {
                self.stretch = Some((segment, end));
                return Ok(Some(region));
            }
        }
    }

    /// The next region of `segment` before document `end`.
    fn next_of(&mut self, segment: usize, end: u32) -> Result<Option<Region>, Error> {
        let Some((first, document)) = self.head(segment)?.filter(|(_, document)| *document < end) else {
            return Ok(None);
        };
        let table = self.index.chunks(segment)?;
        let Some(rest) = self.segments.get_mut(segment) else { return Ok(None) };
        let mut chunks = first..first;
        let mut documents = document..document;
        while rest.chunks.get(rest.next) == Some(&chunks.end) && chunks.end - chunks.start < self.most {
            let of_chunk = table.documents(chunks.end).unwrap_or_default();
            if of_chunk.start >= end {
                break;
            }
            chunks.end += 1;
            documents.end = of_chunk.end.min(end);
            // The rest of the last chunk comes after documents of other segments.
            if of_chunk.end > end {
                break;
            }
            rest.next += 1;
        }
        // A document continues in the next chunk unless it ends with this one.
        rest.from = if rest.chunks.get(rest.next).is_some_and(|next| *next < chunks.end) {
            end
        } else {
            documents.end.saturating_sub(1).max(rest.from)
        };
        let span = |document| table.span(document, chunks.clone()).unwrap_or_default();
        let start = span(documents.start).start;
        let last = span(documents.end.saturating_sub(1));
        let span = TextSpan { start, length: (last.start + last.length).saturating_sub(start) };
        Ok(Some(Region { segment, chunks, documents, span }))
    }
}
