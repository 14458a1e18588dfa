//! Operations that read the vault, with arguments for each; new operations are included.

use atlas_access::Scope;
use atlas_ops::Entry;
use serde_json::{Map, Value, json};

use crate::support::agent::listed;

/// All operations that only read the vault.
pub fn reading() -> impl Iterator<Item = &'static Entry> {
    listed().filter(|entry| {
        entry.info.scopes == [Scope::ReadVault] && entry.info.changes_nothing() && !entry.info.tags.contains(&"sync")
    })
}

fn required(entry: &Entry) -> Vec<String> {
    let schema = entry.arguments_schema();
    schema["required"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// Whether it is about one path.
pub fn is_about_a_path(entry: &Entry) -> bool {
    required(entry).iter().any(|name| ["path", "paths", "id", "from", "seed_entity_id"].contains(&name.as_str()))
}

/// Its required arguments, for the file at `path`.
pub fn arguments_of(entry: &Entry, path: &str) -> Value {
    let value = |name: &str| match name {
        "path" | "id" | "from" | "to" | "seed_entity_id" => json!(path),
        "name" => json!("Tides"),
        "paths" => json!([path]),
        "root" => json!(""),
        "generation" => json!(1),
        "period" => json!("daily"),
        "tag" => json!("port"),
        "key" => json!("rank"),
        "filter" if entry.info.name == "tasks_filter" => json!("not done"),
        "filter" => json!([{ "key": "rank", "op": "neq", "value": 1 }]),
        "dql" => json!("TABLE WITHOUT ID file.path, rank, file.inlinks FROM #port OR -#port WHERE rank != 1"),
        "query" if entry.info.name == "query_notes" => {
            json!("TABLE rows.file.inlinks WHERE rank != 1 GROUP BY file.folder")
        }
        "expression" => json!("[file.inlinks, file.outlinks, rank, file.etags]"),
        "logic" => json!({ "!=": [{ "var": "rank" }, 1] }),
        "question" => json!("Where is \"tide\" defined?"),
        "term" | "query" | "pattern" | "task" | "intent" => json!("tide"),
        "proposal" => json!("Look at the tide every morning"),
        name => panic!("say here what {} takes for `{name}`", entry.info.name),
    };
    Value::Object(required(entry).into_iter().map(|name| (name.clone(), value(&name))).collect::<Map<String, Value>>())
}
