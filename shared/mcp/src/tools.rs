//! Operations as tools.

use std::sync::{Arc, LazyLock};

use atlas_ops::{Entry, Error};
use atlas_tools::operations;
use rmcp::model::{CallToolResult, ContentBlock, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::schema;

/// An operation and its tool.
pub(crate) struct Offered {
    pub(crate) entry: &'static Entry,
    pub(crate) tool: Tool,
}

/// All operations as tools. Made at the first request: a function that starts has no time for it.
pub(crate) static ALL: LazyLock<Vec<Offered>> = LazyLock::new(|| operations().iter().map(|entry| of(entry)).collect());

/// The one of this name.
pub(crate) fn named(name: &str) -> Option<&'static Offered> {
    ALL.iter().find(|offered| offered.entry.info.name == name)
}

fn of(entry: &'static Entry) -> Offered {
    let info = &entry.info;
    let tool = Tool::new(info.name, info.description, schema::input(entry))
        .with_title(info.title)
        .with_raw_output_schema(Arc::new(schema::output(entry)))
        .with_annotations(hints(!info.writes(), info.destructive));
    Offered { entry, tool }
}

/// What a client may expect of a tool. None reaches beyond the vault.
pub(crate) fn hints(reads: bool, destructive: bool) -> ToolAnnotations {
    ToolAnnotations::new().read_only(reads).destructive(destructive).open_world(false)
}

/// What comes of a call that failed: text only, since what is structured must be as the tool's output schema says.
pub(crate) fn failed(error: &Error) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(told(error).to_string())])
}

/// An error as agents see it.
pub(crate) fn told(error: &Error) -> Value {
    let mut told = json!({ "code": error.reason(), "details": error.details, "message": error.message });
    if let Some(seconds) = error.details.get("retry_after_seconds") {
        told["retry_after_seconds"] = seconds.clone();
    }
    told
}
