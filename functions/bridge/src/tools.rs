//! Operations as the protocol's tools, and the hash that shows whether they changed.

use atlas_ops::Caller;
use atlas_tools::facade::{Tool, Toolbox};
use atlas_web::{App, request};
use serde_json::{Map, Number, Value, json};
use sha2::{Digest as _, Sha256};

use crate::BASE;

/// The tools that are listed, by name, and their hash.
pub(crate) fn listed(toolbox: &Toolbox<'_>) -> (Vec<Value>, String) {
    let mut tools: Vec<Value> = toolbox.listed().into_iter().map(described).collect();
    tools.sort_by(|one, other| one["name"].as_str().cmp(&other["name"].as_str()));
    let text = json!(tools).to_string();
    let hash = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    (tools, hash)
}

/// The name of the tool called at `path`.
pub(crate) fn named(path: &str) -> Option<String> {
    let name = path.strip_prefix(BASE)?.strip_prefix("/tools/")?.strip_suffix("/call")?;
    request::decode(name).ok()
}

/// Whether pages of any origin may call at `path`: only tools that only read, if callers are not authenticated and the
/// configuration allows it.
pub(crate) fn is_for_all_pages(app: &App, path: &str) -> bool {
    let is_open = app.bridge_any_origin && !app.gate.takes_signed();
    is_open && path.starts_with(BASE) && named(path).is_none_or(|name| only_reads(app, &name))
}

/// Whether the tool with this name only reads; true for an unknown one.
fn only_reads(app: &App, name: &str) -> bool {
    // Callers are trusted here, since they are not authenticated.
    let toolbox = Toolbox { facade: app.facade, atlas: &app.atlas, caller: &Caller::trusted("page") };
    let only_reads = match toolbox.operation(name) {
        Some(operation) => operation.info.only_reads(),
        None => toolbox.tool(name).is_none_or(|tool| tool.hints.changes_nothing),
    };
    // `find` may write a note.
    only_reads && !app.atlas.limits.search_notes
}

fn described(tool: Tool) -> Value {
    canonical(&json!({ "name": tool.name, "description": tool.description, "inputSchema": tool.input }))
}

/// The value as JavaScript writes it after sorting the members of all objects: whole numbers have no fraction.
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
    /// Greatest integer up to which a double represents all integers.
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
