use std::path::Path;

use atlas_ops::operation::Operation;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use super::GENERATED;
use crate::catalogue::every_operation;

/// If this variable is set, the schemas are written instead of compared.
const WRITE: &str = "ATLAS_WRITE_SCHEMAS";

/// The formats of JSON Schema 2020-12. Clients warn of others.
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

fn read(schema: &str) -> Value {
    serde_json::from_str(schema).unwrap()
}

macro_rules! each_generated {
    ($($operation:path,)*) => { [$(generated_for::<$operation>()),*] };
}

fn generated_for<O: Operation>() -> String {
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
    RecursiveTransform(drop_default_of_nothing).transform(&mut schema);
    // Answers are objects, even if they are one of several alternatives.
    schema.insert("type".to_owned(), "object".into());
    let mut schema = schema.to_value();
    schema.sort_all_objects();
    schema.to_string()
}

/// Removes the formats that the generator adds to numbers: `uint64`, `double` and similar.
fn drop_unknown_format(schema: &mut Schema) {
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| !FORMATS.contains(&format)) {
        schema.remove("format");
    }
}

/// Removes the default that the generator adds to arguments that may be omitted but not be null.
fn drop_default_of_nothing(schema: &mut Schema) {
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
}

/// The formats in `value`, at any depth. A property with that name has a schema, and is not a format.
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
    for (name, schemas) in GENERATED {
        for schema in [read(schemas.arguments), read(schemas.output)] {
            let unknown: Vec<&str> = formats(&schema).into_iter().filter(|format| !FORMATS.contains(format)).collect();
            assert!(unknown.is_empty(), "{name}: {unknown:?}");
        }
    }
}

/// The names of the arguments of tool `name`, with their schemas.
fn arguments(name: &str) -> serde_json::Map<String, Value> {
    let (_, schemas) = GENERATED.iter().find(|(one, _)| *one == name).unwrap();
    read(schemas.arguments)["properties"].as_object().cloned().unwrap_or_default()
}

/// Words by which a description states the meaning of an omitted argument.
const SAYS_SO: [&str; 4] = ["not given", "left out", "if none is given", "Else "];

/// Arguments without a default, or whose default depends on others, the caller or the deployment: of any tool, or of
/// one.
const WITHOUT_DEFAULT: [&str; 32] = [
    "args",
    "cursor",
    "expected_hash",
    "frontmatter",
    "heading",
    "if_match",
    "if_none_match",
    "message",
    "alias of link_add",
    "context_lines of search",
    "filter of list_commands",
    "filter of makemd_query",
    "folder of index_vault",
    "folder_path of rewrite_link",
    "generation of read_note",
    "group_by of tasks_filter",
    "inline_position of add_tag",
    "key of update_frontmatter",
    "limit of list_commands",
    "limit of makemd_query",
    "max_results of find",
    "min_score of plur_similarity_search",
    "patch of update_frontmatter",
    "paths of ocr_bulk",
    "root of ocr_bulk",
    "scope of plur_recall",
    "scope of plur_recall_hybrid",
    "scope of plur_similarity_search",
    "set of update_task",
    "sort of makemd_query",
    "template_override of create_periodic_note",
    "value of update_frontmatter",
];

#[test]
fn what_an_argument_means_where_it_is_left_out_is_in_its_schema() {
    let mut silent = Vec::new();
    for (name, schemas) in GENERATED {
        let schema = read(schemas.arguments);
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (argument, schema) in arguments(name) {
            let description = schema["description"].as_str().unwrap_or_default();
            let says_so = description.starts_with("Only") || SAYS_SO.iter().any(|words| description.contains(words));
            let is_told = required.contains(&argument.as_str()) || schema.get("default").is_some() || says_so;
            let of_tool = format!("{argument} of {name}");
            if !is_told && !WITHOUT_DEFAULT.contains(&argument.as_str()) && !WITHOUT_DEFAULT.contains(&&*of_tool) {
                silent.push(of_tool);
            }
        }
    }
    assert!(
        silent.is_empty(),
        "give these a default, or say in their description what they mean if not given: {silent:#?}"
    );
}

/// Defaults of obsidian-tc's documented tools that exist here.
fn documented() -> Vec<(&'static str, &'static str, Value)> {
    let (yes, no) = (|| json!(true), || json!(false));
    vec![
        ("read_note", "include_frontmatter", yes()),
        ("read_note", "include_content", yes()),
        ("list_notes", "root", json!("")),
        ("list_notes", "recursive", yes()),
        ("list_notes", "extensions", json!([".md"])),
        ("write_note", "create_dirs", yes()),
        ("append_note", "position", json!("end")),
        ("append_note", "after_frontmatter", yes()),
        ("append_note", "ensure_newline", yes()),
        ("patch_note", "expected_occurrences", json!(1)),
        ("delete_note", "hard", no()),
        ("move_note", "update_backlinks", yes()),
        ("move_note", "overwrite_target", no()),
        ("copy_note", "rewrite_internal_links", yes()),
        ("list_properties", "sample_size", json!(5)),
        ("list_tags", "include_inline", yes()),
        ("list_tags", "include_frontmatter", yes()),
        ("add_tag", "location", json!("frontmatter")),
        ("remove_tag", "from", json!("all")),
        ("find_notes_by_tag", "hierarchical", yes()),
        ("find_notes_by_tag", "require_all", no()),
        ("get_outgoing_links", "include_unresolved", yes()),
        ("get_backlinks", "include_context", no()),
        ("get_backlinks", "include_embeds", yes()),
        ("find_unresolved_links", "group_by", json!("target")),
        ("rewrite_link", "dry_run", yes()),
        ("prune_hub_links", "max_removals", json!(50)),
        ("prune_hub_links", "dry_run", yes()),
        ("search_vault", "mode", json!("auto")),
        ("search_vault", "explain", no()),
        ("search_text", "case_sensitive", no()),
        ("search_text", "whole_word", no()),
        ("search_regex", "flags", json!("i")),
        ("search_regex", "max_matches_per_file", json!(10)),
        ("search_dql", "format", json!("table")),
        ("get_periodic_note", "include_content", yes()),
        ("find_or_create_periodic_note", "include_content", yes()),
        ("append_to_periodic_note", "ensure_newline", yes()),
        ("execute_template", "overwrite", no()),
        ("ocr_attachment", "force", no()),
        ("ocr_bulk", "extensions", json!([".pdf", ".png", ".jpg", ".jpeg", ".tiff"])),
        ("ocr_bulk", "max_concurrent", json!(2)),
        ("bundle_folder", "max_files", json!(100)),
        ("bundle_folder", "max_bytes", json!(500_000)),
        ("bundle_folder", "extensions", json!([".md"])),
        ("bundle_folder", "include_frontmatter", yes()),
        ("bundle_folder", "format", json!("markdown")),
        ("bundle_files", "max_bytes", json!(500_000)),
        ("open_workspace", "save_current_first", no()),
        ("save_workspace", "overwrite", no()),
        ("list_attachments", "referenced_only", no()),
        ("list_attachments", "orphans_only", no()),
        ("get_attachment", "include_data", no()),
        ("get_attachment", "max_bytes", json!(5_000_000)),
        ("move_attachment", "update_references", yes()),
        ("delete_attachment", "hard", no()),
        ("delete_attachment", "force", no()),
        ("plur_recall", "k", json!(10)),
        ("plur_recall_hybrid", "k", json!(10)),
        ("plur_recall_hybrid", "bm25_weight", json!(0.5)),
        ("plur_similarity_search", "k", json!(10)),
        ("bulk_create_notes", "max_concurrent", json!(4)),
        ("bulk_create_notes", "stop_on_first_error", no()),
        ("bulk_set_property", "stop_on_first_error", no()),
        ("bulk_move_notes", "update_backlinks", yes()),
        ("bulk_move_notes", "dry_run", yes()),
    ]
}

#[test]
fn documented_defaults_are_in_the_schemas() {
    for (tool, argument, default) in documented() {
        assert_eq!(arguments(tool).get(argument).map(|schema| &schema["default"]), Some(&default), "{tool} {argument}");
    }
}

#[test]
fn schemas_are_those_of_the_types() {
    let mut each = every_operation!(each_generated);
    each.sort();
    let generated = format!("// Generated by `make generated`.\n[\n{}]\n", each.concat());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/schemas/generated.rs");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(path, generated).unwrap();
    } else {
        let written = std::fs::read_to_string(path).unwrap();
        assert!(generated == written, "run `make generated`");
    }
}
