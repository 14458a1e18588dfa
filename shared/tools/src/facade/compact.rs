//! Schemas of arguments reduced to what an agent needs to make a call: the server still checks everything.

use serde_json::{Map, Value};

/// Keywords that only a validator needs.
const DROPPED: [&str; 7] =
    ["$schema", "additionalProperties", "format", "maxItems", "maxLength", "minItems", "minLength"];

/// A bound that no sensible call meets.
const LARGE: u64 = 10_000;

/// The `schema` of an object with only the properties that `keeps` accepts, in fewer bytes.
pub(super) fn schema(mut schema: Map<String, Value>, keeps: impl Fn(&str) -> bool) -> Map<String, Value> {
    schema.remove("description");
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.retain(|name, _| keeps(name));
    }
    shortened(&mut schema);
    schema
}

fn shortened(schema: &mut Map<String, Value>) {
    for name in DROPPED {
        schema.remove(name);
    }
    // The description repeats the default.
    if schema.contains_key("description") {
        schema.remove("default");
    }
    if let Some(choices) = choices(schema.get("oneOf")) {
        schema.remove("oneOf");
        schema.insert("enum".to_owned(), choices);
    }
    // The values show their type.
    if schema.contains_key("enum") || schema.contains_key("const") {
        schema.remove("type");
    }
    if schema.get("maximum").and_then(Value::as_u64).is_some_and(|maximum| maximum > LARGE) {
        schema.remove("maximum");
        schema.remove("minimum");
    }
    // A count is never less.
    if schema.get("minimum").and_then(Value::as_u64).is_some_and(|minimum| minimum < 2) {
        schema.remove("minimum");
    }
    for (name, value) in schema.iter_mut() {
        match (name.as_str(), value) {
            ("properties" | "$defs", Value::Object(members)) => {
                members.sort_keys();
                members.values_mut().filter_map(Value::as_object_mut).for_each(shortened);
            }
            ("oneOf" | "anyOf" | "allOf", Value::Array(items)) => {
                items.iter_mut().filter_map(Value::as_object_mut).for_each(shortened);
            }
            ("items", Value::Object(member)) => {
                // The list repeats it.
                member.remove("description");
                shortened(member);
            }
            _ => {}
        }
    }
    schema.sort_keys();
}

/// The values of alternatives that are each one text.
fn choices(alternatives: Option<&Value>) -> Option<Value> {
    alternatives?.as_array()?.iter().map(|one| one.get("const").filter(|value| value.is_string()).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_agent_needs_stays() {
        let long = json!({
            "additionalProperties": false,
            "description": "What to do.",
            "properties": {
                "rare": { "type": "string" },
                "path": { "description": "Where.", "maxLength": 10, "minLength": 1, "type": "string" },
                "mode": { "description": "How.", "default": "a", "oneOf": [
                    { "const": "a", "description": "So.", "type": "string" }, { "const": "b", "type": "string" },
                ] },
                "edits": { "items": { "oneOf": [{ "properties": { "format": { "format": "date", "type": "string" } } }] } },
            },
            "required": ["path"],
            "type": "object",
        });
        let short = schema(long.as_object().unwrap().clone(), |name| name != "rare");
        let expected = json!({
            "properties": {
                "path": { "description": "Where.", "type": "string" },
                "mode": { "description": "How.", "enum": ["a", "b"] },
                "edits": { "items": { "oneOf": [{ "properties": { "format": { "type": "string" } } }] } },
            },
            "required": ["path"],
            "type": "object",
        });
        assert_eq!(Value::from(short), expected);
    }
}
