//! An HTTP proxy that fails on demand, to put in front of a store.
//!
//! It supports only a part of HTTP: one request per connection, bodies with a length, answers that end with the
//! connection.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::request::Op;
use crate::rules::Rules;

/// Longest request or answer, in bytes.
const MAX_BYTES: usize = 64 << 20;

/// The fault of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It is not forwarded, and the answer has this status.
    Answer(u16),
    /// It is forwarded and has its effect, and the answer has this status.
    AnswerAfter(u16),
    /// The answer is that there is no such bucket.
    NoBucket,
    /// It is forwarded, and the connection is reset in the middle of the answer's body.
    Reset,
    /// It is not forwarded, and the connection is reset.
    ResetBefore,
    /// It is forwarded, and the connection is closed in the middle of the answer's body.
    Truncated,
    /// It is forwarded, and the answer's first byte is delayed this much.
    Slow(Duration),
}

/// A proxy, until it is dropped.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    upstream: String,
    rules: Rules<Broken>,
    seen: Mutex<Vec<(Op, String)>>,
}

impl FaultProxy {
    /// A proxy in front of `upstream`, which is `http://host:port`.
    pub async fn new(upstream: &str) -> Self {
        let upstream = upstream.strip_prefix("http://").expect("an http endpoint").trim_end_matches('/').to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared { upstream, rules: Rules::default(), seen: Mutex::default() });
        let server = shared.clone();
        let listening = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = server.clone();
                // Broken connections are expected here.
                tokio::spawn(async move { server.serve(client).await.ok() });
            }
        });
        Self { address, shared, listening }
    }

    /// Its address: `http://127.0.0.1:port`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next request of kind `op` whose target contains `key` fails with `broken`.
    pub fn once(&self, op: Op, key: &str, broken: Broken) {
        self.shared.rules.script(op, key, [Some(broken)]);
    }

    /// The next requests of kind `op` whose target contains `key` follow `script`, one after the other.
    pub fn script(&self, op: Op, key: &str, script: impl IntoIterator<Item = Option<Broken>>) {
        self.shared.rules.script(op, key, script);
    }

    /// All requests of kind `op` whose target contains `key` fail with `broken`.
    pub fn always(&self, op: Op, key: &str, broken: Broken) {
        self.shared.rules.always(op, key, broken);
    }

    /// Removes all faults.
    pub fn heal(&self) {
        self.shared.rules.clear();
    }

    /// The number of requests of kind `op` whose target contained `key`.
    pub fn count(&self, op: Op, key: &str) -> usize {
        let seen = self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().filter(|(kind, target)| *kind == op && target.contains(key)).count()
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Shared {
    async fn serve(&self, mut client: TcpStream) -> std::io::Result<()> {
        let Some(request) = Request::read(&mut client).await? else { return Ok(()) };
        let (op, target) = (request.op(), request.target().to_owned());
        let broken = self.rules.next(op, &target);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push((op, target));
        let answer = match broken {
            Some(Broken::Answer(status)) => canned(status, ""),
            Some(Broken::NoBucket) => canned(404, "<Error><Code>NoSuchBucket</Code><Message>None.</Message></Error>"),
            Some(Broken::AnswerAfter(status)) => {
                self.pass_on(&request).await?;
                canned(status, "")
            }
            // The connection ends without a shutdown.
            Some(Broken::ResetBefore) => return client.set_zero_linger(),
            Some(Broken::Slow(delay)) => {
                let answer = self.pass_on(&request).await?;
                tokio::time::sleep(delay).await;
                answer
            }
            None | Some(Broken::Reset | Broken::Truncated) => self.pass_on(&request).await?,
        };
        if matches!(broken, Some(Broken::Reset | Broken::Truncated)) {
            client.write_all(&answer[..half(&answer)]).await?;
            client.flush().await?;
            if broken == Some(Broken::Reset) {
                // So that the reader gets the half before the connection is reset.
                tokio::time::sleep(Duration::from_millis(20)).await;
                return client.set_zero_linger();
            }
        } else {
            client.write_all(&answer).await?;
        }
        client.shutdown().await
    }

    /// The whole answer to `request`.
    async fn pass_on(&self, request: &Request) -> std::io::Result<Vec<u8>> {
        let mut upstream = TcpStream::connect(&self.upstream).await?;
        upstream.write_all(&request.closing()).await?;
        let mut answer = Vec::new();
        upstream.take(MAX_BYTES as u64).read_to_end(&mut answer).await?;
        Ok(answer)
    }
}

/// A raw request.
#[derive(Debug)]
struct Request {
    head: String,
    body: Vec<u8>,
}

impl Request {
    /// The request of a connection, if there is one.
    async fn read(client: &mut TcpStream) -> std::io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = end_of_head(&bytes) {
                break end;
            }
            if client.read_buf(&mut bytes).await? == 0 || bytes.len() > MAX_BYTES {
                return Ok(None);
            }
        };
        let mut request =
            Self { head: String::from_utf8_lossy(&bytes[..end]).into_owned(), body: bytes.split_off(end) };
        let length: usize = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        while request.body.len() < length.min(MAX_BYTES) {
            if client.read_buf(&mut request.body).await? == 0 {
                return Ok(None);
            }
        }
        Ok(Some(request))
    }

    fn header(&self, name: &str) -> Option<&str> {
        let named = |line: &&str| line.split_once(':').is_some_and(|(found, _)| found.eq_ignore_ascii_case(name));
        self.head.lines().skip(1).find(named).and_then(|line| line.split_once(':')).map(|(_, value)| value.trim())
    }

    fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    fn op(&self) -> Op {
        match self.head.split(' ').next() {
            Some("GET") if self.target().contains("list-type=2") => Op::List,
            Some("GET") if self.header("range").is_some() => Op::Range,
            Some("GET") => Op::Get,
            Some("HEAD") => Op::Head,
            Some("PUT") if self.target().contains("partNumber=") => Op::Other,
            // An upload in parts takes effect at its end.
            Some("POST") if !self.target().contains("uploadId=") => Op::Other,
            Some("PUT" | "POST") if self.header("if-none-match").is_some() => Op::Create,
            Some("PUT" | "POST") => Op::Put,
            _ => Op::Other,
        }
    }

    /// Its bytes, with the header that closes the connection after the answer.
    fn closing(&self) -> Vec<u8> {
        let (first, rest) = self.head.split_once("\r\n").unwrap_or((&self.head, "\r\n"));
        let rest: String = rest.split_inclusive("\r\n").filter(|line| !is_connection(line)).collect();
        let mut bytes = format!("{first}\r\nconnection: close\r\n{rest}").into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

fn is_connection(line: &str) -> bool {
    line.split_once(':').is_some_and(|(name, _)| name.eq_ignore_ascii_case("connection"))
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

/// The first half of an answer with half of its body; without a body, half of its head.
fn half(answer: &[u8]) -> usize {
    let head = end_of_head(answer).unwrap_or(answer.len());
    if head < answer.len() { head + (answer.len() - head) / 2 } else { head / 2 }
}

fn canned(status: u16, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} Broken\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers `hello` to everything.
    async fn upstream() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                Request::read(&mut client).await.unwrap().unwrap();
                client.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhello!").await.unwrap();
            }
        });
        address
    }

    async fn ask(proxy: &FaultProxy) -> (String, bool) {
        let mut stream = TcpStream::connect(proxy.address).await.unwrap();
        stream.write_all(b"GET /a/key HTTP/1.1\r\nhost: x\r\nConnection: keep-alive\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        let ended = stream.read_to_end(&mut answer).await.is_ok();
        (String::from_utf8(answer).unwrap(), ended)
    }

    #[tokio::test]
    async fn a_request_is_passed_on_or_broken_as_told() {
        let proxy = FaultProxy::new(&format!("http://{}", upstream().await)).await;
        assert!(ask(&proxy).await.0.ends_with("\r\n\r\nhello!"));
        proxy.script(Op::Get, "key", [Some(Broken::Answer(503)), None, Some(Broken::Truncated), Some(Broken::Reset)]);
        assert!(ask(&proxy).await.0.starts_with("HTTP/1.1 503 "));
        assert!(ask(&proxy).await.0.ends_with("hello!"));
        let (cut, ended) = ask(&proxy).await;
        assert!(cut.ends_with("\r\n\r\nhel") && ended, "{cut}");
        let (_, ended) = ask(&proxy).await;
        assert!(!ended, "a reset is no end");
        proxy.always(Op::Get, "other", Broken::Answer(500));
        assert!(ask(&proxy).await.0.ends_with("hello!"));
        assert_eq!((proxy.count(Op::Get, "/a/key"), proxy.count(Op::Put, "")), (6, 0));
    }
}
