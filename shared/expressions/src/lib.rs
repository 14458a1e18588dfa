//! The two languages in which people ask their vaults: the expressions and documents of Bases, and the Dataview query language.
//! Pure: rows come through [`Pages`], and the time is given.
//!
//! # Layout
//! - [`value`]: values; [`time`]: dates and durations; `numbers`, `collate`, `regexes`, `emoji`: what JavaScript does with its own
//! - [`syntax`]: the parsers and the printer of expressions
//! - [`eval`]: the evaluator, its limits, the rules of operators, and the functions of both languages
//! - [`pages`]: where rows come from; `created`: what they may not know
//! - [`plan`]: what an index can decide of a filter
//! - [`inline`]: fields within the text of notes; [`properties`]: those before it
//! - [`dql`]: queries of Dataview; [`base`]: documents of Bases; [`render`]: what both give, as markdown

pub mod base;
pub(crate) mod collate;
pub(crate) mod created;
pub mod dql;
pub(crate) mod emoji;
pub mod error;
pub mod eval;
pub mod inline;
pub(crate) mod numbers;
pub mod pages;
pub mod plan;
pub mod properties;
pub(crate) mod regexes;
pub mod render;
pub mod show;
pub mod syntax;
pub mod time;
pub mod value;

pub use error::{Error, Kind, Place, Result};
pub use eval::{Evaluator, Limits, Setting};
pub use pages::{Fact, Pages};
pub use regexes::Pattern;
pub use syntax::{Expr, Node, Operator};
pub use value::{Link, Object, Value};

/// Which of the two languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The Dataview query language.
    Dataview,
    /// The expressions of Bases.
    Bases,
}

impl Dialect {
    /// Parses an expression.
    ///
    /// # Errors
    /// [`Kind::Syntax`] with the place and what could have stood there; [`Kind::Limit`] if it is too long or nests too deep.
    pub fn parse(self, text: &str) -> Result<Expr> {
        match self {
            Self::Dataview => syntax::dataview::parse(text),
            Self::Bases => syntax::bases::parse(text),
        }
    }

    /// The expression as text; parsing it gives the same expression.
    #[must_use]
    pub fn print(self, expr: &Expr) -> String {
        syntax::print::print(expr, self)
    }
}

#[cfg(test)]
mod tests;
