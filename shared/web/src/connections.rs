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

/// Most connections at once; further ones wait in the system's queue.
const MAX_CONNECTIONS: usize = 1024;
/// Longest time for the head of a request, counted from the end of the one before.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time for requests under way when the server ends.
const GRACE: Duration = Duration::from_secs(10);
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
    stop: impl Future<Output = ()> + Send,
) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let open = GracefulShutdown::new();
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = accept(&listener, &permits) => accepted,
        };
        let Some((stream, peer, permit)) = accepted else { continue };
        let (transport, router, watcher) = (transport.clone(), router.clone(), open.watcher());
        tokio::spawn(async move {
            connection(stream, peer, transport, router, watcher).await;
            drop(permit);
        });
    }
    drop(listener);
    if tokio::time::timeout(GRACE, open.shutdown()).await.is_err() {
        tracing::warn!("requests still under way after {} seconds are dropped", GRACE.as_secs());
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

async fn connection(stream: TcpStream, peer: SocketAddr, transport: Transport, router: Router, watcher: Watcher) {
    // A small answer is not to wait for the acknowledgement of its head.
    let _ = stream.set_nodelay(true);
    let caller = Caller::at(peer.ip());
    match transport {
        Transport::Plain => http(stream, caller, router, watcher).await,
        #[cfg(feature = "tls")]
        Transport::Tls(acceptor) => {
            if let Some(stream) = crate::tls::shake_hands(&acceptor, stream).await {
                http(stream, caller, router, watcher).await;
            }
        }
    }
}

async fn http(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    caller: Caller,
    router: Router,
    watcher: Watcher,
) {
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(caller);
        router.clone().oneshot(request.map(Body::new))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection broke");
    }
}
