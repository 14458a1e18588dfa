//! A service on loopback that answers as it is told, over HTTP or HTTPS, and keeps what it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// Longest request, in bytes.
const MAX_BYTES: usize = 16 << 20;

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its method.
    pub method: String,
    /// Its path and query.
    pub target: String,
    head: String,
    /// Its body.
    pub body: Vec<u8>,
}

impl Asked {
    /// The value of the header `name`; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value.trim())
    }

    /// Its body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("a body of JSON")
    }
}

/// The fate of a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// The answer is this status and body, which is JSON or is said to be.
    Status(u16, String),
    /// The answer is these bytes, head and all; then the connection ends.
    Raw(Vec<u8>),
    /// The answer is this head, and then bytes without end.
    Endless(String),
    /// The answer is these bytes, one after each such time; then nothing more.
    Dripping(Vec<u8>, Duration),
    /// There is no answer for so long; then the connection ends.
    Silence(Duration),
    /// The answer is this status and body, and the connection ends after it without having said so.
    Closing(u16, String),
}

impl Reply {
    /// 200 with a body of JSON.
    pub fn json(body: &serde_json::Value) -> Self {
        Self::Status(200, body.to_string())
    }
}

type Replies = dyn Fn(&Asked) -> Reply + Send + Sync;

/// A service, as long as it lives.
pub struct StandIn {
    address: SocketAddr,
    certificate: Option<Vec<u8>>,
    asked: Arc<Mutex<Vec<Asked>>>,
    listening: JoinHandle<()>,
}

impl StandIn {
    /// A service over HTTP that answers each request so.
    pub async fn new(reply: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::start(Arc::new(reply), None).await
    }

    /// The same over HTTPS, with a certificate for `name` that vouches for itself.
    pub async fn secure(name: &str, reply: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new([name.to_owned()]).expect("a name");
        let certificate = params.self_signed(&key).expect("a certificate").der().clone();
        let private = PrivateKeyDer::try_from(key.serialize_der()).expect("a private key");
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], private)
            .expect("a certificate and its key");
        Self::start(Arc::new(reply), Some((TlsAcceptor::from(Arc::new(config)), certificate.to_vec()))).await
    }

    async fn start(reply: Arc<Replies>, tls: Option<(TlsAcceptor, Vec<u8>)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::new(Mutex::default());
        let (kept, acceptor) = (asked.clone(), tls.as_ref().map(|(acceptor, _)| acceptor.clone()));
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (kept, reply, acceptor) = (kept.clone(), reply.clone(), acceptor.clone());
                // A client that goes away is nothing to a test.
                tokio::spawn(async move {
                    match acceptor {
                        Some(acceptor) => serve(acceptor.accept(stream).await?, &kept, &*reply).await,
                        None => serve(stream, &kept, &*reply).await,
                    }
                });
            }
        });
        Self { address, certificate: tls.map(|(_, certificate)| certificate), asked, listening }
    }

    /// Where it is: `http://127.0.0.1:port` or `https://127.0.0.1:port`.
    pub fn address(&self) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The DER of its certificate; empty over HTTP.
    pub fn certificate(&self) -> &[u8] {
        self.certificate.as_deref().unwrap_or_default()
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Answers the requests of one connection.
async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    kept: &Mutex<Vec<Asked>>,
    reply: &Replies,
) -> std::io::Result<()> {
    while let Some(asked) = read(&mut stream).await? {
        let reply = reply(&asked);
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
        match reply {
            Reply::Status(status, body) => stream.write_all(&answer(status, &body)).await?,
            Reply::Closing(status, body) => {
                stream.write_all(&answer(status, &body)).await?;
                break;
            }
            Reply::Raw(bytes) => {
                stream.write_all(&bytes).await?;
                break;
            }
            Reply::Endless(head) => {
                stream.write_all(head.as_bytes()).await?;
                loop {
                    stream.write_all(&[b'x'; 8192]).await?;
                }
            }
            Reply::Dripping(bytes, time) => {
                for byte in bytes {
                    tokio::time::sleep(time).await;
                    stream.write_all(&[byte]).await?;
                    stream.flush().await?;
                }
                std::future::pending::<()>().await;
            }
            Reply::Silence(time) => {
                tokio::time::sleep(time).await;
                break;
            }
        }
        stream.flush().await?;
    }
    stream.shutdown().await
}

fn answer(status: u16, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} So\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

/// The next request of a connection, if there is one.
async fn read(stream: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Option<Asked>> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await? == 0 || bytes.len() > MAX_BYTES {
            return Ok(None);
        }
    };
    let body = bytes.split_off(end);
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let mut first = head.split(' ').map(str::to_owned);
    let (method, target) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let mut asked = Asked { method, target, head, body };
    let length: usize = asked.header("content-length").parse().unwrap_or(0);
    while asked.body.len() < length.min(MAX_BYTES) {
        if stream.read_buf(&mut asked.body).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(asked))
}
