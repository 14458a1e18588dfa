//! Operations as tools of the protocol, and the results of calls.

use std::sync::Arc;

use atlas_ops::Error;
use atlas_tools::facade::{self, Hints, Media, take_media};
use rmcp::model::{CallToolResult, ContentBlock, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// A tool in the protocol's shape.
pub(crate) fn rendered(tool: facade::Tool) -> Tool {
    let rendered = Tool::new(tool.name, tool.description, tool.input)
        .with_title(tool.title)
        .with_annotations(annotations(tool.hints));
    match tool.output {
        Some(output) => rendered.with_raw_output_schema(Arc::new(output)),
        None => rendered,
    }
}

/// The hints of a tool. For a read-only tool the other hints have no meaning.
fn annotations(hints: Hints) -> ToolAnnotations {
    let annotations = ToolAnnotations::new().read_only(hints.changes_nothing).open_world(hints.asks_outside);
    if hints.changes_nothing {
        return annotations;
    }
    annotations.destructive(hints.destructive).idempotent(hints.idempotent)
}

/// The result of a successful call: the answer, and any picture or sound as content of its type.
pub(crate) fn answered(mut answer: Value) -> CallToolResult {
    let media = take_media(&mut answer);
    let mut result = CallToolResult::structured(answer);
    let block = |Media { is_audio, mime, data }| {
        if is_audio { ContentBlock::audio(data, mime) } else { ContentBlock::image(data, mime) }
    };
    result.content.extend(media.map(block));
    result
}

/// The result of a failed call: only text, since structured content must match the tool's output schema.
pub(crate) fn failed(error: &Error) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(told(error).to_string())])
}

/// An error as agents see it.
pub(crate) fn told(error: &Error) -> Value {
    let (code, recovery) = (error.reason(), error.recovery());
    let mut told = json!({ "code": code, "details": error.details, "message": error.message, "recovery": recovery });
    if let Some(seconds) = error.details.get("retry_after_seconds") {
        told["retry_after_seconds"] = seconds.clone();
    }
    told
}
