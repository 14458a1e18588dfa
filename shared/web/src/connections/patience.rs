//! Time limits on clients: for sending the body of a request, and for receiving a response.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::table::{Seat, Stage};
use crate::request::Slow;

/// The body of a request, with a time limit.
pub(super) struct TimedBody {
    body: Incoming,
    end: Pin<Box<Sleep>>,
    seat: Arc<Seat>,
}

impl TimedBody {
    pub(super) fn within(time: Duration, body: Incoming, seat: Arc<Seat>) -> Self {
        Self { body, end: Box::pin(sleep(time)), seat }
    }
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.seat.is_now(Stage::Working);
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        self.seat.is_now(Stage::Receiving);
        ready!(self.end.as_mut().poll(context));
        self.seat.is_now(Stage::Working);
        Poll::Ready(Some(Err(Slow.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A stream whose client must receive in time.
pub(super) struct TimedStream<S> {
    stream: S,
    time: Duration,
    /// When the client must have received the bytes that are waiting.
    end: Option<Pin<Box<Sleep>>>,
    seat: Arc<Seat>,
}

impl<S> TimedStream<S> {
    pub(super) fn within(time: Duration, stream: S, seat: Arc<Seat>) -> Self {
        Self { stream, time, end: None, seat }
    }

    /// Checks the result of a write: while the client receives nothing, its time runs.
    fn written<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            return written;
        }
        self.seat.is_now(Stage::Sending);
        let time = self.time;
        ready!(self.end.get_or_insert_with(|| Box::pin(sleep(time))).as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes no more of the response")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        let flushed = ready!(self.written(context, flushed));
        self.end = None;
        self.seat.has_sent();
        Poll::Ready(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.written(context, shut)
    }
}
