//! Standard input and output: one message a line. The caller is the process that started this one, and is trusted.

use std::io;
use std::sync::Arc;

use atlas_ops::Caller;
use atlas_web::App;
use atlas_web::request::MAX_BODY_BYTES;
use atlas_web::routes::Door;
use axum::http::HeaderMap;
use rmcp::model::{ClientJsonRpcMessage, ErrorData};
use rmcp::service::ServerInitializeError;
use rmcp::{ServiceExt as _, transport};
use serde_json::Value;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::sync::Mutex;

use crate::indexing::Indexing;
use crate::message::{self, ID_BYTES, first_id, last_id};
use crate::server::Server;

/// The caller's name.
const CALLER: &str = "stdio";
/// Size of the buffer between lines and handler, in bytes.
const WAITING_BYTES: usize = 64 << 10;

/// Answers with `app` until standard input ends. Calls wait for `indexing`, if there is one. Nothing else may write to standard output meanwhile.
///
/// # Errors
/// When the client's `initialize` cannot be answered.
pub async fn serve(app: App, indexing: Option<Indexing>) -> io::Result<()> {
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
        Err(ServerInitializeError::InitializeFailed(error)) => {
            Err(io::Error::other(format!("the client's `initialize` was refused: {}", error.message)))
        }
        Err(ServerInitializeError::TransportError { .. } | ServerInitializeError::Cancelled) => {
            Err(io::Error::other("the client does not read standard output: start it again"))
        }
        Err(_) => Err(io::Error::other("the client did not begin with `initialize`: it must send that first")),
    };
    reading.abort();
    // Answers that are queued are still written.
    let _ = writing.await;
    served
}

/// Passes on the lines of `input` that are messages, and answers others with an error. A line longer than a body may be is not kept. Until the
/// session begins, whatever is no request is passed over: the handler would end, and nothing waits for an answer to it.
async fn take(
    input: impl AsyncRead + Unpin,
    mut messages: impl AsyncWrite + Unpin,
    output: &Mutex<impl AsyncWrite + Unpin>,
) -> io::Result<()> {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    let mut has_begun = false;
    loop {
        line.clear();
        (&mut input).take(MAX_BODY_BYTES as u64 + 1).read_until(b'\n', &mut line).await?;
        if line.len() > MAX_BODY_BYTES {
            let id = first_id(&line).or(pass_over(&mut input, line.split_off(MAX_BODY_BYTES - ID_BYTES)).await?);
            let message = format!(
                "Invalid request: the message has more than {MAX_BODY_BYTES} bytes; write a long note in parts, with append_note"
            );
            say(output, &message::refusal(id, &ErrorData::invalid_request(message, None))).await?;
            continue;
        }
        match line.trim_ascii() {
            [] if line.is_empty() => return Ok(()),
            [] => {}
            // The handler answers what it cannot read without its id or not at all, so it is read as it does.
            text => match message::read(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)) {
                Ok(message) => {
                    has_begun = has_begun || message::begins_session(&message);
                    if has_begun || matches!(message, ClientJsonRpcMessage::Request(_)) {
                        messages.write_all(text).await?;
                        messages.write_all(b"\n").await?;
                    }
                }
                Err(unread) if unread.is_notification => {}
                Err(unread) => say(output, &unread.answer).await?,
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

    async fn taken(input: &[u8]) -> (String, Vec<Value>) {
        let (mut messages, output) = (Vec::new(), Mutex::new(Vec::new()));
        take(input, &mut messages, &output).await.unwrap();
        let told = output.into_inner();
        let lines = told.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        (String::from_utf8(messages).unwrap(), lines.map(|line| serde_json::from_slice(line).unwrap()).collect())
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_answered_and_not_kept_and_the_next_is_taken() {
        let lines = format!("{PING}\n").repeat(64 << 10);
        assert_eq!(taken(lines.as_bytes()).await.0.len(), lines.len());
        let text = "x".repeat(5 << 20);
        for (long, id) in [
            (text.clone(), json!(null)),
            (format!(r#"{{"jsonrpc":"2.0","id":7,"params":{{"content":"{text}"}}}}"#), json!(7)),
            (format!(r#"{{"params":{{"content":"{text}"}},"jsonrpc":"2.0","id":"a"}}"#), json!("a")),
        ] {
            let (messages, told) = taken(format!("{long}\n{PING}\n").as_bytes()).await;
            assert_eq!(messages, format!("{PING}\n"));
            let [told] = &told[..] else { panic!("{told:?}") };
            assert_eq!((&told["error"]["code"], &told["id"]), (&json!(-32600), &id));
            assert_eq!(taken(long.as_bytes()).await.1[0]["id"], id, "without an end of the line");
        }
    }

    #[tokio::test]
    async fn a_line_that_is_no_json_is_told_so_and_the_next_is_taken() {
        let lines = format!("{PING}\nnot json\n\n{{\"b\"\r\n  {PING}\r\n\u{feff}{PING}\n");
        let (messages, told) = taken(&[lines.as_bytes(), b"\xff\n", PING.as_bytes()].concat()).await;
        assert_eq!(messages, format!("{PING}\n{PING}\n\u{feff}{PING}\n{PING}\n"));
        assert_eq!(told.len(), 3);
        assert!(told.iter().all(|told| told["error"]["code"] == -32700 && told["id"].is_null()), "{told:?}");
    }

    #[tokio::test]
    async fn text_that_cannot_be_read_gets_the_error_for_its_call() {
        let deep = "[".repeat(200);
        for text in [r#""\ud83d""#, "\"\u{ff}\"", "1e999", &deep] {
            // One byte that is no UTF-8.
            let text: Vec<u8> = text.chars().map(|letter| letter as u8).collect();
            let first = [br#"{"id":3,"jsonrpc":"2.0","params":{"id":4,"content":"#, &text[..], b"}}\n"].concat();
            let last = [br#"{"params":{"id":4,"content":"#, &text[..], br#"},"jsonrpc":"2.0","id":3}"#].concat();
            let (messages, told) = taken(&[first, last].concat()).await;
            assert!(messages.is_empty());
            assert!(told.len() == 2 && told.iter().all(|told| told["id"] == 3), "{told:?}");
        }
    }

    #[tokio::test]
    async fn before_the_session_only_requests_are_passed_on() {
        let discover = r#"{"jsonrpc":"2.0","id":2,"method":"server/discover"}"#;
        let list = r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#;
        let client = r#"{"name":"test","version":"1"}"#;
        let hello = format!(
            r#"{{"jsonrpc":"2.0","id":4,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{client}}}}}"#
        );
        let modern = r#"{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
        let unknown = modern.replace("2026-07-28", "2999-01-01");
        let others = [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
            r#"{"jsonrpc":"2.0","id":5,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"x"}}"#,
        ]
        .join("\n");
        let before = [PING, discover, list, &unknown];
        for begin in [&hello, modern] {
            let sent = before.map(|request| format!("{others}\n{request}\n")).concat();
            let (messages, told) = taken(format!("{sent}{others}\n{begin}\n{others}\n").as_bytes()).await;
            assert_eq!(messages, format!("{}\n{begin}\n{others}\n", before.join("\n")));
            assert!(told.is_empty(), "{told:?}");
        }
    }
}
