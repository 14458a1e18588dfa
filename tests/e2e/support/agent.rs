//! A client of the MCP door, in this process: both eras of the protocol.

use atlas_ops::Entry;
use atlas_tools::operations;
use atlas_tools::surface;
use serde_json::{Value, json};

use crate::support::deployment::{Client, Reply, assert_sorted};
use crate::support::tokens::send;

/// The two eras: without and with a handshake.
pub const ERAS: [&str; 2] = ["2026-07-28", "2025-11-25"];

/// The configuration that lists each operation.
pub const FLAT: (&str, &str) = ("ATLAS_CONFIG", r#"{"toolFacade": {"mode": "flat"}}"#);

/// A client of the door.
pub struct Agent<'a> {
    client: &'a Client,
    era: &'static str,
    pub headers: Vec<(String, String)>,
}

impl<'a> Agent<'a> {
    pub fn new(client: &'a Client, era: &'static str) -> Self {
        let headers =
            [("host", "localhost"), ("accept", "application/json, text/event-stream"), ("mcp-protocol-version", era)];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Self { client, era, headers }
    }

    pub fn with(mut self, header: (String, String)) -> Self {
        self.headers.push(header);
        self
    }

    /// Sends a request as clients of its era do.
    pub async fn ask(&self, method: &str, mut params: Value) -> Reply {
        let mut headers = self.headers.clone();
        if self.era == ERAS[0] {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.era,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            });
            headers.push(("mcp-method".to_owned(), method.to_owned()));
            if let Some(name) = params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str) {
                headers.push(("mcp-name".to_owned(), name.to_owned()));
            }
        }
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        send(self.client, "POST", "/mcp", &headers, &body).await
    }

    /// The result of a request that must have one.
    pub async fn result(&self, method: &str, params: Value) -> Value {
        let reply = self.ask(method, params).await;
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let body = reply.ok();
        assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!(7)), "{body}");
        // A field of the newer era's results.
        assert_eq!(body["result"]["resultType"] == "complete", self.era == ERAS[0], "{body}");
        body["result"].clone()
    }

    /// The error of a request that the protocol refuses.
    pub async fn refusal(&self, method: &str, params: Value) -> (i64, String) {
        let body = self.ask(method, params).await.json();
        (body["error"]["code"].as_i64().expect("an error"), body["error"]["message"].as_str().unwrap().to_owned())
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        let result = self.result("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        let blocks = result["content"].as_array().unwrap();
        let is_media = |block: &Value| block["type"] == "image" || block["type"] == "audio";
        assert!(blocks[0]["type"] == "text" && blocks.len() <= 2 && blocks[1..].iter().all(is_media), "{result}");
        result
    }

    /// A tool's result; with the bytes of a picture or a sound.
    pub async fn answer(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], false, "{result}");
        let mut text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"]);
        assert_sorted(&text);
        assert_sorted(&result["structuredContent"]);
        if let Some(media) = result["content"].get(1) {
            assert_eq!(text.get("data_base64"), None, "{result}");
            text["data_base64"] = media["data"].clone();
        }
        text
    }

    /// The error of a tool that must fail.
    pub async fn failure(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_eq!((&result["isError"], result.get("structuredContent")), (&json!(true), None), "{result}");
        let error = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_sorted(&error);
        error
    }

    pub async fn tools(&self) -> Vec<Value> {
        let tools = self.result("tools/list", json!({})).await["tools"].as_array().unwrap().clone();
        for tool in &tools {
            assert_sorted(&tool["inputSchema"]);
            assert_sorted(&tool["outputSchema"]);
        }
        tools
    }

    /// The full description of a capability.
    pub async fn described(&self, tool: &str) -> Value {
        self.answer("describe_capability", json!({ "name": tool })).await
    }

    /// The result of a tool; checks it and the arguments against the schemas.
    pub async fn checked(&self, tool: &str, arguments: Value) -> Value {
        let described = self.described(tool).await;
        let check = |schema: &str, value: &Value| {
            let schema = jsonschema::draft202012::new(&described[schema]).unwrap();
            let problem = schema.iter_errors(value).next().map(|problem| problem.to_string());
            assert_eq!(problem, None, "{tool}: {value}");
        };
        check("inputSchema", &arguments);
        let answer = self.answer(tool, arguments).await;
        check("outputSchema", &answer);
        answer
    }

    /// The code of the error of a tool that must fail.
    pub async fn refused(&self, tool: &str, arguments: Value) -> String {
        self.failure(tool, arguments).await["code"].as_str().unwrap().to_owned()
    }
}

/// The operations that are listed by default.
pub fn listed() -> impl Iterator<Item = &'static Entry> + Clone {
    operations().iter().copied().filter(|entry| !surface::needs_more(&entry.info))
}

pub fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}
