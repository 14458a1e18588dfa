//! Operations as the protocol's tools, and the hash that tells whether they changed.

use std::sync::LazyLock;

use atlas_ops::Entry;
use atlas_ops::pipeline::gates::arguments_of_calls;
use atlas_tools::operations;
use atlas_web::state::Offer;
use atlas_web::{App, request};
use serde_json::{Map, Number, Value, json};
use sha2::{Digest as _, Sha256};

use crate::BASE;

/// All tools by name, as they are listed.
static ALL: LazyLock<Vec<(&'static Entry, Value)>> = LazyLock::new(|| {
    let mut all: Vec<_> = operations().iter().map(|operation| (*operation, canonical(&described(operation)))).collect();
    all.sort_by_key(|(operation, _)| operation.info.name);
    all
});

/// The tools that are listed, and their hash.
pub(crate) fn listed(app: &App) -> (Vec<&'static Value>, String) {
    let listed = ALL.iter().filter(|(operation, _)| app.offers(operation) == Offer::Listed);
    let tools: Vec<&'static Value> = listed.map(|(_, tool)| tool).collect();
    let text = json!(tools).to_string();
    let hash = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    (tools, hash)
}

/// The tool that is called at `path`, if it may be.
pub(crate) fn named(app: &App, path: &str) -> Option<&'static Entry> {
    let name = path.strip_prefix(BASE)?.strip_prefix("/tools/")?.strip_suffix("/call")?;
    let name = request::decode(name).ok()?;
    let operation = operations().iter().find(|operation| operation.info.name == name)?;
    (app.offers(operation) != Offer::Disabled).then_some(operation)
}

/// Whether pages of any origin may call at `path`: where callers are not told apart and the configuration says so, what only reads.
pub(crate) fn is_for_all_pages(app: &App, path: &str) -> bool {
    let is_open = app.bridge_any_origin && !app.gate.is_shut();
    // `find` may leave a note behind.
    let only_reads = |operation: &Entry| operation.info.only_reads() && !app.atlas.limits.search_notes;
    is_open && path.starts_with(BASE) && named(app, path).is_none_or(only_reads)
}

fn described(operation: &Entry) -> Value {
    let mut schema = operation.arguments_schema();
    let properties = schema.as_object_mut().map(|schema| schema.entry("properties").or_insert_with(|| json!({})));
    if let Some(properties) = properties.and_then(Value::as_object_mut) {
        for (name, description) in arguments_of_calls(&operation.info) {
            properties.insert(name.to_owned(), json!({ "type": "string", "description": description }));
        }
    }
    json!({ "name": operation.info.name, "description": operation.info.description, "inputSchema": schema })
}

/// The same as JavaScript writes it after sorting the members of all objects: a whole number has no fraction.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            let members = members.into_iter().map(|(name, value)| (name.clone(), canonical(value)));
            Value::Object(members.collect::<Map<String, Value>>())
        }
        Value::Array(items) => items.iter().map(canonical).collect(),
        Value::Number(number) => Value::Number(whole(number).unwrap_or_else(|| number.clone())),
        value => value.clone(),
    }
}

/// A number without a fraction as an integer.
#[allow(clippy::cast_possible_truncation, reason = "it is within what a double holds exactly")]
fn whole(number: &Number) -> Option<Number> {
    /// Greatest integer up to which a double holds all.
    const EXACT: f64 = 9_007_199_254_740_991.0;
    let double = number.as_f64().filter(|double| number.is_f64() && double.fract() == 0.0 && double.abs() <= EXACT)?;
    Some(Number::from(double as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_written_as_javascript_writes_them() {
        let value = json!({ "b": [2.0, 1.5, -0.0, { "y": 1, "x": "é\u{7f}\u{1}" }], "a": null });
        assert_eq!(canonical(&value).to_string(), "{\"a\":null,\"b\":[2,1.5,0,{\"x\":\"é\u{7f}\\u0001\",\"y\":1}]}");
    }
}
