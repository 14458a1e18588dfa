//! Documents of Bases: what a `.base` file or a block ` ```base ` says, and its views over the files of a vault.
//!
//! # Layout
//! - `document`: what a document says; `read`: its YAML
//! - `run`: a view over files; `summary`: what stands under a column

pub use document::{Base, Filter, Property, View};
pub use run::{Column, Group, Ran, Row, run};

mod document;
mod read;
mod run;
mod summary;

/// Reads a document.
///
/// # Errors
/// If it is not YAML, or not a document of Bases, or an expression in it is none, or formulas need one another in a circle. The
/// message says in which part; the offset is of the document.
pub fn parse(text: &str) -> crate::Result<Base> {
    read::base(text)
}

/// Reads a filter: an expression, or a map with one of `and`, `or` and `not`. None if it says nothing.
///
/// # Errors
/// As [`parse`], without an offset.
pub fn filter(value: &serde_json::Value) -> crate::Result<Option<Filter>> {
    read::filter(value)
}

/// Names of all functions: those that stand alone, and those of values.
#[must_use]
pub fn functions() -> (Vec<&'static str>, Vec<&'static str>) {
    crate::eval::methods::names()
}
