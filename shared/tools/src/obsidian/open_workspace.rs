//! `open_workspace`: switches the app to a saved layout of its windows.

use atlas_ops::app::ask::Asked;
use atlas_ops::app::{Pending, Request};
use atlas_ops::arguments::Exact;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::settings::document;
use atlas_ops::read::view::View;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::workspaces::FILE;
use atlas_access::visibility::NEEDS_APP;

/// Switches the Obsidian app to a saved workspace.
pub struct OpenWorkspace;

/// Which workspace.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its name, as list_workspaces gives it.
    name: Exact<256>,
    /// Whether to save the one that is open first.
    #[serde(default)]
    save_current_first: bool,
}

/// The open workspace.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The workspace.
    name: String,
    /// When the app was told to open it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    opened_at: Option<Timestamp>,
    /// The one that was open before, as far as the vault says.
    #[serde(skip_serializing_if = "Option::is_none")]
    prior_workspace: Option<String>,
    /// Instead of that, where the app is asked through the bucket and has not answered: make the same call again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Pending>,
}

impl Operation for OpenWorkspace {
    const INFO: Info = Info {
        name: "open_workspace",
        title: "Open a workspace",
        description: "Switches the person's running Obsidian to a saved workspace. Obsidian itself has a command for the dialog alone, so this needs the plugin Workspaces Plus, which has one for each workspace. A person has to confirm save_current_first. Example: {\"name\": \"Morning\"}",
        scopes: &[Scope::WriteVault, Scope::ExecuteWorkspace],
        destructive: true,
        idempotent: true,
        tags: &[NEEDS_APP],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn needs_confirmation(_: &Arguments) -> bool {
        // Only saving the open one first, unless workspaces:save is a safe command.
        false
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let name = arguments.name.as_str().to_owned();
        let request = Request::OpenWorkspace { name: name.clone(), save_first: arguments.save_current_first };
        if let Asked::Pending(pending) = context.ask_app(&Self::INFO, &request).await? {
            return Ok(super::answer(Output { name, opened_at: None, prior_workspace: None, pending: Some(pending) }));
        }
        let active = |view: View| async move {
            let document = document(&view, FILE).await?.unwrap_or_default();
            Ok(document.get("active").and_then(Value::as_str).map(str::to_owned))
        };
        let prior_workspace = context.read(active).await?.value;
        let opened_at = Some(context.first_made);
        Ok(super::answer(Output { name, opened_at, prior_workspace, pending: None }))
    }
}
