//! Errors of texts and of their evaluation, with their places.

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The text is not of the language.
    Syntax,
    /// The expression has no value: a function that there is not, arguments of the wrong types.
    Evaluation,
    /// The text or its evaluation is larger than is allowed.
    Limit,
    /// The languages have it, and this crate does not: lookaround in regular expressions, named time zones.
    Unsupported,
}

/// An error in a text or in its evaluation. Its message tells what to do, without the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The kind.
    pub kind: Kind,
    /// A sentence without a full stop.
    pub message: String,
    /// Where in the text, in bytes; `None` if no one place is to blame.
    pub offset: Option<usize>,
    /// The expected tokens, if `kind` is `Syntax`.
    pub expected: Vec<&'static str>,
}

/// A place in a text, for people: both count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The character in that line.
    pub column: usize,
}

impl Error {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), offset: None, expected: Vec::new() }
    }

    pub(crate) fn evaluation(message: impl Into<String>) -> Self {
        Self::new(Kind::Evaluation, message)
    }

    pub(crate) fn limit(message: impl Into<String>) -> Self {
        Self::new(Kind::Limit, message)
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(Kind::Unsupported, message)
    }

    /// With that place, unless it has one already.
    pub(crate) fn at(mut self, offset: u32) -> Self {
        self.offset.get_or_insert(offset as usize);
        self
    }

    /// The line and column in `text`, the text that was parsed.
    #[must_use]
    pub fn place(&self, text: &str) -> Option<Place> {
        let offset = text.floor_char_boundary(self.offset?);
        let before = text.get(..offset)?;
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let line = before.matches('\n').count() + 1;
        Some(Place { line, column: before.get(line_start..)?.chars().count() + 1 })
    }
}

/// The result of parsing or evaluating.
pub type Result<T> = std::result::Result<T, Error>;
