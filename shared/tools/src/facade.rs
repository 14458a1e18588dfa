//! The agent's view of the operations: a list of tools, chosen by a facade, and the calls of these tools. Doors render
//! both in their protocol's form.
//!
//!
//! # Layout
//!
//! - `listed`: which tools each facade lists; `compact`: schemas with what an agent needs
//! - `capabilities`: the tools that find, describe and call operations; `ranking`: which fit words best; `asked`: what people call what
//!   operations do
//! - `instructions`: what an agent is told of all of them; `media`: pictures and sounds in answers

mod asked;
mod capabilities;
mod compact;
mod instructions;
mod listed;
mod media;
mod ranking;

#[cfg(test)]
mod tests;

use atlas_access::visibility::Offer;
use atlas_ops::pipeline::gates::arguments_of_calls;
use atlas_ops::{Atlas, Caller, Entry, Error, Info};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use self::media::{Media, take_media};
use crate::operations;

/// The tools that are listed. Every operation can be called by its name, listed or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Facade {
    /// Some for reading and writing notes, and two that find and call all others.
    #[default]
    Agent,
    /// Those of obsidian-vault-mcp.
    VaultMcp,
    /// Those for a folder of code.
    Code,
    /// Three that find, describe and call operations.
    Triad,
    /// One for each domain.
    Domain,
    /// `search` and `fetch`, as chat connectors expect them.
    Connector,
    /// One per operation.
    Flat,
}

/// The tools of a deployment, for one caller.
#[derive(Clone, Copy)]
pub struct Toolbox<'a> {
    /// The listed tools.
    pub facade: Facade,
    /// The deployment.
    pub atlas: &'a Atlas,
    /// The caller.
    pub caller: &'a Caller,
}

/// A tool.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// A short title for people.
    pub title: String,
    /// Its purpose and use.
    pub description: String,
    /// The JSON Schema of its arguments: an object.
    pub input: Map<String, Value>,
    /// The JSON Schema of its result; [`None`] in short lists.
    pub output: Option<Map<String, Value>>,
    /// Its hints.
    pub hints: Hints,
}

/// Hints for clients about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing at all.
    pub changes_nothing: bool,
    /// It can destroy a person's text.
    pub destructive: bool,
    /// Repeating a call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// It asks a service that is not of the deployment.
    pub asks_outside: bool,
}

/// The meaning of a call of a tool.
#[derive(Debug)]
pub enum Resolved {
    /// This answer, which needs no vault.
    Answer(Value),
    /// A call of an operation with these arguments.
    Call(&'static Entry, Map<String, Value>),
}

impl Hints {
    /// The hints of an operation.
    fn of(info: &Info) -> Self {
        Self {
            changes_nothing: info.changes_nothing(),
            destructive: info.destructive,
            idempotent: info.idempotent,
            asks_outside: info.asks_outside,
        }
    }

    /// Those of a tool that changes nothing.
    const READS: Self = Self { changes_nothing: true, destructive: false, idempotent: true, asks_outside: false };
}

impl Toolbox<'_> {
    /// The operation with this name, if it may be called.
    pub fn operation(&self, name: &str) -> Option<&'static Entry> {
        let name = if self.facade == Facade::Connector { listed::of_connector(name).unwrap_or(name) } else { name };
        let entry = operations().iter().find(|entry| entry.info.name == name)?;
        self.has(entry).then_some(*entry)
    }

    /// The tool with this name, listed or not.
    pub fn tool(&self, name: &str) -> Option<Tool> {
        match self.operation(name) {
            Some(entry) => Some(Tool { name: name.to_owned(), ..of(entry) }),
            None => capabilities::tool(self, name),
        }
    }

    /// The meaning of a call of the tool with this name; [`None`] if there is no such tool.
    ///
    /// # Errors
    /// When a tool that calls operations gets invalid arguments.
    pub fn resolve(&self, name: &str, arguments: Map<String, Value>) -> Option<Result<Resolved, Error>> {
        match self.operation(name) {
            Some(entry) => Some(Ok(Resolved::Call(entry, arguments))),
            None => capabilities::resolve(self, name, arguments),
        }
    }

    /// Whether an operation is enabled.
    fn has(&self, entry: &Entry) -> bool {
        self.atlas.visibility.of(entry.info.name) != Offer::Disabled
    }

    /// Whether an operation is listed, and the caller may call it.
    fn shows(&self, entry: &Entry) -> bool {
        let is_listed = self.atlas.visibility.of(entry.info.name) == Offer::Listed;
        is_listed && self.caller.missing(entry.info.scopes).is_empty() && (!entry.info.writes() || self.can_write())
    }

    /// The listed operations that the caller may call.
    fn shown(&self) -> impl Iterator<Item = &'static Entry> {
        operations().iter().copied().filter(|entry| self.shows(entry))
    }

    /// Whether the caller may name a vault that can be changed.
    fn can_write(&self) -> bool {
        self.vaults().any(|vault| !vault.is_read_only())
    }

    /// The vaults that the caller may name.
    fn vaults(&self) -> impl Iterator<Item = &atlas_ops::Vault> {
        let vaults = self.atlas.vaults();
        let default = vaults.first().map_or("", |vault| vault.id.as_str());
        vaults.iter().filter(move |vault| self.caller.may_name(&vault.id, default))
    }
}

/// The tool of an operation, with all fields.
fn of(entry: &Entry) -> Tool {
    let info = &entry.info;
    Tool {
        name: info.name.to_owned(),
        title: info.title.to_owned(),
        description: info.description.to_owned(),
        input: input(entry),
        output: Some(members(entry.output_schema())),
        hints: Hints::of(info),
    }
}

/// The input of the tool for `entry`: the operation's arguments, and those of every call.
fn input(entry: &Entry) -> Map<String, Value> {
    let mut schema = members(entry.arguments_schema());
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        for (name, description) in arguments_of_calls(&entry.info) {
            properties.insert(name.to_owned(), json!({ "description": description, "type": "string" }));
        }
        properties.sort_keys();
    }
    schema.sort_keys();
    schema
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
