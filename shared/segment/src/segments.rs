//! Builds as few segments as possible from documents.

use crate::builder::{Body, Builder, Built, Document, FULL_BYTES};
use crate::error::FormatError;
use crate::parsed::Parsed;

/// Collects documents, and begins another segment when one is full.
pub struct SegmentsBuilder {
    full: Vec<Built>,
    open: Option<Builder>,
    full_bytes: usize,
}

impl Default for SegmentsBuilder {
    fn default() -> Self {
        Self::of(FULL_BYTES)
    }
}

impl SegmentsBuilder {
    /// A builder that begins another segment when one reaches about `full_bytes` bytes.
    #[must_use]
    pub const fn of(full_bytes: usize) -> Self {
        Self { full: Vec::new(), open: None, full_bytes }
    }

    /// The open segment, if it is full before a document with `next` bytes of text is added. Who takes it finishes it,
    /// and it is not among the [finished](Self::finish) ones.
    #[must_use]
    pub fn take_full(&mut self, next: usize) -> Option<Builder> {
        self.open.take_if(|open| open.is_full(self.full_bytes, next))
    }

    /// Adds the next document in path order.
    ///
    /// # Errors
    /// The errors of [`Builder::push`] and [`Builder::finish`].
    pub fn push(&mut self, document: &Document<'_>) -> Result<(), FormatError> {
        let (Body::Text(text) | Body::Blob { text, .. }) = document.body;
        self.push_parsed(document, Parsed::of(document.kind, document.path, text))
    }

    /// Adds the next document in path order, which was parsed before.
    ///
    /// # Errors
    /// The errors of [`Builder::push`] and [`Builder::finish`].
    pub fn push_parsed(&mut self, document: &Document<'_>, parsed: Parsed) -> Result<(), FormatError> {
        let (Body::Text(text) | Body::Blob { text, .. }) = document.body;
        if let Some(full) = self.take_full(text.len()) {
            self.full.extend(full.finish()?);
        }
        let open = match &mut self.open {
            Some(open) => open,
            none => none.insert(Builder::new()?),
        };
        open.push_parsed(document, parsed)
    }

    /// The finished segments. None of them is empty.
    ///
    /// # Errors
    /// The errors of [`Builder::finish`].
    pub fn finish(self) -> Result<Vec<Built>, FormatError> {
        let Self { mut full, open, .. } = self;
        if let Some(open) = open {
            full.extend(open.finish()?);
        }
        Ok(full)
    }
}
