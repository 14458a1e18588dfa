//! Builds as few segments as possible from documents.

use crate::builder::{Body, Builder, Built, Document};
use crate::code::Code;
use crate::error::FormatError;

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
        self.push_code(document, None)
    }

    /// Adds the next document in path order, and what it says as source code, if that is known.
    ///
    /// # Errors
    /// The errors of [`Builder::push`] and [`Builder::finish`].
    pub fn push_code(&mut self, document: &Document<'_>, code: Option<&Code>) -> Result<(), FormatError> {
        let (Body::Text(text) | Body::Blob { text, .. }) = document.body;
        if let Some(full) = self.open.take_if(|open| open.is_full(text.len())) {
            self.full.extend(full.finish()?);
        }
        let open = match &mut self.open {
            Some(open) => open,
            none => none.insert(Builder::new()?),
        };
        open.push_code(document, code)
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
