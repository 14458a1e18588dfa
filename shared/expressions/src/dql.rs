//! The Dataview query language: queries parsed, printed and run over the pages of a vault.
//!
//! # Layout
//! - `query`: what queries are, and how they are printed; `parse`: their text
//! - `source`: what stands after `FROM`; `run`: a query over rows

pub use query::{Column, Header, Query, Step};
pub use run::{Output, Ran, run};
pub use source::Source;
pub(crate) use source::{ends_tag, file_named};

mod parse;
mod query;
mod run;
mod source;

/// Parses a query.
///
/// # Errors
/// [`Kind::Syntax`](crate::Kind) with the place and what could have stood there; [`Kind::Limit`](crate::Kind) if it is too long or nests
/// too deep.
pub fn parse(text: &str) -> crate::Result<Query> {
    parse::query(text)
}

/// Names of all functions that expressions may call.
pub fn functions() -> impl Iterator<Item = &'static str> {
    crate::eval::functions::names()
}
