//! Merges several segments' documents into one list.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::error::Error;
use crate::read::index::{DocumentRef, Index};

/// Documents of several segments in path order. Ids are in path order within a segment, so only the path of each
/// segment's next document is decoded, and none if there is one segment.
pub struct Merge<'a> {
    index: &'a Index,
    segments: Vec<(usize, Box<dyn Iterator<Item = u32> + Send + 'a>)>,
    heads: BinaryHeap<Reverse<(String, usize, DocumentRef)>>,
    begun: bool,
}

impl<'a> Merge<'a> {
    /// No documents yet.
    pub const fn new(index: &'a Index) -> Self {
        Self { index, segments: Vec::new(), heads: BinaryHeap::new(), begun: false }
    }

    /// Adds the documents of one segment, ascending.
    pub fn add(&mut self, segment: usize, documents: impl IntoIterator<Item = u32, IntoIter: Send + 'a>) {
        self.segments.push((segment, Box::new(documents.into_iter())));
    }

    /// The next document.
    pub fn pop(&mut self) -> Result<Option<DocumentRef>, Error> {
        if let [(segment, documents)] = self.segments.as_mut_slice() {
            return Ok(documents.next().map(|document| DocumentRef { segment: *segment, document }));
        }
        if !self.begun {
            self.begun = true;
            for list in 0..self.segments.len() {
                self.advance(list)?;
            }
        }
        let Some(Reverse((_, list, document))) = self.heads.pop() else {
            return Ok(None);
        };
        self.advance(list)?;
        Ok(Some(document))
    }

    fn advance(&mut self, list: usize) -> Result<(), Error> {
        if let Some((segment, documents)) = self.segments.get_mut(list)
            && let Some(document) = documents.next()
        {
            let document = DocumentRef { segment: *segment, document };
            self.heads.push(Reverse((self.index.path(document)?, list, document)));
        }
        Ok(())
    }

    /// The first `most` documents.
    pub fn take(mut self, most: usize) -> Result<Vec<DocumentRef>, Error> {
        let mut documents = Vec::new();
        while documents.len() < most
            && let Some(document) = self.pop()?
        {
            documents.push(document);
        }
        Ok(documents)
    }
}
