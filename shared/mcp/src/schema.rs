//! Schemas of tools: JSON Schema 2020-12, each complete in itself.

use atlas_ops::Entry;
use atlas_ops::gates::arguments_of_calls;
use atlas_ops::schemars::generate::SchemaSettings;
use atlas_ops::schemars::{Schema, SchemaGenerator};
use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

/// The argument that names the vault, of every tool.
pub(crate) const VAULT: &str = "vault";

/// What a tool for `entry` takes: the operation's arguments, and those of every call.
pub(crate) fn input(entry: &Entry) -> JsonObject {
    let settings = SchemaSettings::draft2020_12();
    let mut schema = complete(entry.arguments, settings.into_generator());
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
    complete(entry.output, SchemaSettings::draft2020_12().for_serialize().into_generator())
}

/// The schema that `add` adds to a generator, with the definitions that it refers to.
pub(crate) fn complete(add: fn(&mut SchemaGenerator) -> Schema, mut generator: SchemaGenerator) -> JsonObject {
    let mut reference = add(&mut generator);
    let mut definitions = generator.take_definitions(true);
    let name = reference.get("$ref").and_then(Value::as_str).and_then(|reference| reference.rsplit('/').next());
    let mut schema = match name.and_then(|name| definitions.remove(name)) {
        Some(Value::Object(schema)) => schema,
        _ => std::mem::take(reference.ensure_object()),
    };
    schema.insert("type".to_owned(), "object".into());
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), definitions.into());
    }
    schema
}
