use std::path::Path;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use super::MADE;
use crate::catalogue::every_operation;
use crate::operation::Operation;

/// Set to anything, the schemas are written instead of compared.
const WRITE: &str = "ATLAS_WRITE_SCHEMAS";

/// The formats that JSON Schema 2020-12 knows. Clients warn of any other.
const FORMATS: [&str; 19] = [
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "idn-email",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "time",
    "uri",
    "uri-reference",
    "uri-template",
    "uuid",
];

macro_rules! each_made {
    ($($operation:path,)*) => { [$(made_of::<$operation>()),*] };
}

fn made_of<O: Operation>() -> String {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let arguments = schema::<O::Arguments>(settings.clone().into_generator());
    let output = schema::<O::Output>(settings.for_serialize().into_generator());
    let schemas =
        format!("Schemas {{\n        arguments: r##\"{arguments}\"##,\n        output: r##\"{output}\"##,\n    }}");
    format!("    (\"{}\", {schemas}),\n", O::INFO.name)
}

fn schema<T: JsonSchema>(mut generator: SchemaGenerator) -> String {
    let mut schema = generator.subschema_for::<T>();
    RecursiveTransform(drop_unknown_format).transform(&mut schema);
    // Answers are objects, also those that are one of several.
    schema.insert("type".to_owned(), "object".into());
    schema.to_value().to_string()
}

/// Takes out the formats that the generator gives to numbers: `uint64`, `double` and the like.
fn drop_unknown_format(schema: &mut Schema) {
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| !FORMATS.contains(&format)) {
        schema.remove("format");
    }
}

/// The formats that `value` names, at any depth. A property of that name has a schema, and is none.
fn formats(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, member)| match member {
                Value::String(format) if name == "format" => vec![format.as_str()],
                member => formats(member),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(formats).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn schemas_name_only_formats_that_json_schema_knows() {
    for (name, schemas) in MADE {
        for schema in [super::read(schemas.arguments), super::read(schemas.output)] {
            let unknown: Vec<&str> = formats(&schema).into_iter().filter(|format| !FORMATS.contains(format)).collect();
            assert!(unknown.is_empty(), "{name}: {unknown:?}");
        }
    }
}

#[test]
fn schemas_are_those_of_the_types() {
    let mut each = every_operation!(each_made);
    each.sort();
    let made = format!("[\n{}]\n", each.concat());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/schemas/made.in");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(path, made).unwrap();
    } else {
        let written = std::fs::read_to_string(path).unwrap();
        assert!(made == written, "write them with {WRITE}=1 cargo test --package atlas-ops --lib schemas");
    }
}
