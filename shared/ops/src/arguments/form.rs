//! Corrects the form of an invalid argument, according to its JSON Schema.

use serde_json::{Map, Value, json};

/// Greatest depth of a form.
const MAX_DEPTH: usize = 6;

/// How an argument is right.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// With this value.
    Of(Value),
    /// Left out.
    LeftOut,
}

/// The valid form of the argument at the path `way`, such as `edits[0].text`, of `arguments` with the JSON Schema
/// `schema`: the given value converted, if possible; else an example, but none for null where the argument may be left
/// out. [`None`] if the schema does not define it.
pub(crate) fn form(schema: &Value, arguments: &Value, way: &str) -> Option<Form> {
    let (mut schema, mut given) = (schema, Some(arguments));
    let mut may_be_left_out = false;
    for step in way.split(['.', '[']).filter(|step| !step.is_empty()) {
        let schema_here = variant(schema, given);
        match step.strip_suffix(']').and_then(|index| index.parse::<usize>().ok()) {
            Some(index) => {
                schema = schema_here.get("items")?;
                given = given.and_then(|given| given.get(index));
                may_be_left_out = false;
            }
            None => {
                schema = schema_here.get("properties")?.get(step)?;
                given = given.and_then(|given| given.get(step));
                let required = schema_here.get("required").and_then(Value::as_array);
                may_be_left_out = !required.is_some_and(|names| names.iter().any(|name| name == step));
            }
        }
    }
    if may_be_left_out && given.is_some_and(Value::is_null) {
        return Some(Form::LeftOut);
    }
    made(schema, given, MAX_DEPTH).map(Form::Of)
}

/// Of several alternatives the one whose tag `given` has, or the first.
fn variant<'a>(schema: &'a Value, given: Option<&Value>) -> &'a Value {
    let Some(alternatives) = alternatives(schema) else { return schema };
    let is_named = |one: &&Value| {
        let Some(Value::Object(members)) = one.get("properties") else { return false };
        let mut tags = members.iter().filter_map(|(name, schema)| Some((name, schema.get("const")?)));
        tags.any(|(name, tag)| given.and_then(|given| given.get(name)) == Some(tag))
    };
    alternatives.iter().find(is_named).or_else(|| alternatives.first()).unwrap_or(schema)
}

fn alternatives(schema: &Value) -> Option<&Vec<Value>> {
    ["oneOf", "anyOf"].iter().find_map(|name| schema.get(name)).and_then(Value::as_array)
}

fn made(schema: &Value, given: Option<&Value>, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    if let Some(value) = schema.get("const").or_else(|| schema.get("enum")?.get(0)) {
        return Some(value.clone());
    }
    if alternatives(schema).is_some() {
        return made(variant(schema, given), given, depth);
    }
    let number = |value: &Value| value.as_str().and_then(|text| text.parse::<u64>().ok());
    match schema.get("type").and_then(Value::as_str)? {
        "string" => Some(match given {
            Some(Value::Number(_) | Value::Bool(_)) => json!(given?.to_string()),
            Some(Value::String(text)) => json!(text),
            _ => json!("…"),
        }),
        "integer" | "number" => {
            let example = ["default", "minimum"].iter().find_map(|name| schema.get(name)?.as_u64()).unwrap_or(1);
            Some(json!(given.and_then(number).unwrap_or(example)))
        }
        "boolean" => Some(json!(given.and_then(Value::as_str) != Some("false"))),
        "array" => {
            let items = schema.get("items")?;
            let item = given.filter(|given| !given.is_array());
            Some(Value::Array(vec![made(items, item, depth)?]))
        }
        "object" => {
            let properties = schema.get("properties").and_then(Value::as_object)?;
            let required = schema.get("required").and_then(Value::as_array)?;
            let member = |name: &Value| {
                let name = name.as_str()?;
                let given = given.and_then(|given| given.get(name));
                Some((name.to_owned(), made(properties.get(name)?, given, depth)?))
            };
            required.iter().map(member).collect::<Option<Map<_, _>>>().map(Value::Object)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_form_is_answered_with_the_right_one() {
        let edit = json!({ "type": "object", "required": ["op", "target"], "properties": {
            "op": { "const": "replace_section" },
            "target": { "oneOf": [
                { "type": "object", "required": ["heading"], "properties": {
                    "heading": { "type": "array", "items": { "type": "string" } } } },
            ] },
        } });
        let schema = json!({ "required": ["deep"], "properties": {
            "tags": { "type": "array", "items": { "type": "string" } },
            "limit": { "type": "integer", "minimum": 1, "maximum": 50 },
            "budget": { "type": "integer", "minimum": 1, "default": 50_000 },
            "deep": { "type": "boolean" },
            "mode": { "oneOf": [{ "const": "text" }, { "const": "regex" }] },
            "edits": { "type": "array", "items": { "oneOf": [
                { "type": "object", "required": ["op"], "properties": { "op": { "const": "append" } } }, edit,
            ] } },
            "any": {},
        } });
        for (arguments, way, expected) in [
            (json!({ "tags": "a" }), "tags", Some(json!(["a"]))),
            (json!({ "tags": [7] }), "tags[0]", Some(json!("7"))),
            (json!({ "limit": "20" }), "limit", Some(json!(20))),
            (json!({ "limit": "many" }), "limit", Some(json!(1))),
            (json!({ "budget": "much" }), "budget", Some(json!(50_000))),
            (json!({ "deep": "false" }), "deep", Some(json!(false))),
            (json!({ "deep": null }), "deep", Some(json!(true))),
            (json!({ "tags": [null] }), "tags[0]", Some(json!("…"))),
            (json!({ "mode": 3 }), "mode", Some(json!("text"))),
            (
                json!({ "edits": [{ "op": "replace_section", "target": { "heading": "Hi" } }] }),
                "edits[0]",
                Some(json!({ "op": "replace_section", "target": { "heading": ["Hi"] } })),
            ),
            (
                json!({ "edits": [{ "op": "replace_section", "target": { "heading": "Hi" } }] }),
                "edits[0].target.heading",
                Some(json!(["Hi"])),
            ),
            (json!({ "any": 1 }), "any", None),
            (json!({}), "unknown.field[3]", None),
        ] {
            assert_eq!(form(&schema, &arguments, way), expected.map(Form::Of), "{way} of {arguments}");
        }
        for way in ["tags", "limit", "mode", "any"] {
            assert_eq!(form(&schema, &json!({ way: null }), way), Some(Form::LeftOut), "{way}");
        }
    }
}
