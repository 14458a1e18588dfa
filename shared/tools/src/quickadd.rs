//! Choices of the plugin QuickAdd, as far as they need no program: they make notes of templates, and add to notes.
//!
//! # Layout
//! - this file: its settings; `plan`: what an action writes where

pub mod list_quickadd_actions;
mod plan;
pub mod trigger_quickadd;

use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::Context;
use atlas_ops::read::view::View;
use atlas_vault::date_format::Locale;
use atlas_vault::quickadd::{self, Action, Choice};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::plugins::Documents;

const PLUGIN: &str = "quickadd";

/// The kind of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionType {
    /// It makes a note of a template.
    Template,
    /// It runs a program.
    Macro,
    /// It adds to a note.
    Capture,
    /// It is a group of actions.
    Multi,
    /// It is of a kind that is not known here.
    Unknown,
}

impl From<&Action> for ActionType {
    fn from(action: &Action) -> Self {
        match action {
            Action::Template(_) => Self::Template,
            Action::Capture(_) => Self::Capture,
            Action::Multi(_) => Self::Multi,
            Action::Macro => Self::Macro,
            Action::Unknown => Self::Unknown,
        }
    }
}

/// QuickAdd's settings.
struct Settings {
    choices: Vec<Choice>,
    /// Its global variables.
    globals: Map<String, Value>,
    /// The language of dates.
    locale: Locale,
}

impl Settings {
    async fn read(context: &Context<'_>, view: &View) -> Result<Self, Error> {
        let mut documents = Documents::with_dates(view, PLUGIN, &[]).await?;
        let dates = documents.dates(context)?;
        let settings = documents.plugin(PLUGIN)?.ok_or_else(not_there)?;
        let globals = settings.get("globalVariables").and_then(Value::as_object).cloned().unwrap_or_default();
        Ok(Self { choices: quickadd::choices(&settings), globals, locale: dates.locale })
    }
}

/// The error where the mirror has no settings of QuickAdd.
fn not_there() -> Error {
    let message = "the mirror has no settings of QuickAdd for you: either you may read a part of the vault only, or the plugin is not installed or turned off, or its settings hold an API key or another secret, \
        which is never mirrored: a person can move it to Obsidian's keychain or take it out in QuickAdd's settings, and sync again";
    Error::new(Code::NotFound, Reason::PluginMissing, message).with("plugin", PLUGIN)
}

/// The error for what only the app can do.
fn needs_app(what: &str) -> Error {
    let message = format!(
        "{what}, which is not reachable from here: write the note with write_note or append_note, or let the person run the action"
    );
    Error::new(Code::NotFound, Reason::PluginMissing, message).with("plugin", PLUGIN)
}
