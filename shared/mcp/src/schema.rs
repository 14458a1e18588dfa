//! Schemas of tools.

use atlas_ops::Entry;
use atlas_ops::pipeline::gates::arguments_of_calls;
use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

/// What a tool for `entry` takes: the operation's arguments, and those of every call.
pub(crate) fn input(entry: &Entry) -> JsonObject {
    let mut schema = members(entry.arguments_schema());
    let properties = schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(properties) = properties {
        for (name, description) in arguments_of_calls(&entry.info) {
            properties.insert(name.to_owned(), json!({ "description": description, "type": "string" }));
        }
        properties.sort_keys();
    }
    schema.sort_keys();
    schema
}

/// What a tool for `entry` returns.
pub(crate) fn output(entry: &Entry) -> JsonObject {
    members(entry.output_schema())
}

fn members(schema: Value) -> JsonObject {
    match schema {
        Value::Object(members) => members,
        _ => JsonObject::default(),
    }
}
