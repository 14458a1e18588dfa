//! The text that a note is read from.

use std::ops::Range;

use crate::lines::Lines;

/// A note's text and the position of its body. The block and inline readers use offsets from the body's start.
pub(crate) struct Source<'a> {
    text: &'a str,
    body_start: usize,
    lines: &'a Lines,
}

impl<'a> Source<'a> {
    pub(crate) fn new(text: &'a str, body_start: usize, lines: &'a Lines) -> Self {
        Self { text, body_start, lines }
    }

    pub(crate) fn body_start(&self) -> usize {
        self.body_start
    }

    pub(crate) fn body(&self) -> &'a str {
        self.text.get(self.body_start..).unwrap_or_default()
    }

    /// A range of the body as a range of the text.
    pub(crate) fn range(&self, range: &Range<usize>) -> Range<usize> {
        range.start + self.body_start..range.end + self.body_start
    }

    /// The line of a byte offset in the body.
    pub(crate) fn line(&self, offset: usize) -> u32 {
        self.lines.at(offset + self.body_start)
    }

    /// The body in `range`, as written.
    pub(crate) fn slice(&self, range: Range<usize>) -> &'a str {
        self.body().get(range).unwrap_or_default()
    }
}
