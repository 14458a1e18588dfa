//! Builds as few segments as possible from documents.

use crate::builder::{Body, Builder, Built, Document};
use crate::error::FormatError;
use crate::parsed::Parsed;

/// Collects documents, and begins another segment when one is full.
#[derive(Default)]
pub struct SegmentsBuilder {
    full: Vec<Built>,
    open: Option<Builder>,
}

impl SegmentsBuilder {
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
        if let Some(full) = self.open.take_if(|open| open.is_full(text.len())) {
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
        let Self { mut full, open } = self;
        if let Some(open) = open {
            full.extend(open.finish()?);
        }
        Ok(full)
    }
}
