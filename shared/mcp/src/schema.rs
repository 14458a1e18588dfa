//! Schemas of tools.

use atlas_ops::Entry;
use atlas_ops::gates::arguments_of_calls;
use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

/// The argument that names the vault, of every tool.
pub(crate) const VAULT: &str = "vault";

/// What a tool for `entry` takes: the operation's arguments, and those of every call.
pub(crate) fn input(entry: &Entry) -> JsonObject {
    let mut schema = members(entry.arguments_schema());
    let mut own = vec![(VAULT, "The vault's id; the default vault if not given.")];
    own.extend(arguments_of_calls(&entry.info));
    let properties = schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(properties) = properties {
        for (name, description) in own {
            properties.insert(name.to_owned(), json!({ "type": "string", "description": description }));
        }
    }
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
