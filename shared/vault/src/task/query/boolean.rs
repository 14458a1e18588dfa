//! Combinations of filters: `(done) AND NOT [(path includes a) OR …]`.

use jiff::civil::Date;

use super::Item;
use super::filter::Filter;

/// Most levels of nested brackets.
const MAX_DEPTH: usize = 32;

/// A filter or a combination of filters.
#[derive(Debug)]
pub(super) enum Expression {
    Filter(Filter),
    Not(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
    Odd(Vec<Self>),
}

/// The delimiters around filters.
#[derive(Clone, Copy)]
struct Delimiters(char, char);

const DELIMITERS: [Delimiters; 4] =
    [Delimiters('(', ')'), Delimiters('[', ']'), Delimiters('{', '}'), Delimiters('"', '"')];

impl Delimiters {
    /// The delimiters that `text` begins with, if it is a combination.
    fn of(text: &str) -> Option<Self> {
        let first = skip_not(text).chars().next()?;
        DELIMITERS.into_iter().find(|delimiters| delimiters.0 == first)
    }
}

/// `text` after all `NOT`s that it begins with.
fn skip_not(mut text: &str) -> &str {
    while let Some(rest) = operator(text, "NOT") {
        text = rest;
    }
    text
}

/// The text after an operator at the beginning of `text`.
fn operator<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(name)?;
    let is_whole = rest.starts_with(|c: char| c.is_whitespace() || DELIMITERS.iter().any(|pair| pair.0 == c));
    is_whole.then(|| rest.trim_start())
}

impl Expression {
    /// Parses `text`.
    pub(super) fn parse(text: &str, today: Date) -> Result<Self, String> {
        Self::within(text.trim(), today, 0)
    }

    fn within(text: &str, today: Date, depth: usize) -> Result<Self, String> {
        let Some(delimiters) = Delimiters::of(text) else {
            return Filter::parse(text, today).map(Self::Filter);
        };
        if depth >= MAX_DEPTH {
            return Err(format!("brackets are at most {MAX_DEPTH} deep"));
        }
        let mut parser = Parser { rest: text, delimiters, today, depth };
        let whole = parser.any()?;
        if parser.rest.is_empty() { Ok(whole) } else { Err(parser.unexpected()) }
    }

    pub(super) fn matches(&self, item: &Item<'_>) -> bool {
        match self {
            Self::Filter(filter) => filter.matches(item),
            Self::Not(one) => !one.matches(item),
            Self::All(all) => all.iter().all(|one| one.matches(item)),
            Self::Any(all) => all.iter().any(|one| one.matches(item)),
            Self::Odd(all) => all.iter().filter(|one| one.matches(item)).count() % 2 == 1,
        }
    }

    pub(super) fn needs_headings(&self) -> bool {
        match self {
            Self::Filter(filter) => filter.needs_headings(),
            Self::Not(one) => one.needs_headings(),
            Self::All(all) | Self::Any(all) | Self::Odd(all) => all.iter().any(Self::needs_headings),
        }
    }
}

/// Reads a combination: NOT binds closest, then XOR, AND, OR.
struct Parser<'a> {
    rest: &'a str,
    delimiters: Delimiters,
    today: Date,
    depth: usize,
}

impl Parser<'_> {
    fn any(&mut self) -> Result<Expression, String> {
        self.several("OR", Self::all, Expression::Any)
    }

    fn all(&mut self) -> Result<Expression, String> {
        self.several("AND", Self::odd, Expression::All)
    }

    fn odd(&mut self) -> Result<Expression, String> {
        self.several("XOR", Self::one, Expression::Odd)
    }

    /// Parts with an operator between them.
    fn several(
        &mut self,
        name: &str,
        part: fn(&mut Self) -> Result<Expression, String>,
        make: fn(Vec<Expression>) -> Expression,
    ) -> Result<Expression, String> {
        let first = part(self)?;
        let mut parts = vec![first];
        while let Some(rest) = operator(self.rest, name) {
            self.rest = rest;
            parts.push(part(self)?);
        }
        match parts.pop() {
            Some(only) if parts.is_empty() => Ok(only),
            last => Ok(make(parts.into_iter().chain(last).collect())),
        }
    }

    /// A filter or combination within delimiters, or a negated one.
    fn one(&mut self) -> Result<Expression, String> {
        let mut is_negated = false;
        while let Some(rest) = operator(self.rest, "NOT") {
            self.rest = rest;
            is_negated = !is_negated;
        }
        let inner = self.rest.strip_prefix(self.delimiters.0).ok_or_else(|| self.unexpected())?;
        let end = self.end(inner).ok_or_else(|| self.unclosed())?;
        let (inside, after) = inner.split_at_checked(end).ok_or_else(|| self.unclosed())?;
        self.rest = after.get(self.delimiters.1.len_utf8()..).unwrap_or_default().trim_start();
        let one = Expression::within(inside.trim(), self.today, self.depth + 1)?;
        Ok(if is_negated { Expression::Not(Box::new(one)) } else { one })
    }

    /// The position of the closing delimiter in `inner`.
    fn end(&self, inner: &str) -> Option<usize> {
        let Delimiters(open, close) = self.delimiters;
        let mut depth = 0_usize;
        for (at, character) in inner.char_indices() {
            if character == close {
                match depth.checked_sub(1) {
                    Some(less) => depth = less,
                    None => return Some(at),
                }
            } else if character == open {
                depth += 1;
            }
        }
        None
    }

    fn unclosed(&self) -> String {
        let Delimiters(open, close) = self.delimiters;
        format!("{:?} is not closed: a filter whose text has {open} or {close} needs other brackets", self.rest)
    }

    fn unexpected(&self) -> String {
        let Delimiters(open, close) = self.delimiters;
        format!(
            "{:?} is not understood: put each filter of the line in {open}…{close}, with AND, OR, NOT or XOR between them; a filter whose text has {open} or {close} needs other brackets",
            self.rest
        )
    }
}
