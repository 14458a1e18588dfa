//! `list_workspaces`: the workspaces of Obsidian's core plugin, in `.obsidian/workspaces.json`.

use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::read::settings::document;
use atlas_ops::read::view::View;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::FILE;

/// Lists saved workspaces.
pub struct ListWorkspaces;

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// The workspaces.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// In Obsidian's order; at most 1,000.
    workspaces: Vec<Workspace>,
}

/// A layout of windows.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Workspace {
    /// Its name.
    name: String,
    /// Whether it is the one that was loaded or saved last.
    active: bool,
    /// When it was saved, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    modified_at: Option<Timestamp>,
}

const MAX_WORKSPACES: usize = 1000;

impl Operation for ListWorkspaces {
    const INFO: Info = Info {
        name: "list_workspaces",
        title: "List workspaces",
        description: "Lists the workspaces (layouts of windows) that a person saved in Obsidian, and which one is active. A vault without workspaces has an empty list. Example: {}",
        scopes: &[Scope::ReadVault],
        tags: &["workspaces"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, _: Arguments) -> Result<Answer<Output>, Error> {
        let list = |view: View| async move {
            // Their names may tell of hidden notes.
            let document = if view.is_whole() { document(&view, FILE).await? } else { None };
            Ok(workspaces(&document.unwrap_or_default()))
        };
        context.read(list).await
    }
}

fn workspaces(document: &Value) -> Output {
    let active = document.get("active").and_then(Value::as_str);
    let all = document.get("workspaces").and_then(Value::as_object).into_iter().flatten();
    let workspace = |(name, layout): (&String, &Value)| {
        let modified_at = layout.get("mtime").and_then(Value::as_str).and_then(|time| time.parse().ok());
        Workspace { name: name.clone(), active: active == Some(name), modified_at }
    };
    Output { workspaces: all.map(workspace).take(MAX_WORKSPACES).collect() }
}
