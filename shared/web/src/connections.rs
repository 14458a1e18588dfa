//! The connections of a server: their number, the time that a client may take, and their end.

mod patience;
mod table;

use std::net::{IpAddr, SocketAddr};
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
use tokio::time::{sleep, timeout};
use tower::ServiceExt as _;

use crate::caller::{Caller, place};
use crate::proxies::Proxies;
use patience::{TimedBody, TimedStream};
use table::{Full, Seat, Stage, Table};

/// The limits of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Most connections at once. A further one replaces one that waits for its client; if there is none, it waits in
    /// the system's queue.
    pub(crate) connections: usize,
    /// Most connections from one address. A further one replaces another from that address, or is closed.
    pub(crate) of_one: usize,
    /// Longest time for the head of a request, from the end of the previous request.
    pub(crate) head: Duration,
    /// Longest time for the body of a request.
    pub(crate) body: Duration,
    /// Longest time for a client to receive a response.
    pub(crate) response: Duration,
    /// Longest time for running requests when the server stops.
    pub(crate) grace: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 1024,
            of_one: 512,
            head: Duration::from_secs(30),
            body: Duration::from_secs(60),
            response: Duration::from_secs(120),
            grace: Duration::from_secs(10),
        }
    }
}

/// The pause after the system fails to accept a connection, for instance for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// The interval of checks whether a connection waits for its client.
const FULL_PAUSE: Duration = Duration::from_millis(50);

/// The protocol beneath HTTP.
#[derive(Clone)]
pub(crate) enum Transport {
    /// Nothing.
    Plain,
    /// TLS.
    #[cfg(feature = "tls")]
    Tls(tokio_rustls::TlsAcceptor),
}

/// Serves `router` on `listener`, which `proxies` may be in front of, until `stop` completes. Then finishes running requests.
pub(crate) async fn serve(
    listener: TcpListener,
    transport: Transport,
    router: Router,
    bounds: Bounds,
    proxies: Proxies,
    stop: impl Future<Output = ()> + Send,
) {
    let table = Arc::new(Table::new(bounds.connections, bounds.of_one));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(bounds.head);
    let open = GracefulShutdown::new();
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = accept(&listener, &table) => accepted,
        };
        let Some((stream, peer, id, seat)) = accepted else { continue };
        let (transport, watcher, table) = (transport.clone(), open.watcher(), table.clone());
        let (router, http, proxies) = (router.clone(), http.clone(), proxies.clone());
        let connection = Connection { peer: peer.ip(), proxies, router, http, bounds, seat: seat.clone(), watcher };
        tokio::spawn(async move {
            tokio::select! {
                () = connection.run(stream, transport) => {}
                () = seat.dropped() => tracing::debug!("a connection gave its place to another"),
            }
            table.leave(id);
        });
    }
    drop(listener);
    if timeout(bounds.grace, open.shutdown()).await.is_err() {
        tracing::warn!("requests still under way after {:?} are dropped", bounds.grace);
    }
}

/// The next connection, once there is room for it.
async fn accept(listener: &TcpListener, table: &Table) -> Option<(TcpStream, SocketAddr, u64, Arc<Seat>)> {
    let (stream, peer) = match listener.accept().await {
        Ok(accepted) => accepted,
        Err(error) => {
            if !is_of_the_client(&error) {
                tracing::error!(%error, "cannot accept connections");
                sleep(ACCEPT_PAUSE).await;
            }
            return None;
        }
    };
    loop {
        match table.admit(place(peer.ip())) {
            Ok((id, seat)) => return Some((stream, peer, id, seat)),
            Err(Full::Address) => {
                tracing::warn!(caller = %Caller::at(peer.ip()), "too many requests at once from one address");
                return None;
            }
            Err(Full::Everybody) => drop(timeout(FULL_PAUSE, table.ended()).await),
        }
    }
}

fn is_of_the_client(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

struct Connection {
    peer: IpAddr,
    proxies: Proxies,
    router: Router,
    http: http1::Builder,
    bounds: Bounds,
    seat: Arc<Seat>,
    watcher: Watcher,
}

impl Connection {
    async fn run(self, stream: TcpStream, transport: Transport) {
        // A small answer must not wait for the acknowledgement of its head.
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
        let Self { peer, proxies, router, http, bounds, seat, watcher } = self;
        let stream = TimedStream::within(bounds.response, stream, seat.clone());
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            let caller = Caller::at(proxies.client(peer, request.headers()));
            request.extensions_mut().insert(caller);
            let (router, seat) = (router.clone(), seat.clone());
            async move {
                seat.is_now(Stage::Working);
                let request = request.map(|body| Body::new(TimedBody::within(bounds.body, body, seat.clone())));
                let response = router.oneshot(request).await;
                seat.is_now(Stage::Sending);
                response
            }
        });
        if let Err(error) = watcher.watch(http.serve_connection(TokioIo::new(stream), service)).await {
            tracing::debug!(%error, "a connection broke");
        }
    }
}

#[cfg(test)]
mod tests;
