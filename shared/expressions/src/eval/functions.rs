//! Dataview's functions.
//!
//! # Layout
//! - `shape`: what many functions share: lists in place of single values, and nothing in place of a value
//! - `make`: constructors; `numbers`; `lists`; `search`: what is in what; `text`; `patterns`: regular expressions; `dates`;
//!   `other`: defaults, what is shown, hashes

use crate::error::Result;
use crate::eval::Evaluator;
use crate::value::Value;

mod dates;
mod lists;
mod make;
mod numbers;
mod other;
mod patterns;
mod search;
mod shape;
mod text;

pub(crate) use lists::{flattened, joined, merge_sort, sliced, without_repeats};
pub(crate) use text::replaced;

/// A function: its arguments' values give its value.
pub(crate) type Function = fn(&Evaluator<'_>, &[Value]) -> Result<Value>;

/// The function of that name.
pub(crate) fn get(name: &str) -> Option<Function> {
    FAMILIES.iter().find_map(|family| family.iter().find(|(own, _)| *own == name)).map(|(_, function)| *function)
}

/// All functions and their names.
const FAMILIES: [&[(&str, Function)]; 8] = [
    make::FUNCTIONS,
    numbers::FUNCTIONS,
    lists::FUNCTIONS,
    search::FUNCTIONS,
    text::FUNCTIONS,
    patterns::FUNCTIONS,
    dates::FUNCTIONS,
    other::FUNCTIONS,
];

/// Names of all functions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES.into_iter().flatten().map(|(name, _)| *name)
}
