//! `list_commands`: the commands of the app.

use atlas_ops::app::ask::Asked;
use atlas_ops::app::{Pending, Request};
use atlas_ops::arguments::{Given, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::cursor;
use atlas_ops::read::paging::{Limit, clamped};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use atlas_access::visibility::NEEDS_APP;

/// Lists the commands of the Obsidian app.
pub struct ListCommands;

/// Which commands.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A part of their ids or names, in any case.
    #[serde(default)]
    filter: Given<Text<256>>,
    /// Most commands to return; 100 if not given, at most 1,000.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the page before.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// A page of them.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Output {
    /// The commands, by id.
    items: Vec<Command>,
    /// Pass this for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// Whether the limit was more than a page has.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    overflow: bool,
    /// How many there are on all pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_count: Option<usize>,
    /// Instead of commands, where the app is asked through the bucket and has not answered: make the same call again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Pending>,
}

/// A command.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Command {
    /// The id that execute_command takes.
    id: String,
    /// Its name for people.
    name: String,
    /// The plugin that it is of, if its id says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<String>,
    /// Whether execute_command runs it without a person's confirmation.
    is_safe: bool,
}

/// Where a page begins.
#[derive(Serialize, Deserialize)]
struct Begin {
    after: String,
}

impl Operation for ListCommands {
    const INFO: Info = Info {
        name: "list_commands",
        title: "List commands",
        description: "Lists the commands of the person's running Obsidian, by id, for execute_command; only safe ones to callers who may read a part of the vault. Where it is asked through the bucket, the first call answers pending: make it again after some seconds. Example: {\"filter\": \"daily\"}",
        scopes: &[Scope::ReadVault, Scope::ExecuteCommand],
        tags: &[NEEDS_APP],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { filter, limit, cursor } = arguments;
        let begin: Option<Begin> = cursor.as_ref().map(|cursor| cursor::decode(cursor.as_str())).transpose()?;
        let listed = match context.ask_app(&Self::INFO, &Request::ListCommands {}).await? {
            Asked::Pending(pending) => {
                return Ok(super::answer(Output { pending: Some(pending), ..Output::default() }));
            }
            Asked::Done(listed) => listed,
        };
        let filter = filter.as_ref().map(|filter| filter.as_str().to_lowercase()).unwrap_or_default();
        let safe = &context.vault.app.safe_commands;
        // Names of commands may be names of notes.
        let sees_all = context.check_sees_all().is_ok();
        let text = |item: &Value, name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let command = |item: &Value| {
            let id = text(item, "id");
            let plugin = id.split_once(':').map(|(plugin, _)| plugin.to_owned());
            Command { name: text(item, "name"), plugin, is_safe: safe.contains(&id), id }
        };
        let items = listed.get("items").and_then(Value::as_array).into_iter().flatten();
        let has = |text: &str| text.to_lowercase().contains(&filter);
        let mut found: Vec<Command> = items
            .map(command)
            .filter(|one| sees_all || one.is_safe)
            .filter(|one| has(&one.id) || has(&one.name))
            .collect();
        found.sort_by(|a, b| a.id.cmp(&b.id));
        let total_count = Some(found.len());
        if let Some(begin) = begin {
            found.retain(|command| command.id > begin.after);
        }
        let (limit, overflow) = clamped(limit);
        let has_more = found.len() > limit;
        found.truncate(limit);
        let last = found.last().filter(|_| has_more);
        let cursor = last.and_then(|last| cursor::encode(&Begin { after: last.id.clone() }));
        Ok(super::answer(Output { items: found, cursor, overflow, total_count, pending: None }))
    }
}
