//! Routes that end in a path of a vault are also routes with that path in the query, since API gateways decode paths and cut them at `?`.

use serde_json::{Map, Value, json};

/// The route without the parameter at the end of `path`, and its operation; [`None`] if there is none.
pub(super) fn of(path: &'static str, mut operation: Value) -> Option<(&'static str, Value)> {
    let (base, name) = path.strip_suffix('}')?.split_once("/{")?;
    for parameter in parameters(&mut operation).into_iter().flatten() {
        if parameter["in"] == "path" {
            parameter["in"] = json!("query");
        }
    }
    operation["operationId"] = json!(format!("{}_by_{name}", operation["operationId"].as_str().unwrap_or_default()));
    Some((base, operation))
}

/// Adds an operation, or the parameters and answers of one to the operation that is there already.
pub(super) fn add(paths: &mut Map<String, Value>, path: &str, method: &str, mut operation: Value) {
    let item = paths.entry(path).or_insert_with(|| json!({}));
    if item[method].is_null() {
        item[method] = operation;
        return;
    }
    let there = &mut item[method];
    let is_same = |one: &Value, other: &Value| one["name"] == other["name"] && one["in"] == other["in"];
    let further = parameters(&mut operation).map(std::mem::take).unwrap_or_default();
    if let Some(parameters) = parameters(there) {
        for mut parameter in further {
            if !parameters.iter().any(|other| is_same(other, &parameter)) {
                parameter["required"] = json!(false);
                parameters.push(parameter);
            }
        }
    }
    if let Value::Object(responses) = operation["responses"].take() {
        for (status, response) in responses {
            either(&mut there["responses"][status], response);
        }
    }
    let [one, other] = [&*there, &operation].map(|operation| operation["description"].as_str().unwrap_or_default());
    let description = format!("{one} With the parameters of {}: {other}", operation["operationId"]);
    there["description"] = json!(description);
}

/// Makes a response one of two.
fn either(there: &mut Value, other: Value) {
    if there.is_null() {
        *there = other;
        return;
    }
    let Some(Value::Object(content)) = other.get("content").cloned() else { return };
    for (media_type, other) in content {
        let one = &mut there["content"][media_type];
        if one.is_null() {
            *one = other;
        } else if *one != other {
            let schemas = [one["schema"].take(), other["schema"].clone()];
            one["schema"] = json!({ "anyOf": schemas });
        }
    }
}

fn parameters(operation: &mut Value) -> Option<&mut Vec<Value>> {
    operation.get_mut("parameters").and_then(Value::as_array_mut)
}
