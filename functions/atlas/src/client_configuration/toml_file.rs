//! Servers in a file of TOML. Its text is edited, so that comments and order stay.

use serde_json::Value as Json;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::{NAME, Snippet};

/// The table of all servers.
const SERVERS: &str = "mcp_servers";
/// Keys by which a client starts a program, and by which it calls an address. With some of both it refuses the file.
const OF_PROGRAM: [&str; 5] = ["command", "args", "env", "env_vars", "cwd"];
const URL: &str = "url";
/// Keys with which it says at an address who it is.
const CREDENTIALS: [&str; 5] = ["bearer_token_env_var", "bearer_token", "http_headers", "env_http_headers", "oauth"];

/// The file `text` with the server.
///
/// # Errors
/// When it cannot be edited.
pub(super) fn with(text: &str, snippet: &Snippet) -> Result<String, String> {
    let unreadable = |error: toml_edit::TomlError| {
        format!("is not TOML: mend it, or write the lines into it by hand ({})", error.message())
    };
    let mut document: DocumentMut = text.parse().map_err(unreadable)?;
    let servers = table(document.as_item_mut(), SERVERS, true)?;
    let server = table(servers, NAME, false)?.as_table_like_mut().ok_or("has a server that is no table")?;
    let foreign = if snippet.is_program { [URL].as_slice() } else { OF_PROGRAM.as_slice() };
    let is_known = snippet.is_at_same_origin(server.get(URL).and_then(Item::as_str));
    let credentials = if is_known { &[] } else { CREDENTIALS.as_slice() };
    for name in foreign.iter().chain(credentials) {
        if has_comment(server, name) {
            return Err(format!(
                "has a comment beside {name}, which would be replaced: write the lines into it by hand"
            ));
        }
        server.remove(name);
    }
    for (name, new) in &snippet.entry {
        set(server, name, new)?;
    }
    Ok(document.to_string())
}

/// The table that is the value of `name`, which is made in the form that its parent has; a `hidden` one gets no header.
fn table<'a>(parent: &'a mut Item, name: &str, is_hidden: bool) -> Result<&'a mut Item, String> {
    let is_inline = parent.is_inline_table();
    let refused = || format!("has {name}, which is no table: write the lines into it by hand");
    let entries = parent.as_table_like_mut().ok_or_else(refused)?;
    if !entries.contains_key(name) {
        let mut table = Table::new();
        table.set_implicit(is_hidden);
        table.set_dotted(entries.is_dotted());
        entries.insert(name, if is_inline { Item::Value(InlineTable::new().into()) } else { Item::Table(table) });
    }
    entries.get_mut(name).filter(|found| found.is_table_like()).ok_or_else(refused)
}

/// Whether a comment stands above a key, or behind its value.
fn has_comment(table: &dyn TableLike, name: &str) -> bool {
    let Some((key, item)) = table.get_key_value(name) else { return false };
    let around = [
        key.leaf_decor().prefix(),
        item.as_value().and_then(|value| value.decor().suffix()),
        item.as_table().and_then(|table| table.decor().prefix()),
    ];
    around.into_iter().flatten().filter_map(|text| text.as_str()).any(|text| text.contains('#'))
}

/// Sets a key. What stands around its value stays.
fn set(table: &mut dyn TableLike, name: &str, new: &Json) -> Result<(), String> {
    let mut new = value(new).ok_or_else(|| format!("cannot have this {name}: write the lines into it by hand"))?;
    match table.get_mut(name) {
        Some(Item::Value(old)) if is_same(old, &new) => {}
        Some(Item::Value(old)) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        _ => drop(table.insert(name, Item::Value(new))),
    }
    Ok(())
}

fn value(json: &Json) -> Option<Value> {
    match json {
        Json::String(text) => Some(text.as_str().into()),
        Json::Array(values) => values.iter().map(value).collect::<Option<Array>>().map(Value::Array),
        _ => None,
    }
}

/// Whether two values are the same texts, however they are written.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::String(one), Value::String(other)) => one.value() == other.value(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        _ => false,
    }
}
