//! Reads answers of operations.

use serde_json::{Map, Value};

/// A member that is not there, or of another kind, is empty.
pub(crate) trait Answered {
    /// The text of a member.
    fn text(&self, name: &str) -> &str;
    /// The number in a member.
    fn number(&self, name: &str) -> u64;
    /// The list in a member.
    fn list(&self, name: &str) -> &[Value];
    /// Whether a member is true.
    fn is(&self, name: &str) -> bool;
    /// The text of a member, if it has one.
    fn given(&self, name: &str) -> Option<&str>;
}

impl Answered for Value {
    fn text(&self, name: &str) -> &str {
        self.given(name).unwrap_or_default()
    }

    fn number(&self, name: &str) -> u64 {
        self.get(name).and_then(Self::as_u64).unwrap_or_default()
    }

    fn list(&self, name: &str) -> &[Value] {
        self.get(name).and_then(Self::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    fn is(&self, name: &str) -> bool {
        self.get(name).and_then(Self::as_bool).unwrap_or_default()
    }

    fn given(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Self::as_str).filter(|text| !text.is_empty())
    }
}

/// Arguments of a call, without those that are not given.
pub(crate) fn given<const N: usize>(arguments: [(&str, Option<Value>); N]) -> Value {
    let given = arguments.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(given.collect::<Map<_, _>>())
}
