//! Standard input and output: messages a line each, from the process that started this one and is trusted.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use atlas_ops::Caller;
use atlas_web::App;
use atlas_web::request::MAX_BODY_BYTES;
use atlas_web::routes::Door;
use axum::http::HeaderMap;
use rmcp::service::ServerInitializeError;
use rmcp::{ServiceExt as _, transport};
use tokio::io::{AsyncRead, ReadBuf};

use crate::server::Server;

/// Who calls.
const CALLER: &str = "stdio";

/// Answers with `app` until standard input ends. Nothing else may write to standard output meanwhile.
///
/// # Errors
/// When the client does not begin as the protocol says.
pub async fn serve(app: App) -> Result<(), ServerInitializeError> {
    let door = Door { app, headers: HeaderMap::new(), caller: Caller::trusted(CALLER) };
    let (input, output) = transport::stdio();
    match Server::new(door).serve((Lines { input, length: 0 }, output)).await {
        Ok(service) => {
            // Its end is that of the process, whatever the reason.
            let _ = service.waiting().await;
            Ok(())
        }
        // Who says nothing wants nothing.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Input whose lines are no longer than bodies may be.
struct Lines<R> {
    input: R,
    /// Bytes of the line that has begun.
    length: usize,
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.input).poll_read(context, buffer))?;
        let mut length = self.length;
        for piece in buffer.filled().get(before..).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
            length += piece.len();
            if length > MAX_BODY_BYTES {
                tracing::error!("a message has more than {MAX_BODY_BYTES} bytes: send shorter ones");
                buffer.set_filled(before);
                return Poll::Ready(Err(ErrorKind::InvalidData.into()));
            }
            if piece.ends_with(b"\n") {
                length = 0;
            }
        }
        self.length = length;
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;

    #[tokio::test]
    async fn a_line_that_never_ends_is_not_kept() {
        let line = [b'x'; 1 << 10];
        let read =
            async |input: Vec<u8>| Lines { input: input.as_slice(), length: 0 }.read_to_end(&mut Vec::new()).await;
        let lines = [line.as_slice(), b"\n"].concat().repeat(3 << 10);
        assert_eq!(read(lines.clone()).await.unwrap(), lines.len());
        assert_eq!(read(line.repeat(1025)).await.unwrap_err().kind(), ErrorKind::InvalidData);
    }
}
