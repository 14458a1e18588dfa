//! Standard input and output: one message a line. The caller is the process that started this one, and is trusted.

use std::io;
use std::sync::Arc;

use atlas_ops::Caller;
use atlas_web::App;
use atlas_web::request::MAX_BODY_BYTES;
use atlas_web::routes::Door;
use axum::http::HeaderMap;
use rmcp::service::ServerInitializeError;
use rmcp::{ServiceExt as _, transport};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::sync::Mutex;

use crate::indexing::Indexing;
use crate::server::Server;

/// The caller's name.
const CALLER: &str = "stdio";
/// Size of the buffer between lines and handler, in bytes.
const WAITING_BYTES: usize = 64 << 10;
/// JSON-RPC's codes for a message that is not JSON, and for one that is not taken.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
/// Bytes at the start and at the end of a message in which its id is looked for.
const ID_BYTES: usize = 256;

/// Answers with `app` until standard input ends. Calls wait for `indexing`, if there is one. Nothing else may write to standard output meanwhile.
///
/// # Errors
/// When the client does not begin with the protocol's handshake.
pub async fn serve(app: App, indexing: Option<Indexing>) -> Result<(), ServerInitializeError> {
    let door = Door { app, headers: HeaderMap::new(), caller: Caller::trusted(CALLER) };
    let (input, output) = transport::stdio();
    let output = Arc::new(Mutex::new(output));
    let (asked, messages) = tokio::io::duplex(WAITING_BYTES);
    let (answers, answered) = tokio::io::duplex(WAITING_BYTES);
    let reading = tokio::spawn({
        let output = output.clone();
        async move { take(input, asked, &output).await }
    });
    let writing = tokio::spawn(async move { give(answered, &output).await });
    let served = match Server::new(door).indexed_by(indexing).serve((messages, answers)).await {
        Ok(service) => {
            // The process ends in any case.
            let _ = service.waiting().await;
            Ok(())
        }
        // A client that closes the connection before `initialize` is no error.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error),
    };
    reading.abort();
    // Answers that are queued are still written.
    let _ = writing.await;
    served
}

/// Passes on the lines of `input` that are JSON, and answers others with an error. A line longer than a body may be is not kept.
async fn take(
    input: impl AsyncRead + Unpin,
    mut messages: impl AsyncWrite + Unpin,
    output: &Mutex<impl AsyncWrite + Unpin>,
) -> io::Result<()> {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        (&mut input).take(MAX_BODY_BYTES as u64 + 1).read_until(b'\n', &mut line).await?;
        if line.len() > MAX_BODY_BYTES {
            let id = first_id(&line).or(pass_over(&mut input, line.split_off(MAX_BODY_BYTES - ID_BYTES)).await?);
            let message = format!(
                "Invalid request: the message has more than {MAX_BODY_BYTES} bytes; write a long note in parts, with append_note"
            );
            say(output, &refusal(id, INVALID_REQUEST, &message)).await?;
            continue;
        }
        match line.trim_ascii() {
            [] if line.is_empty() => return Ok(()),
            [] => {}
            // The handler passes over what it cannot read without an answer, so it is read as it does.
            text => match serde_json::from_slice::<Value>(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)) {
                Ok(_) => {
                    messages.write_all(text).await?;
                    messages.write_all(b"\n").await?;
                }
                Err(error) => {
                    let message = format!("Parse error: send one JSON message a line ({error})");
                    say(output, &refusal(first_id(text).or(last_id(text)), PARSE_ERROR, &message)).await?;
                }
            },
        }
    }
}

/// Reads the rest of a line, of which `end` is read already, and returns the id at its end.
async fn pass_over(input: &mut (impl AsyncBufRead + Unpin), mut end: Vec<u8>) -> io::Result<Option<Value>> {
    while !end.ends_with(b"\n") {
        end.drain(..end.len().saturating_sub(ID_BYTES));
        if (&mut *input).take(MAX_BODY_BYTES as u64).read_until(b'\n', &mut end).await? == 0 {
            break;
        }
    }
    Ok(last_id(&end))
}

/// The id of a message that cannot be read, if it is among its first fields.
fn first_id(text: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(text.get(..ID_BYTES).unwrap_or(text));
    let (before, after) = text.split_once("\"id\"")?;
    let value = after.trim_start().strip_prefix(':')?;
    let is_outermost = before.matches(['{', '[']).count() == 1;
    let value = serde_json::Deserializer::from_str(value).into_iter().next()?.ok()?;
    Some(value).filter(|value| is_outermost && is_id(value))
}

/// The id of a message that cannot be read, if it is its last field.
fn last_id(text: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(text.get(text.len().saturating_sub(ID_BYTES)..).unwrap_or(text));
    let (_, after) = text.trim_end().strip_suffix('}')?.rsplit_once("\"id\"")?;
    serde_json::from_str(after.trim_start().strip_prefix(':')?).ok().filter(is_id)
}

fn is_id(value: &Value) -> bool {
    value.is_number() || value.is_string()
}

/// Writes answers line by line, so that they do not mix.
async fn give(answers: impl AsyncRead + Unpin, output: &Mutex<impl AsyncWrite + Unpin>) -> io::Result<()> {
    let mut answers = BufReader::new(answers);
    let mut line = Vec::new();
    while answers.read_until(b'\n', &mut line).await? > 0 {
        say(output, line.trim_ascii_end()).await?;
        line.clear();
    }
    Ok(())
}

async fn say(output: &Mutex<impl AsyncWrite + Unpin>, line: &[u8]) -> io::Result<()> {
    let mut output = output.lock().await;
    output.write_all(line).await?;
    output.write_all(b"\n").await?;
    output.flush().await
}

/// An error for the request with this id, as a client waits for it; with none it stands alone.
fn refusal(id: Option<Value>, code: i32, message: &str) -> Vec<u8> {
    json!({ "error": { "code": code, "message": message }, "id": id, "jsonrpc": "2.0" }).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn taken(input: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let (mut messages, output) = (Vec::new(), Mutex::new(Vec::new()));
        take(input, &mut messages, &output).await.unwrap();
        (messages, output.into_inner())
    }

    fn answers(told: &[u8]) -> Vec<Value> {
        let lines = told.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_answered_and_not_kept_and_the_next_is_taken() {
        let line = [&[b'"'][..], &[b'x'; 1 << 10], b"\"\n"].concat();
        let lines = line.repeat(3 << 10);
        assert_eq!(taken(&lines).await.0.len(), lines.len());
        let text = "x".repeat(5 << 20);
        for (long, id) in [
            (text.clone(), json!(null)),
            (format!(r#"{{"jsonrpc":"2.0","id":7,"params":{{"content":"{text}"}}}}"#), json!(7)),
            (format!(r#"{{"params":{{"content":"{text}"}},"jsonrpc":"2.0","id":"a"}}"#), json!("a")),
        ] {
            let (messages, told) = taken(format!("{long}\n[]\n").as_bytes()).await;
            assert_eq!(messages, b"[]\n");
            let [told] = &answers(&told)[..] else { panic!("{told:?}") };
            assert_eq!((&told["error"]["code"], &told["id"]), (&json!(INVALID_REQUEST), &id));
            assert_eq!(answers(&taken(long.as_bytes()).await.1)[0]["id"], id, "without an end of the line");
        }
    }

    #[tokio::test]
    async fn a_line_that_is_no_json_is_told_so_and_the_next_is_taken() {
        let (messages, told) = taken(b"{\"a\":1}\nnot json\n\n{\"b\"\r\n  {\"c\":2}\r\n\xff\n[]").await;
        assert_eq!(messages, b"{\"a\":1}\n{\"c\":2}\n[]\n");
        let told = answers(&told);
        assert_eq!(told.len(), 3);
        assert!(told.iter().all(|told| told["error"]["code"] == PARSE_ERROR && told["id"].is_null()), "{told:?}");
    }

    #[tokio::test]
    async fn who_sent_text_that_cannot_be_read_gets_the_error_for_the_call() {
        let deep = "[".repeat(200);
        for text in [r#""\ud83d""#, "\"\u{ff}\"", "1e999", &deep] {
            // One byte that is no UTF-8.
            let text: Vec<u8> = text.chars().map(|letter| letter as u8).collect();
            let first = [br#"{"id":3,"jsonrpc":"2.0","params":{"id":4,"content":"#, &text[..], b"}}\n"].concat();
            let last = [br#"{"params":{"id":4,"content":"#, &text[..], br#"},"jsonrpc":"2.0","id":3}"#].concat();
            let (messages, told) = taken(&[first, last].concat()).await;
            assert!(messages.is_empty());
            let told = answers(&told);
            assert!(told.len() == 2 && told.iter().all(|told| told["id"] == 3), "{told:?}");
        }
    }
}
