//! Few tools in the place of many, for clients that take only so many: three that find, describe and call operations, or one for each
//! domain. Whatever is listed, every operation can be called by its name, and these tools by theirs.

use std::collections::BTreeMap;

use atlas_ops::arguments::{self, Bounded, Given, Written};
use atlas_ops::{Entry, Error, Reason, sorted};
use atlas_web::config::Facade;
use atlas_web::state::Offer;
use rmcp::model::{CallToolResult, JsonObject, Tool};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::ranking::ranked;
use crate::server::Server;
use crate::tools::{self, Offered, hints};

const FIND: &str = "find_capability";
const DESCRIBE: &str = "describe_capability";
const CALL: &str = "call_capability";
const NAME: &str = "Its name.";
/// What the name of a domain's tool ends with.
const DOMAIN: &str = "_domain";
const DEFAULT_LIMIT: usize = 5;
const MAX_LIMIT: u32 = 100;
/// Most bytes of a query.
const MAX_QUERY: usize = 500;
/// The names that chat connectors expect, and the operations that they mean.
const CONNECTOR: [(&str, &str); 2] = [("search", "connector_search"), ("fetch", "connector_fetch")];

/// What to look for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindArguments {
    #[serde(default)]
    query: Given<Written<MAX_QUERY, false>>,
    #[serde(default)]
    limit: Given<Bounded<1, MAX_LIMIT>>,
}

/// Which capability.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribeArguments {
    name: String,
}

/// Which capability, and its arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallArguments {
    name: String,
    #[serde(default)]
    arguments: JsonObject,
}

impl Server {
    /// The tools that stand in a list.
    pub(crate) fn listed(&self) -> Vec<Tool> {
        match self.door.app.facade {
            Facade::Flat => self.capabilities().map(|offered| offered.tool.clone()).collect(),
            Facade::Triad => vec![finder(), describer(), caller()],
            Facade::Connector => {
                let shown = |(name, operation): &(&'static str, &str)| {
                    let offered = self.capabilities().find(|offered| offered.entry.info.name == *operation)?;
                    let mut tool = offered.tool.clone();
                    tool.name = (*name).into();
                    Some(tool)
                };
                CONNECTOR.iter().filter_map(shown).collect()
            }
            Facade::Domain => {
                let domains = self.domains();
                domains.into_iter().map(|(tag, members)| of_domain(tag, &members)).chain([describer()]).collect()
            }
        }
    }

    /// The name of the operation that a tool of this name is.
    pub(crate) fn meant<'a>(&self, name: &'a str) -> &'a str {
        let is_connector = self.door.app.facade == Facade::Connector;
        let meant = CONNECTOR.iter().find(|(shown, _)| is_connector && *shown == name);
        meant.map_or(name, |(_, operation)| operation)
    }

    /// The tool of this name that stands for others.
    pub(crate) fn meta_tool(&self, name: &str) -> Option<Tool> {
        match name {
            FIND => Some(finder()),
            DESCRIBE => Some(describer()),
            CALL => Some(caller()),
            name => {
                let (tag, members) = self.domains().remove_entry(name.strip_suffix(DOMAIN)?)?;
                Some(of_domain(tag, &members))
            }
        }
    }

    /// What comes of a call of a tool that stands for others; none if there is none of this name.
    pub(crate) async fn call_meta_tool(&self, name: &str, arguments: JsonObject) -> Option<CallToolResult> {
        let result = match name {
            FIND => self.find_capability(arguments).map(CallToolResult::structured),
            DESCRIBE => self.describe_capability(arguments).map(CallToolResult::structured),
            CALL => self.call_capability(arguments, |_| true).await,
            name => {
                let members = self.domains().remove(name.strip_suffix(DOMAIN)?)?;
                let is_member = |entry: &Entry| members.iter().any(|member| member.entry.info.name == entry.info.name);
                self.call_capability(arguments, is_member).await
            }
        };
        Some(result.unwrap_or_else(|error| tools::failed(&error)))
    }

    fn find_capability(&self, arguments: JsonObject) -> Result<Value, Error> {
        let FindArguments { query, limit } = decoded(arguments)?;
        let all: Vec<&Offered> = self.capabilities().collect();
        let found: Vec<(usize, f64)> = match &*query {
            None => (0..all.len()).map(|index| (index, 0.0)).collect(),
            Some(query) => {
                // Names and titles say more than descriptions do.
                let text = |offered: &&Offered| {
                    let info = &offered.entry.info;
                    format!("{0} {0} {1} {1} {2} {3}", info.name, info.title, info.tags.join(" "), info.description)
                };
                ranked(&all.iter().map(text).collect::<Vec<_>>(), query.as_str())
            }
        };
        let total = found.len();
        let limit = limit.map_or(if query.is_none() { total } else { DEFAULT_LIMIT }, Bounded::get);
        let brief = |(index, score): (usize, f64)| {
            let info = &all.get(index)?.entry.info;
            Some(json!({
                "description": info.description, "name": info.name, "score": score, "tags": info.tags, "title": info.title,
            }))
        };
        let capabilities: Vec<Value> = found.into_iter().take(limit).filter_map(brief).collect();
        Ok(json!({ "capabilities": capabilities, "total": total }))
    }

    fn describe_capability(&self, arguments: JsonObject) -> Result<Value, Error> {
        let DescribeArguments { name } = decoded(arguments)?;
        let Offered { entry, tool } = self.capability(&name, |_| true)?;
        let scopes: Vec<&str> = entry.info.scopes.iter().map(|scope| scope.as_str()).collect();
        Ok(sorted(json!({
            "annotations": tool.annotations,
            "description": entry.info.description,
            "inputSchema": tool.input_schema,
            "name": entry.info.name,
            "outputSchema": tool.output_schema,
            "scopes": scopes,
            "tags": entry.info.tags,
            "title": entry.info.title,
        })))
    }

    async fn call_capability(
        &self,
        arguments: JsonObject,
        is_meant: impl Fn(&Entry) -> bool,
    ) -> Result<CallToolResult, Error> {
        let CallArguments { name, arguments } = decoded(arguments)?;
        let offered = self.capability(&name, is_meant)?;
        self.operate(offered.entry, arguments).await.map(CallToolResult::structured)
    }

    fn capability(&self, name: &str, is_meant: impl Fn(&Entry) -> bool) -> Result<&'static Offered, Error> {
        let found = tools::named(name).filter(|offered| self.has(offered.entry) && is_meant(offered.entry));
        let message =
            "there is no such capability here: the tools' descriptions and find_capability name those that there are";
        found.ok_or_else(|| Error::not_found(Reason::OperationNotFound, message))
    }

    /// The operations that are listed.
    fn capabilities(&self) -> impl Iterator<Item = &'static Offered> {
        tools::ALL.iter().filter(|offered| self.door.app.offers(offered.entry) == Offer::Listed)
    }

    /// The same by tag.
    fn domains(&self) -> BTreeMap<&'static str, Vec<&'static Offered>> {
        let mut domains: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for offered in self.capabilities() {
            for tag in offered.entry.info.tags {
                domains.entry(*tag).or_default().push(offered);
            }
        }
        domains
    }
}

fn decoded<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, Error> {
    arguments::decode(arguments.into())
}

fn finder() -> Tool {
    let description = "Finds what can be done with the vault: capabilities whose names, titles and descriptions fit the query, best first.";
    let properties = json!({
        "query": {
            "description": "Words for what you want to do; all capabilities if left out.",
            "type": "string", "minLength": 1, "maxLength": MAX_QUERY,
        },
        "limit": {
            "description": format!("Most capabilities to return; {DEFAULT_LIMIT} if not given."),
            "type": "integer", "minimum": 1, "maximum": MAX_LIMIT,
        },
    });
    tool(FIND, "Find a capability", description, &properties, &[]).with_annotations(hints(true, false))
}

fn describer() -> Tool {
    let description =
        "Says what a capability takes, returns and needs. Call it before you call a capability for the first time.";
    let properties = json!({ "name": { "description": NAME, "type": "string" } });
    tool(DESCRIBE, "Describe a capability", description, &properties, &["name"]).with_annotations(hints(true, false))
}

fn caller() -> Tool {
    let description = "Calls a capability by its name and returns its result.";
    let name = json!({ "description": NAME, "type": "string" });
    calling(CALL, "Call a capability", description, name).with_annotations(hints(false, true))
}

fn of_domain(tag: &str, members: &[&Offered]) -> Tool {
    let line = |member: &&Offered| format!("\n- {}: {}", member.entry.info.name, member.entry.info.description);
    let lines: String = members.iter().map(line).collect();
    let description = format!("Calls one of these capabilities; describe_capability says what each takes.{lines}");
    let reads = members.iter().all(|member| !member.entry.info.writes());
    let destructive = members.iter().any(|member| member.entry.info.destructive);
    let names: Vec<&str> = members.iter().map(|member| member.entry.info.name).collect();
    let name = json!({ "description": NAME, "type": "string", "enum": names });
    calling(format!("{tag}{DOMAIN}"), &format!("Capabilities: {tag}"), description, name)
        .with_annotations(hints(reads, destructive))
}

/// A tool that calls the capability that its argument `name` says.
fn calling(tool_name: impl Into<String>, title: &str, description: impl Into<String>, name: Value) -> Tool {
    let arguments = json!({ "description": "Its arguments, as `describe_capability` says.", "type": "object" });
    let properties = json!({ "name": name, "arguments": arguments });
    tool(tool_name, title, description, &properties, &["name"])
}

fn tool(
    name: impl Into<String>,
    title: &str,
    description: impl Into<String>,
    properties: &Value,
    required: &[&str],
) -> Tool {
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let schema = sorted(schema).as_object().cloned().unwrap_or_default();
    Tool::new(name.into(), description.into(), schema).with_title(title)
}
