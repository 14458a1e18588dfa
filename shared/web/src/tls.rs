//! HTTPS, with a certificate that is read again when its files change.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Largest file.
const MAX_BYTES: u64 = 1 << 20;
/// The interval of checks of the files.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a certificate is invalid, and what to give.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The certificate's file contains no certificate.
    #[error("{} is not a certificate: give a PEM file with the certificate and its chain", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// The key's file contains no key.
    #[error("{} is not a private key: give a PEM file with a key that has no password", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// Certificate and key do not fit.
    #[error("{} cannot be used with the key {}: {source}", certificate.display(), key.display())]
    Refused {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// The cause.
        source: rustls::Error,
    },
}

/// A certificate and its key in two PEM files.
#[derive(Clone, Debug)]
pub struct Certificate {
    files: Files,
    /// The last content of the files, or why they could not be read.
    seen: Result<Contents, String>,
    current: Arc<Current>,
}

#[derive(Clone, Debug)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

#[derive(Clone, PartialEq, Eq)]
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl fmt::Debug for Contents {
    /// Without the key.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Contents").finish_non_exhaustive()
    }
}

/// The certificate for new connections.
#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

impl Certificate {
    /// Reads the files.
    ///
    /// # Errors
    /// When they are invalid.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let files = Files { certificate: certificate.to_owned(), key: key.to_owned() };
        let contents = files.contents()?;
        let current = Arc::new(Current(RwLock::new(files.parse(&contents)?)));
        Ok(Self { files, seen: Ok(contents), current })
    }

    /// The acceptor of TLS connections, which uses the current certificate.
    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(self.current.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// Checks the files from time to time, and uses valid changes. Never completes.
    pub(crate) async fn follow(mut self) {
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            let files = self.files.clone();
            let Ok(read) = tokio::task::spawn_blocking(move || files.contents()).await else { continue };
            self.look(read);
        }
    }

    /// Uses a changed certificate if it is valid. An invalid one is logged once; it may be half of a change.
    fn look(&mut self, read: Result<Contents, TlsError>) {
        let seen = read.map_err(|error| error.to_string());
        if seen == self.seen {
            return;
        }
        let usable = match &seen {
            Ok(contents) => self.files.parse(contents).map_err(|error| error.to_string()),
            Err(error) => Err(error.clone()),
        };
        self.seen = seen;
        match usable {
            Ok(new) => {
                *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = new;
                tracing::info!("new connections get the new certificate");
            }
            Err(error) => tracing::warn!("the certificate from before stays in use: {error}"),
        }
    }
}

impl Files {
    fn contents(&self) -> Result<Contents, TlsError> {
        let read = |path: &Path| {
            let unreadable = |source| TlsError::Unreadable { path: path.to_owned(), source };
            let mut bytes = Vec::new();
            let file = std::fs::File::open(path).map_err(unreadable)?;
            file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
            Ok(bytes)
        };
        Ok(Contents { certificate: read(&self.certificate)?, key: read(&self.key)? })
    }

    fn parse(&self, contents: &Contents) -> Result<Arc<CertifiedKey>, TlsError> {
        let chain: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&contents.certificate).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty());
        let chain = chain.ok_or_else(|| TlsError::NoCertificate { path: self.certificate.clone() })?;
        let key = PrivateKeyDer::from_pem_slice(&contents.key);
        let key = key.map_err(|_| TlsError::NoKey { path: self.key.clone() })?;
        CertifiedKey::from_der(chain, key, &provider()).map(Arc::new).map_err(|source| TlsError::Refused {
            certificate: self.certificate.clone(),
            key: self.key.clone(),
            source,
        })
    }
}

fn provider() -> CryptoProvider {
    ring::default_provider()
}

/// TLS over `stream`; [`None`] if the handshake fails or takes too long.
pub(crate) async fn shake_hands(acceptor: &TlsAcceptor, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
    match tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => return Some(stream),
        // Scanners and wrong schemes, not faults of this server.
        Ok(Err(error)) => tracing::debug!(%error, "a handshake failed"),
        Err(_) => tracing::debug!("a handshake took too long"),
    }
    None
}
