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
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;

use crate::indexing::Indexing;
use crate::server::Server;

/// The caller's name.
const CALLER: &str = "stdio";
/// Size of the buffer between lines and handler, in bytes.
const WAITING_BYTES: usize = 64 << 10;
/// JSON-RPC's code for a message that is not JSON.
const PARSE_ERROR: i32 = -32700;

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

/// Passes on the lines of `input` that are JSON, and answers others with an error. Ends at a line longer than a body may be.
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
            tracing::error!("a message has more than {MAX_BODY_BYTES} bytes: send shorter ones");
            return Ok(());
        }
        match line.trim_ascii() {
            [] if line.is_empty() => return Ok(()),
            [] => {}
            text => match serde_json::from_slice::<IgnoredAny>(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)) {
                Ok(_) => {
                    messages.write_all(text).await?;
                    messages.write_all(b"\n").await?;
                }
                Err(error) => say(output, malformed(&error).to_string().as_bytes()).await?,
            },
        }
    }
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

fn malformed(error: &serde_json::Error) -> Value {
    let message = format!("Parse error: send one JSON message a line ({error})");
    json!({ "error": { "code": PARSE_ERROR, "message": message }, "id": null, "jsonrpc": "2.0" })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn taken(input: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let (mut messages, output) = (Vec::new(), Mutex::new(Vec::new()));
        take(input, &mut messages, &output).await.unwrap();
        (messages, output.into_inner())
    }

    #[tokio::test]
    async fn a_line_that_never_ends_is_not_kept() {
        let line = [&[b'"'][..], &[b'x'; 1 << 10], b"\"\n"].concat();
        let lines = line.repeat(3 << 10);
        assert_eq!(taken(&lines).await.0.len(), lines.len());
        assert_eq!(taken(&[b'x'; 1025 << 10]).await, (Vec::new(), Vec::new()));
    }

    #[tokio::test]
    async fn a_line_that_is_no_json_is_told_so_and_the_next_is_taken() {
        let (messages, told) = taken(b"{\"a\":1}\nnot json\n\n{\"b\"\r\n  {\"c\":2}\r\n\xff\n[]").await;
        assert_eq!(messages, b"{\"a\":1}\n{\"c\":2}\n[]\n");
        let told: Vec<Value> = told
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        assert_eq!(told.len(), 3);
        assert!(told.iter().all(|told| told["error"]["code"] == PARSE_ERROR && told["id"].is_null()), "{told:?}");
    }
}
