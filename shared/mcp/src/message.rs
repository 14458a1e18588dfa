//! Clients' messages, as both doors read them, and the answers to what is none.

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetMeta as _, ProtocolVersion};
use serde_json::{Value, json};

/// Bytes at the start and at the end of a message in which its id is looked for.
pub(crate) const ID_BYTES: usize = 256;
/// The methods of both eras. The newer one has no `initialize`, and demands that it is unknown.
const METHODS: [&str; 10] = [
    "completion/complete",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "tools/call",
    "tools/list",
];

/// A text that is no message of the protocol.
pub(crate) struct Unread {
    /// The answer, with the request's id: without it the client would wait for ever.
    pub(crate) answer: Vec<u8>,
    /// Whether it was sent as a notification, which gets no answer where there need not be one.
    pub(crate) is_notification: bool,
}

/// Reads the message in `text`.
pub(crate) fn read(text: &[u8]) -> Result<ClientJsonRpcMessage, Unread> {
    serde_json::from_slice(text).map_err(|_| match serde_json::from_slice::<Value>(text) {
        Ok(value) => unread(&value),
        Err(error) => {
            let error = ErrorData::parse_error(format!("Parse error: send one JSON message at a time ({error})"), None);
            Unread { answer: refusal(first_id(text).or(last_id(text)), &error), is_notification: false }
        }
    })
}

fn unread(value: &Value) -> Unread {
    let method = value.get("method").and_then(Value::as_str);
    let has_result = value.get("result").or(value.get("error")).is_some();
    // The id of an answer is one of the server's own.
    let id = value.get("id").filter(|id| is_id(id) && (method.is_some() || !has_result));
    let is_of_json_rpc = !has_result && value.get("jsonrpc").is_some_and(|version| version == "2.0");
    let error = match method {
        Some(method) if is_of_json_rpc && id.is_some_and(|id| id.is_string() || id.is_i64()) => not_taken(method),
        _ if value.is_array() => ErrorData::invalid_request("send each message by itself: batches are not taken", None),
        _ => {
            let message = "send one JSON-RPC 2.0 message; the id of a request is a string or an integer below 2^63";
            ErrorData::invalid_request(message, None)
        }
    };
    let is_notification = method.is_some() && is_of_json_rpc && value.get("id").is_none();
    Unread { answer: refusal(id.cloned(), &error), is_notification }
}

/// The error for a request whose parameters or method are none of the protocol's.
pub(crate) fn not_taken(method: &str) -> ErrorData {
    if METHODS.contains(&method) {
        return ErrorData::invalid_params(format!("send the parameters of {method} as the protocol says"), None);
    }
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "there is no such method", None)
}

/// Whether the library's session begins with this message: before, it ends the session at whatever is no request.
pub(crate) fn begins_session(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(message) = message else {
        return false;
    };
    match &message.request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let is_known = |version| ProtocolVersion::KNOWN_VERSIONS.contains(&version);
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
                && meta.protocol_version().is_some_and(is_known)
        }
    }
}

/// An error for the request with this id; with none it stands alone.
pub(crate) fn refusal(id: Option<Value>, error: &ErrorData) -> Vec<u8> {
    json!({ "error": error, "id": id, "jsonrpc": "2.0" }).to_string().into_bytes()
}

/// The id of a message that cannot be read, if it is among its first fields.
pub(crate) fn first_id(text: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(text.get(..ID_BYTES).unwrap_or(text));
    let (before, after) = text.split_once("\"id\"")?;
    let value = after.trim_start().strip_prefix(':')?;
    let is_outermost = before.matches(['{', '[']).count() == 1;
    let value = serde_json::Deserializer::from_str(value).into_iter().next()?.ok()?;
    Some(value).filter(|value| is_outermost && is_id(value))
}

/// The id of a message that cannot be read, if it is its last field.
pub(crate) fn last_id(text: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(text.get(text.len().saturating_sub(ID_BYTES)..).unwrap_or(text));
    let (_, after) = text.trim_end().strip_suffix('}')?.rsplit_once("\"id\"")?;
    serde_json::from_str(after.trim_start().strip_prefix(':')?).ok().filter(is_id)
}

fn is_id(value: &Value) -> bool {
    value.is_number() || value.is_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_what_cannot_be_read_has_the_id_of_the_request() {
        for (text, id, code) in [
            (r#"{"jsonrpc":"2.0","id":11,"method":"tools/call","params":[]}"#, json!(11), -32602),
            (r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"_meta":"x"}}"#, json!("a"), -32602),
            (r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}"#, json!(1_u64 << 63), -32600),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, json!(1.5), -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"1.0","id":7,"method":"tools/list"}"#, json!(7), -32600),
            (r#"{"id":7,"method":"tools/list"}"#, json!(7), -32600),
            (r#"{"jsonrpc":"2.0","id":7}"#, json!(7), -32600),
            (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, json!(7), -32600),
            (r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","result":{}}"#, json!(7), -32600),
            (r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#, Value::Null, -32600),
            (r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping""#, json!(7), -32700),
            ("7", Value::Null, -32600),
        ] {
            let unread = read(text.as_bytes()).err().unwrap_or_else(|| panic!("{text} was read"));
            let answer: Value = serde_json::from_slice(&unread.answer).unwrap();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{text}");
            assert!(answer.as_object().unwrap().contains_key("id") && answer["jsonrpc"] == "2.0", "{answer}");
            assert!(!unread.is_notification, "{text}");
        }
        let notification = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":[]}"#;
        assert!(read(notification.as_bytes()).is_err_and(|unread| unread.is_notification));
    }
}
