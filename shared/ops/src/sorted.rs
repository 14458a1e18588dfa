//! One order of members for all JSON that leaves or is kept.

use serde_json::Value;

/// The same with the members of all objects sorted by name, so that its bytes do not depend on the order in which it was made.
#[must_use]
pub fn sorted(mut value: Value) -> Value {
    value.sort_all_objects();
    value
}
