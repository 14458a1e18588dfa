//! JSONLogic: conditions as JSON, evaluated like `json-logic-js`, with JavaScript's coercions, and within a budget.
//!
//! An object with one key is an operator and its arguments; one with more keys, or none, is a literal. Where
//! implementations of JSONLogic differ, this one follows `json-logic-js`: lists and objects are equal only to
//! themselves, the empty list is false, an impossible calculation is NaN. It differs from it in this: an unknown
//! operator is an error even if it would not be reached; operators cannot be added, and there is no `method`; `log`
//! writes nothing; inherited members of JavaScript's objects are missing (`length` of lists and texts exists).

mod datum;
mod operators;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub(crate) use datum::{Datum, Record};
use operators::Run;

/// Most operations of one evaluation: each evaluated value counts one; operations on lists and long texts count more.
pub(crate) const MAX_OPERATIONS: u32 = 10_000;
/// Most levels of logic.
const MAX_DEPTH: usize = 64;

/// Checked logic.
#[derive(Clone, Debug)]
pub(crate) struct Logic(Value);

/// The error that an evaluation exceeded [`MAX_OPERATIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfBudget;

impl Logic {
    /// Checks `value`; the error is what is wrong with it.
    pub(crate) fn new(value: Value) -> Result<Self, String> {
        if value.as_object().is_none_or(|object| object.len() != 1) {
            return Err("logic is an object with one operator, {\"==\": [{\"var\": \"status\"}, \"open\"]}".to_owned());
        }
        check(&value, 0)?;
        Ok(Self(value))
    }

    /// The result for `data`.
    pub(crate) fn evaluate<'a>(&'a self, data: &Datum<'a>) -> Result<Datum<'a>, OutOfBudget> {
        Run::new(MAX_OPERATIONS).apply(&self.0, data)
    }

    /// Whether `name` is among its texts, alone or followed by a dot: so whether it may read that variable.
    pub(crate) fn names(&self, name: &str) -> bool {
        has_text(&self.0, &|text| text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    }
}

/// Fails if an operator is unknown, or the nesting too deep.
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
            Err(format!(
                "{operator:?} is not an operator of JSONLogic; the operators are {}",
                operators::KNOWN.join(" ")
            ))
        }),
        _ => Ok(()),
    }
}

/// Whether any text in checked logic satisfies `is_it`.
fn has_text(value: &Value, is_it: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_it(text),
        Value::Array(items) => items.iter().any(|item| has_text(item, is_it)),
        Value::Object(object) if object.len() == 1 => object.values().any(|value| has_text(value, is_it)),
        _ => false,
    }
}
