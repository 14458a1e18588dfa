//! The JSON Schemas (2020-12) of operations' arguments and results, each complete in itself.
//!
//! They are data: made of the types by a test, which says when the two differ. So a function holds the schemas of its operations, and
//! none of the code that makes schemas.

#[cfg(test)]
mod tests;

use serde_json::Value;

/// The schemas of an operation, as JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schemas {
    pub(crate) arguments: &'static str,
    pub(crate) output: &'static str,
}

/// By the operations' names, in their order.
const MADE: &[(&str, Schemas)] = &include!("schemas/made.in");

impl Schemas {
    /// Those of the operation of this name.
    pub(crate) const fn of(name: &str) -> Self {
        let mut rest = MADE;
        while let [(one, schemas), others @ ..] = rest {
            if is_same(one, name) {
                return *schemas;
            }
            rest = others;
        }
        // It is new: the test says what to do.
        Self { arguments: "{}", output: "{}" }
    }
}

/// What the text of a schema says.
pub(crate) fn read(schema: &str) -> Value {
    serde_json::from_str(schema).unwrap_or_default()
}

const fn is_same(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    while let ([a, one_rest @ ..], [b, other_rest @ ..]) = (one, other) {
        if *a != *b {
            return false;
        }
        (one, other) = (one_rest, other_rest);
    }
    one.is_empty() && other.is_empty()
}
