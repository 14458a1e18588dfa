//! A canonical order of members for all JSON that is sent or stored.

use serde_json::Value;

/// `value` with the members of all objects sorted by name, so that equal values have equal bytes.
#[must_use]
pub fn sorted(mut value: Value) -> Value {
    value.sort_all_objects();
    value
}
