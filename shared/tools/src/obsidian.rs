//! Tools that need a running Obsidian and ask it, as [`atlas_ops::app`] reaches it. Where none is reached they answer
//! `plugin_missing`.

pub mod execute_command;
pub mod list_commands;
pub mod makemd;
pub mod ocr_attachment;
pub mod ocr_bulk;
pub mod open_workspace;
pub mod save_workspace;

use atlas_ops::app::ask::Asked;
use atlas_ops::app::{Pending, Request};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// A plugin's answer.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Told {
    /// The plugin's answer.
    #[serde(flatten)]
    answer: Map<String, Value>,
    /// Instead of an answer, where the app is asked through the bucket and has not answered: make the same call again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Pending>,
}

impl Told {
    /// The same with more fields.
    fn with(mut self, fields: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        if self.pending.is_none() {
            self.answer.extend(fields.into_iter().map(|(name, value)| (name.to_owned(), value)));
        }
        self
    }
}

/// The app's answer to `request`.
async fn told(context: &Context<'_>, operation: &Info, request: &Request) -> Result<Told, Error> {
    Ok(match context.ask_app(operation, request).await? {
        Asked::Pending(pending) => Told { pending: Some(pending), ..Told::default() },
        Asked::Done(Value::Object(answer)) => Told { answer, pending: None },
        // An object without fields tells nothing.
        Asked::Done(_) => Told::default(),
    })
}

/// An answer that no generation of the vault is behind.
const fn answer<T>(value: T) -> Answer<T> {
    Answer { value, generation: None }
}
