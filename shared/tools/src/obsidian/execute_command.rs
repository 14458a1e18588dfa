//! `execute_command`: runs a command of the app.

use atlas_ops::app::ask::Asked;
use atlas_ops::app::{Pending, Request};
use atlas_ops::arguments::{Exact, Given, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use atlas_access::visibility::NEEDS_APP;

/// Runs a command of the Obsidian app.
pub struct ExecuteCommand;

/// Which command.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its id, as list_commands gives it.
    command_id: Exact<256>,
    /// Nothing: commands take no arguments.
    #[serde(default)]
    args: Given<Map<String, Value>>,
}

/// The command that ran.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The command.
    command_id: String,
    /// When the app was told to run it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    fired_at: Option<Timestamp>,
    /// Instead of that, where the app is asked through the bucket and has not answered: make the same call again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Pending>,
}

impl Operation for ExecuteCommand {
    const INFO: Info = Info {
        name: "execute_command",
        title: "Run a command",
        description: "Runs a command of the person's running Obsidian, once. Commands that are not on the vault's list of safe ones wait until the person approves them. Where the app is asked through the bucket, the first call answers pending: make the same call again after some seconds. Find commands with list_commands. Example: {\"command_id\": \"daily-notes\"}",
        scopes: &[Scope::WriteVault, Scope::ExecuteCommand],
        destructive: true,
        tags: &[NEEDS_APP],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn needs_confirmation(_: &Arguments) -> bool {
        // The vault's list of safe commands decides, when it runs.
        false
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        if arguments.args.as_ref().is_some_and(|args| !args.is_empty()) {
            return Err(invalid_input("args", "commands of Obsidian take no arguments: leave it out"));
        }
        let command_id = arguments.command_id.as_str().to_owned();
        let request = Request::Execute { command: command_id.clone() };
        let (fired_at, pending) = match context.ask_app(&Self::INFO, &request).await? {
            Asked::Done(_) => (Some(context.first_made), None),
            Asked::Pending(pending) => (None, Some(pending)),
        };
        Ok(super::answer(Output { command_id, fired_at, pending }))
    }
}
