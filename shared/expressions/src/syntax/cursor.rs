use super::tree::{Expr, Node};
use super::{MAX_DEPTH, MAX_NESTING, MAX_TEXT_BYTES};
use crate::emoji;
use crate::error::{Error, Kind, Result};

/// A text and a place in it. Whatever is tried and does not fit is remembered, so that the error at the end tells what could
/// have stood at the furthest place that was reached.
pub(crate) struct Cursor<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: usize,
    furthest: usize,
    expected: Vec<&'static str>,
    nesting: u16,
    refused: Option<Error>,
}

impl<'t> Cursor<'t> {
    /// # Errors
    /// If the text is too long.
    pub(crate) fn new(text: &'t str) -> Result<Self> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(Error::limit(format!("an expression or query has at most {MAX_TEXT_BYTES} bytes")));
        }
        Ok(Self { text, at: 0, furthest: 0, expected: Vec::new(), nesting: 0, refused: None })
    }

    pub(crate) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The place, as expressions keep it.
    pub(crate) fn here(&self) -> u32 {
        u32::try_from(self.at).unwrap_or(u32::MAX)
    }

    /// Remembers that `what` could have stood here.
    pub(crate) fn miss<T>(&mut self, what: &'static str) -> Option<T> {
        self.miss_at(self.at, what)
    }

    pub(crate) fn miss_at<T>(&mut self, at: usize, what: &'static str) -> Option<T> {
        if at > self.furthest {
            self.furthest = at;
            self.expected.clear();
        }
        if at == self.furthest && !self.expected.contains(&what) {
            self.expected.push(what);
        }
        None
    }

    /// Stops all parsing with this error.
    pub(crate) fn refuse<T>(&mut self, error: Error) -> Option<T> {
        let at = self.here();
        self.refused.get_or_insert(error.at(at));
        None
    }

    /// Steps over `sign`.
    pub(crate) fn sign(&mut self, sign: &'static str, name: &'static str) -> Option<()> {
        if self.rest().starts_with(sign) {
            self.at += sign.len();
            return Some(());
        }
        self.miss(name)
    }

    /// Steps over `word` in any case. What follows may be anything.
    pub(crate) fn word(&mut self, word: &'static str) -> Option<()> {
        let found = self.rest().get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        if found {
            self.at += word.len();
            return Some(());
        }
        self.miss(word)
    }

    /// Steps over white space, if there is any.
    pub(crate) fn spaces(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches(emoji::is_space).len();
    }

    /// Steps over white space, of which there has to be some.
    pub(crate) fn some_space(&mut self) -> Option<()> {
        let start = self.at;
        self.spaces();
        if self.at > start { Some(()) } else { self.miss("a space") }
    }

    /// Tries `parse`; if it gives nothing, goes back.
    pub(crate) fn attempt<T>(&mut self, parse: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let start = self.at;
        let parsed = parse(self);
        if parsed.is_none() {
            self.at = start;
        }
        parsed
    }

    /// Entries between commas, none or more. A comma with nothing after it is left.
    pub(crate) fn entries<T>(&mut self, mut entry: impl FnMut(&mut Self) -> Option<T>) -> Vec<T> {
        let mut entries = Vec::new();
        let Some(first) = self.attempt(&mut entry) else { return entries };
        entries.push(first);
        while let Some(next) = self.attempt(|cursor| {
            cursor.spaces();
            cursor.sign(",", "\",\"")?;
            cursor.spaces();
            entry(cursor)
        }) {
            entries.push(next);
        }
        entries
    }

    /// Parses what is in brackets, unless they nest too deep.
    pub(crate) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.refused.is_some() {
            return None;
        }
        if self.nesting >= MAX_NESTING {
            return self.refuse(Error::limit(format!("brackets may nest {MAX_NESTING} deep")));
        }
        self.nesting += 1;
        let parsed = parse(self);
        self.nesting -= 1;
        parsed
    }

    /// An expression, unless it nests too deep.
    pub(crate) fn build(&mut self, node: Node, at: u32) -> Option<Expr> {
        let expr = Expr::new(node, at);
        if expr.depth > MAX_DEPTH {
            return self.refuse(Error::limit(format!("an expression may have {MAX_DEPTH} operators in one another")));
        }
        Some(expr)
    }

    /// The result of parsing the whole text.
    ///
    /// # Errors
    /// If it was not parsed, or something is left of it.
    pub(crate) fn finish<T>(mut self, parsed: Option<T>) -> Result<T> {
        if let Some(error) = self.refused.take() {
            return Err(error);
        }
        match parsed {
            Some(parsed) if self.at == self.text.len() => Ok(parsed),
            Some(_) => {
                self.miss::<()>("the end");
                Err(self.error())
            }
            None => Err(self.error()),
        }
    }

    fn error(&self) -> Error {
        let found = self.text.get(self.furthest..).unwrap_or_default();
        let found: String = found.split_whitespace().next().unwrap_or_default().chars().take(30).collect();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("\"{found}\"") };
        let mut error = Error::new(Kind::Syntax, String::new());
        error.offset = Some(self.furthest);
        error.expected.clone_from(&self.expected);
        let expected = match self.expected.as_slice() {
            [] => "something else".to_owned(),
            [one] => (*one).to_owned(),
            [most @ .., last] => format!("{} or {last}", most.join(", ")),
        };
        error.message = format!("expected {expected}, found {found}");
        error
    }
}
