use std::path::Path;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};

use crate::catalogue::every_operation;
use crate::operation::Operation;

/// Set to anything, the schemas are written instead of compared.
const WRITE: &str = "ATLAS_WRITE_SCHEMAS";

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
    // Answers are objects, also those that are one of several.
    schema.insert("type".to_owned(), "object".into());
    schema.to_value().to_string()
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
