//! The descriptions of the protocol's endpoints for `/openapi.json`.

use serde_json::{Value, json};

/// `GET /bridge/v1/health`.
pub(crate) fn health() -> Value {
    let text = || json!({ "type": "string" });
    let answer = object(&json!({ "status": text(), "version": text(), "protocolVersion": text() }));
    json!({ "get": operation("bridge_health", "The Bridge protocol: that it is up", &answer) })
}

/// `GET /bridge/v1/tools`.
pub(crate) fn tools() -> Value {
    let tool = object(&json!({
        "name": { "type": "string" },
        "description": { "type": "string" },
        "inputSchema": { "type": "object", "description": "The JSON Schema of its arguments." },
    }));
    let answer = object(&json!({
        "tools": { "type": "array", "items": tool },
        "hash": { "type": "string", "description": "SHA-256 of the tools, in hex; the ETag as well." },
    }));
    json!({ "get": operation("bridge_tools", "The Bridge protocol: its tools", &answer) })
}

/// `POST /bridge/v1/tools/{name}/call`.
pub(crate) fn call() -> Value {
    let content = object(&json!({ "type": { "const": "text" }, "text": { "type": "string" } }));
    let mut answer = object(&json!({
        "success": { "type": "boolean" },
        "content": { "type": "array", "items": content, "description": "The result as JSON, or what went wrong." },
    }));
    answer["properties"]["isError"] = json!({ "const": true, "description": "There if the tool failed." });
    let mut call = operation("bridge_call_tool", "The Bridge protocol: call a tool", &answer);
    call["parameters"] = json!([{ "name": "name", "in": "path", "required": true, "schema": { "type": "string" } }]);
    let arguments = object(&json!({ "arguments": { "type": "object", "description": "As its inputSchema says." } }));
    call["requestBody"] = json!({ "required": true, "content": json_of(&arguments) });
    json!({ "post": call })
}

fn operation(id: &str, summary: &str, answer: &Value) -> Value {
    let text = || json!({ "type": "string" });
    let error = object(&json!({ "error": text(), "message": text(), "details": text() }));
    json!({
        "operationId": id,
        "summary": summary,
        "responses": {
            "200": { "description": "The answer.", "content": json_of(answer) },
            "default": { "description": "An error.", "content": json_of(&error) },
        },
    })
}

/// The schema of an object with these properties, all required.
fn object(properties: &Value) -> Value {
    let mut required: Vec<&String> =
        properties.as_object().into_iter().flat_map(|properties| properties.keys()).collect();
    required.sort_unstable();
    json!({ "type": "object", "required": required, "properties": properties })
}

fn json_of(schema: &Value) -> Value {
    json!({ "application/json": { "schema": schema } })
}
