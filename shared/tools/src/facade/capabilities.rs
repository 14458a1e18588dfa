//! The tools that find, describe and call operations: all of them, or those of one domain.

use atlas_ops::arguments::{self, Bounded, BoundedText, Given};
use atlas_ops::{Entry, Error, Reason, sorted};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::asked::other_words;
use super::ranking::ranked;
use super::{Hints, Resolved, Tool, Toolbox, members, of};

pub(super) const FIND: &str = "find_capability";
pub(super) const DESCRIBE: &str = "describe_capability";
pub(super) const CALL: &str = "call_capability";
const NAME: &str = "Its name.";
/// The suffix of a domain's tool.
const DOMAIN: &str = "_domain";
const DEFAULT_LIMIT: usize = 5;
const MAX_LIMIT: u32 = 100;
/// Most bytes of a query.
const MAX_QUERY: usize = 500;
/// Most suggestions for an unknown name.
const SUGGESTIONS: usize = 5;
/// The least similarity of a suggestion, from 0 to 1.
const LIKENESS: f64 = 0.6;

/// The search.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindArguments {
    #[serde(default)]
    query: Given<BoundedText<MAX_QUERY, false>>,
    #[serde(default)]
    limit: Given<Bounded<1, MAX_LIMIT>>,
}

/// The capability.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribeArguments {
    name: String,
}

/// The capability, and its arguments. The other names are those of obsidian-tc's program.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallArguments {
    #[serde(alias = "action")]
    name: String,
    #[serde(default, alias = "args")]
    arguments: Map<String, Value>,
}

/// The tool with this name that calls operations.
pub(super) fn tool(toolbox: &Toolbox<'_>, name: &str) -> Option<Tool> {
    match name {
        FIND => Some(finder()),
        DESCRIBE => Some(describer()),
        CALL => Some(caller()),
        name => {
            let (tag, members) = toolbox.domains().remove_entry(name.strip_suffix(DOMAIN)?)?;
            Some(of_domain(tag, &members))
        }
    }
}

/// The meaning of a call of such a tool; [`None`] if there is none with this name.
pub(super) fn resolve(
    toolbox: &Toolbox<'_>,
    name: &str,
    arguments: Map<String, Value>,
) -> Option<Result<Resolved, Error>> {
    Some(match name {
        FIND => find(toolbox, arguments).map(Resolved::Answer),
        DESCRIBE => describe(toolbox, arguments).map(Resolved::Answer),
        CALL => call(toolbox, arguments, |_| true),
        name => {
            let members = toolbox.domains().remove(name.strip_suffix(DOMAIN)?)?;
            let is_member = |entry: &Entry| members.iter().any(|member| member.info.name == entry.info.name);
            call(toolbox, arguments, is_member)
        }
    })
}

fn find(toolbox: &Toolbox<'_>, arguments: Map<String, Value>) -> Result<Value, Error> {
    let FindArguments { query, limit } = decoded(arguments)?;
    let all: Vec<&Entry> = toolbox.shown().collect();
    let found: Vec<(usize, f64)> = match &*query {
        None => (0..all.len()).map(|index| (index, 0.0)).collect(),
        Some(query) => {
            // Names and titles count more than descriptions.
            let text = |entry: &&Entry| {
                let info = &entry.info;
                let words = info.name.replace('_', " ");
                let other = other_words(info.name);
                format!("{words} {words} {0} {0} {1} {2} {other}", info.title, info.tags.join(" "), info.description)
            };
            ranked(&all.iter().map(text).collect::<Vec<_>>(), query.as_str())
        }
    };
    let total = found.len();
    let limit = limit.map_or(if query.is_none() { total } else { DEFAULT_LIMIT }, Bounded::get);
    let told = |(index, score): (usize, f64)| {
        let entry = all.get(index)?;
        let info = &entry.info;
        let mut told = json!({
            "description": info.description, "name": info.name, "score": score, "tags": info.tags, "title": info.title,
        });
        if query.is_some() {
            told["inputSchema"] = toolbox.compact(entry, &[]).input.into();
        }
        Some(sorted(told))
    };
    let capabilities: Vec<Value> = found.into_iter().take(limit).filter_map(told).collect();
    Ok(json!({ "capabilities": capabilities, "total": total }))
}

fn describe(toolbox: &Toolbox<'_>, arguments: Map<String, Value>) -> Result<Value, Error> {
    let DescribeArguments { name } = decoded(arguments)?;
    let entry = capability(toolbox, &name, |_| true)?;
    let Tool { input, output, hints, .. } = of(entry);
    let info = &entry.info;
    let scopes: Vec<&str> = info.scopes.iter().map(|scope| scope.as_str()).collect();
    let annotations = json!({
        "destructiveHint": hints.destructive,
        "idempotentHint": hints.idempotent || hints.changes_nothing,
        "openWorldHint": hints.asks_outside,
        "readOnlyHint": hints.changes_nothing,
    });
    Ok(sorted(json!({
        "annotations": annotations,
        "description": info.description,
        "inputSchema": input,
        "name": info.name,
        "outputSchema": output,
        "scopes": scopes,
        "tags": info.tags,
        "title": info.title,
    })))
}

fn call(
    toolbox: &Toolbox<'_>,
    arguments: Map<String, Value>,
    is_meant: impl Fn(&Entry) -> bool,
) -> Result<Resolved, Error> {
    let CallArguments { name, arguments } = decoded(arguments)?;
    Ok(Resolved::Call(capability(toolbox, &name, is_meant)?, arguments))
}

/// The operation with this name, which may be called even if it is not listed.
fn capability(toolbox: &Toolbox<'_>, name: &str, is_meant: impl Fn(&Entry) -> bool) -> Result<&'static Entry, Error> {
    toolbox.operation(name).filter(|entry| is_meant(entry)).ok_or_else(|| {
        let message = "there is no such capability here: call find_capability with a few words for what you want to do";
        let error = Error::not_found(Reason::OperationNotFound, message);
        let like = like(toolbox.shown().filter(|entry| is_meant(entry)).map(|entry| entry.info.name), name);
        if like.is_empty() { error } else { error.with("suggestions", like) }
    })
}

/// Those of `names` that are most similar to `name`, the most similar first.
fn like(names: impl Iterator<Item = &'static str>, name: &str) -> Vec<&'static str> {
    let name = name.get(..name.floor_char_boundary(64)).unwrap_or_default();
    let mut like: Vec<(f64, &str)> = names
        .map(|known| (strsim::jaro_winkler(known, name), known))
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .collect();
    like.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    like.into_iter().take(SUGGESTIONS).map(|(_, known)| known).collect()
}

fn decoded<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, Error> {
    arguments::decode(arguments.into())
}

fn finder() -> Tool {
    let description = "Finds more capabilities for the vault: tags, daily notes, attachments, bookmarks, bundles of notes, several edits at once, bulk changes, copies, undo, old versions and more. Returns the capabilities that fit the query, best first, each with its inputSchema, for call_capability. Example: {\"query\": \"add text to today's daily note\"}";
    let properties = json!({
        "query": {
            "description": "A few words for what you want to do; if not given, all capabilities are listed, without their schemas.",
            "type": "string", "minLength": 1, "maxLength": MAX_QUERY,
        },
        "limit": {
            "description": format!("Most capabilities to return; with a query {DEFAULT_LIMIT} if not given."),
            "type": "integer", "minimum": 1, "maximum": MAX_LIMIT,
        },
    });
    stand_in(FIND, "Find a capability", description, &properties, &[], Hints::READS)
}

fn describer() -> Tool {
    let description =
        "Tells all about one capability: the schemas of its arguments and its result, the rights that it needs.";
    let properties = json!({ "name": { "description": NAME, "type": "string" } });
    stand_in(DESCRIBE, "Describe a capability", description, &properties, &["name"], Hints::READS)
}

fn caller() -> Tool {
    let description = "Calls a capability that find_capability names, and returns its result. Example: {\"name\": \"append_to_periodic_note\", \"arguments\": {\"period\": \"daily\", \"content\": \"- [ ] Call Ada\"}}";
    let name = json!({ "description": NAME, "type": "string" });
    let hints = Hints { changes_nothing: false, destructive: true, idempotent: false, asks_outside: false };
    calling(CALL, "Call a capability", description, name, hints)
}

/// The tool for the operations of one domain.
pub(super) fn of_domain(tag: &str, members: &[&Entry]) -> Tool {
    let line = |member: &&Entry| format!("\n- {}: {}", member.info.name, member.info.description);
    let lines: String = members.iter().map(line).collect();
    let description = format!("Calls one of these capabilities; describe_capability says what each takes.{lines}");
    let hints = Hints {
        changes_nothing: members.iter().all(|member| member.info.changes_nothing()),
        destructive: members.iter().any(|member| member.info.destructive),
        idempotent: members.iter().all(|member| member.info.changes_nothing() || member.info.idempotent),
        asks_outside: members.iter().any(|member| member.info.asks_outside),
    };
    let names: Vec<&str> = members.iter().map(|member| member.info.name).collect();
    let name = json!({ "description": NAME, "type": "string", "enum": names });
    calling(&format!("{tag}{DOMAIN}"), &format!("Capabilities: {tag}"), &description, name, hints)
}

/// A tool that calls the capability given by its argument `name`.
fn calling(tool: &str, title: &str, description: &str, name: Value, hints: Hints) -> Tool {
    let arguments = json!({ "description": "Its arguments, as its inputSchema says.", "type": "object" });
    let properties = json!({ "name": name, "arguments": arguments });
    stand_in(tool, title, description, &properties, &["name"], hints)
}

fn stand_in(name: &str, title: &str, description: &str, properties: &Value, required: &[&str], hints: Hints) -> Tool {
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    Tool {
        name: name.to_owned(),
        title: title.to_owned(),
        description: description.to_owned(),
        input: members(sorted(schema)),
        output: None,
        hints,
    }
}
