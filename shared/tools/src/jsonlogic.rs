//! JSONLogic: conditions as JSON, evaluated as `json-logic-js` does, with JavaScript's coercions, and within a budget.
//!
//! An object with one key is an operator and its arguments; one with more keys, or none, stands for itself. Where the implementations of
//! JSONLogic differ, this one does as `json-logic-js`: lists and objects are equal only to themselves, the empty list is false, what a
//! calculation cannot be made of is NaN. It differs from that one in this: an operator that is not known is refused even where it would not
//! be reached; operators cannot be added, and there is no `method`; `log` writes nothing; what JavaScript's own objects inherit is not
//! there (`length` of lists and texts is).
//!
//! # Layout
//! - `datum`: values and their coercions; `operators`: what operators do

mod datum;
mod operators;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub(crate) use datum::{Datum, Record};
use operators::Run;

/// Most operations of one evaluation: each value of the logic that is looked at is one, and what goes through lists and long texts more.
pub(crate) const MAX_OPERATIONS: u32 = 10_000;
/// Most levels of logic.
const MAX_DEPTH: usize = 64;

/// Logic that can be evaluated.
#[derive(Clone, Debug)]
pub(crate) struct Logic(Value);

/// An evaluation took more than [`MAX_OPERATIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfBudget;

impl Logic {
    /// The logic that `value` is; what is wrong with it if it is none.
    pub(crate) fn new(value: Value) -> Result<Self, String> {
        if value.as_object().is_none_or(|object| object.len() != 1) {
            return Err("logic is an object with one operator, {\"==\": [{\"var\": \"status\"}, \"open\"]}".to_owned());
        }
        check(&value, 0)?;
        Ok(Self(value))
    }

    /// What comes of it for `data`.
    pub(crate) fn evaluate<'a>(&'a self, data: &Datum<'a>) -> Result<Datum<'a>, OutOfBudget> {
        Run::new(MAX_OPERATIONS).apply(&self.0, data)
    }

    /// Whether `name` is among its texts, by itself or with a dot and more behind it: so whether it may ask for that.
    pub(crate) fn names(&self, name: &str) -> bool {
        has_text(&self.0, &|text| text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    }
}

/// Fails if there is an operator that is not known, or too much within each other.
fn check(value: &Value, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("logic is at most {MAX_DEPTH} levels deep"));
    }
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| check(item, depth + 1)),
        Value::Object(object) if object.len() == 1 => object.iter().try_for_each(|(operator, arguments)| {
            if operators::is_known(operator) {
                return check(arguments, depth + 1);
            }
            Err(format!("{operator:?} is no operator of JSONLogic; the operators are {}", operators::KNOWN.join(" ")))
        }),
        _ => Ok(()),
    }
}

/// Whether it is so of any text in checked logic.
fn has_text(value: &Value, is_it: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_it(text),
        Value::Array(items) => items.iter().any(|item| has_text(item, is_it)),
        Value::Object(object) if object.len() == 1 => object.values().any(|value| has_text(value, is_it)),
        _ => false,
    }
}
