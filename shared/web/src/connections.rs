//! The connections of a server: how many there are, how long a client may take, and how they end.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::ServiceExt as _;

use crate::caller::Caller;

/// What a server allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Most connections at once; further ones wait in the system's queue.
    pub(crate) connections: usize,
    /// Longest time for the head of a request, counted from the end of the one before.
    pub(crate) head: Duration,
    /// Longest time for requests under way when the server ends.
    pub(crate) grace: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { connections: 1024, head: Duration::from_secs(30), grace: Duration::from_secs(10) }
    }
}

/// What passes before the next try when the system gives no connection, as when there are too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// What connections speak beneath HTTP.
#[derive(Clone)]
pub(crate) enum Transport {
    /// Nothing.
    Plain,
    /// TLS.
    #[cfg(feature = "tls")]
    Tls(tokio_rustls::TlsAcceptor),
}

/// Answers what comes on `listener` with `router` until `stop` is done; then finishes requests under way.
pub(crate) async fn serve(
    listener: TcpListener,
    transport: Transport,
    router: Router,
    bounds: Bounds,
    stop: impl Future<Output = ()> + Send,
) {
    let permits = Arc::new(Semaphore::new(bounds.connections));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(bounds.head);
    let open = GracefulShutdown::new();
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = accept(&listener, &permits) => accepted,
        };
        let Some((stream, peer, permit)) = accepted else { continue };
        let (transport, watcher) = (transport.clone(), open.watcher());
        let connection =
            Connection { caller: Caller::at(peer.ip()), router: router.clone(), http: http.clone(), watcher };
        tokio::spawn(async move {
            connection.run(stream, transport).await;
            drop(permit);
        });
    }
    drop(listener);
    if tokio::time::timeout(bounds.grace, open.shutdown()).await.is_err() {
        tracing::warn!("requests still under way after {:?} are dropped", bounds.grace);
    }
}

/// The next connection, once there may be one more.
async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    // It is never closed.
    let permit = permits.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => Some((stream, peer, permit)),
        Err(error) => {
            if !is_of_the_client(&error) {
                tracing::error!(%error, "cannot accept connections");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
            None
        }
    }
}

fn is_of_the_client(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

struct Connection {
    caller: Caller,
    router: Router,
    http: http1::Builder,
    watcher: Watcher,
}

impl Connection {
    async fn run(self, stream: TcpStream, transport: Transport) {
        // A small answer is not to wait for the acknowledgement of its head.
        let _ = stream.set_nodelay(true);
        match transport {
            Transport::Plain => self.speak(stream).await,
            #[cfg(feature = "tls")]
            Transport::Tls(acceptor) => {
                if let Some(stream) = crate::tls::shake_hands(&acceptor, stream).await {
                    self.speak(stream).await;
                }
            }
        }
    }

    async fn speak(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let Self { caller, router, http, watcher } = self;
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(caller);
            router.clone().oneshot(request.map(Body::new))
        });
        if let Err(error) = watcher.watch(http.serve_connection(TokioIo::new(stream), service)).await {
            tracing::debug!(%error, "a connection broke");
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::timeout;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// A server that answers `hello`, until it is dropped.
    async fn serving(bounds: Bounds) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(async || "hello");
        tokio::spawn(serve(listener, Transport::Plain, router, bounds, std::future::pending()));
        address
    }

    async fn ask(stream: &mut TcpStream) -> String {
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"hello") && stream.read_buf(&mut bytes).await.unwrap() > 0 {}
        String::from_utf8(bytes).unwrap()
    }

    #[tokio::test]
    async fn one_connection_too_many_waits_until_another_ends() {
        let address = serving(Bounds { connections: 1, ..Bounds::default() }).await;
        let mut first = TcpStream::connect(address).await.unwrap();
        assert!(ask(&mut first).await.ends_with("hello"));
        let mut second = TcpStream::connect(address).await.unwrap();
        let mut waiting = Box::pin(ask(&mut second));
        assert!(timeout(Duration::from_millis(300), &mut waiting).await.is_err());
        assert!(ask(&mut first).await.ends_with("hello"));
        drop(first);
        assert!(timeout(PATIENCE, waiting).await.unwrap().ends_with("hello"));
    }

    #[tokio::test]
    async fn a_client_that_does_not_finish_the_head_of_a_request_is_let_go() {
        let address = serving(Bounds { head: Duration::from_millis(200), ..Bounds::default() }).await;
        for begun in ["", "GET / HTTP/1.1\r\n"] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(begun.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
            assert!(!answer.ends_with(b"hello"));
        }
    }
}
