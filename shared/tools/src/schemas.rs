//! The JSON Schemas (2020-12) of operations' arguments and results, each complete in itself.
//!
//! They are data that a test generates from the types and compares with them: a function contains the schemas of its
//! operations, but no code that generates schemas.

#[cfg(test)]
mod tests;

use atlas_ops::Schemas;

/// By operation name, in the operations' order.
const GENERATED: &[(&str, Schemas)] = &include!("schemas/generated.rs");

/// The schemas of the operation with this name.
pub(crate) const fn of(name: &str) -> Schemas {
    let mut rest = GENERATED;
    while let [(one, schemas), others @ ..] = rest {
        if is_same(one, name) {
            return *schemas;
        }
        rest = others;
    }
    // The operation is new: `make generated` writes its schemas, and a test fails until then.
    Schemas { arguments: "{}", output: "{}" }
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
