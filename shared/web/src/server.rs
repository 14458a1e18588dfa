//! Running routes as a server: for self-hosting, and for trials.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::TcpListener;

use crate::connections::{self, Bounds, Transport};
use crate::deployed::PAGE;
use crate::proxies::Proxies;
use crate::routes::Routes;
use crate::settings::Settings;
use crate::state::{App, OpenError, Reach};
use crate::telemetry;
use crate::threads::Threads;

/// A server that listens but does not answer yet.
pub struct Server {
    listener: TcpListener,
    routes: Routes,
    app: App,
    proxies: Proxies,
    #[cfg(feature = "tls")]
    certificate: Option<crate::tls::Certificate>,
}

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The deployment cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}{}", other_address(source))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
    /// TLS is not available.
    #[cfg(feature = "tls")]
    #[error("cannot speak TLS: {0}")]
    Tls(#[from] rustls::Error),
}

/// The remedy for an address in use.
fn other_address(source: &std::io::Error) -> &'static str {
    match source.kind() {
        std::io::ErrorKind::AddrInUse => {
            "; name another port with --port (`atlas up`), --addr (`atlas serve`) or ATLAS_PORT"
        }
        _ => "",
    }
}

impl Server {
    /// Listens on `address`.
    ///
    /// # Errors
    /// When a setting is invalid, the address is in use, or the server would be open to others.
    pub async fn listen(routes: Routes, settings: &Settings, address: SocketAddr) -> Result<Self, ServerError> {
        telemetry::tell_unused(settings);
        let app = App::open(settings, reach(address)).await?.for_its_hosts();
        let app = App { threads: Some(Threads::default()), ..app };
        #[cfg(feature = "otlp")]
        let app = App { spans: crate::otlp::Spans::open(settings, false).map_err(OpenError::from)?, ..app };
        let listener = TcpListener::bind(address).await.map_err(|source| ServerError::Listen { address, source })?;
        Ok(Self {
            listener,
            routes,
            app,
            proxies: settings.proxies.clone(),
            #[cfg(feature = "tls")]
            certificate: None,
        })
    }

    /// The same server, telling its callers of the page at its own address, unless the configuration names another.
    ///
    ///
    /// # Errors When the system does not report the address.
    pub fn with_page(mut self) -> std::io::Result<Self> {
        if self.routes.have_pages() {
            self.app = self.app.clone().with_page(&format!("{}{PAGE}", self.url()?));
        }
        Ok(self)
    }

    /// The same server over HTTPS.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_certificate(self, certificate: crate::tls::Certificate) -> Self {
        Self { certificate: Some(certificate), ..self }
    }

    /// The deployment that it serves.
    pub const fn app(&self) -> &App {
        &self.app
    }

    /// The address that it listens on.
    ///
    /// # Errors
    /// When the system does not report it.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The URL by which this machine reaches it.
    ///
    /// # Errors
    /// When the system does not report its address.
    pub fn url(&self) -> std::io::Result<String> {
        let address = self.address()?;
        let ip = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        Ok(format!("http://{}", SocketAddr::new(ip, address.port())))
    }

    /// Serves until `stop` completes; running requests are finished within 10 seconds.
    ///
    /// # Errors
    /// When TLS is not available.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) -> Result<(), ServerError> {
        #[cfg(feature = "otlp")]
        let spans = self.app.spans.clone();
        self.answer(stop).await?;
        #[cfg(feature = "otlp")]
        if let Some(spans) = spans {
            spans.flush().await;
        }
        Ok(())
    }

    #[cfg_attr(not(feature = "tls"), allow(clippy::unnecessary_wraps, reason = "TLS can be refused"))]
    async fn answer(self, stop: impl Future<Output = ()> + Send) -> Result<(), ServerError> {
        let router = self.routes.into_router(self.app);
        #[cfg(feature = "tls")]
        if let Some(certificate) = self.certificate {
            let transport = Transport::Tls(certificate.acceptor()?);
            tokio::select! {
                () = connections::serve(self.listener, transport, router, Bounds::default(), self.proxies, stop) => {}
                () = certificate.follow() => {}
            }
            return Ok(());
        }
        connections::serve(self.listener, Transport::Plain, router, Bounds::default(), self.proxies, stop).await;
        Ok(())
    }
}

fn reach(address: SocketAddr) -> Reach {
    if address.ip().is_loopback() {
        return Reach::Loopback;
    }
    let remedy = "listen on a loopback address such as 127.0.0.1, or set ATLAS_AUTH=jwt";
    Reach::Others { place: address.to_string(), remedy }
}
