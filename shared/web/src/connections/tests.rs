//! Tests over real sockets, with short limits.

use std::net::Ipv4Addr;

use axum::routing::{get, post};
use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;

use super::*;
use crate::request;

const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than a test takes.
const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(200);

/// Bounds that have no effect unless a test sets them.
const fn bounds() -> Bounds {
    Bounds { connections: 1024, of_one: 1024, head: LONG, body: LONG, response: LONG, grace: SHORT }
}

/// A server that answers `hello` after reading the body; at `/slow` never, and at `/large` with more than a socket's
/// buffer.
async fn serving(bounds: Bounds) -> SocketAddr {
    serving_behind(bounds, Proxies::default()).await
}

/// The same behind these proxies; at `/who` it says the caller too.
async fn serving_behind(bounds: Bounds, proxies: Proxies) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let echo = async |body: Body| match request::bytes(body).await {
        Ok(_) => "hello".to_owned(),
        Err(error) => error.reason().to_owned(),
    };
    let router = Router::new()
        .route("/", get(async || "hello").merge(post(echo)))
        .route("/who", get(async |caller: axum::Extension<Caller>| format!("{}:hello", *caller)))
        .route("/slow", get(std::future::pending::<&str>))
        .route("/large", get(async || Bytes::from(vec![b'x'; 64 << 20])));
    tokio::spawn(serve(listener, Transport::Plain, router, bounds, proxies, std::future::pending()));
    address
}

/// A connection from the loopback address that ends in this number.
async fn connect(address: SocketAddr, from: u8) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((IpAddr::V4(Ipv4Addr::new(127, 0, 0, from)), 0).into()).unwrap();
    socket.connect(address).await.unwrap()
}

async fn send(stream: &mut TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).await.unwrap();
}

/// The bytes received until the answer `hello`, or the end.
async fn answer(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"hello") && stream.read_buf(&mut bytes).await.is_ok_and(|read| read > 0) {}
    String::from_utf8(bytes).unwrap()
}

async fn ask(stream: &mut TcpStream) -> String {
    send(stream, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
    timeout(PATIENCE, answer(stream)).await.unwrap()
}

const BEGUN: &str = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nx";

#[tokio::test]
async fn idle_connections_make_room_for_a_new_client_at_once() {
    let address = serving(Bounds { connections: 20, ..bounds() }).await;
    let mut idle = Vec::new();
    for _ in 0..30 {
        let mut stream = connect(address, 1).await;
        assert!(ask(&mut stream).await.ends_with("hello"));
        idle.push(stream);
    }
    let mut open = 0;
    for stream in &mut idle {
        send(stream, "GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
        open += usize::from(answer(stream).await.ends_with("hello"));
    }
    assert_eq!(open, 20, "the oldest gave way, and no others");
}

#[tokio::test]
async fn a_thousand_bodies_of_one_byte_block_nobody() {
    let address = serving(Bounds { of_one: 512, ..bounds() }).await;
    let mut held = Vec::new();
    for number in 0..1030 {
        let mut stream = connect(address, 1 + u8::from(number % 2 == 0)).await;
        send(&mut stream, BEGUN).await;
        held.push(stream);
    }
    for from in [3, 1, 2, 3] {
        assert!(ask(&mut connect(address, from).await).await.ends_with("hello"), "from {from}");
    }
}

#[tokio::test]
async fn who_is_being_answered_keeps_the_connection_and_one_too_many_waits() {
    let address = serving(Bounds { connections: 2, ..bounds() }).await;
    let mut slow = connect(address, 1).await;
    send(&mut slow, "GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let mut other = connect(address, 1).await;
    assert!(ask(&mut other).await.ends_with("hello"));
    send(&mut other, "GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await;
    // Both are being answered now, which a third client cannot see.
    sleep(SHORT).await;
    let mut third = connect(address, 2).await;
    let mut waiting = Box::pin(ask(&mut third));
    assert!(timeout(SHORT, &mut waiting).await.is_err());
    drop(other);
    assert!(waiting.await.ends_with("hello"));
    drop(slow);
}

#[tokio::test]
async fn one_address_takes_no_more_than_its_share() {
    let address = serving(Bounds { of_one: 2, ..bounds() }).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = connect(address, 1).await;
        send(&mut stream, "GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await;
        held.push(stream);
    }
    sleep(SHORT).await;
    let mut third = connect(address, 1).await;
    assert_eq!(timeout(PATIENCE, answer(&mut third)).await.unwrap(), "", "it is closed");
    assert!(ask(&mut connect(address, 2).await).await.ends_with("hello"));
}

#[tokio::test]
async fn a_client_that_does_not_finish_the_head_of_a_request_is_let_go() {
    let address = serving(Bounds { head: SHORT, ..bounds() }).await;
    for begun in ["", "GET / HTTP/1.1\r\n"] {
        let mut stream = connect(address, 1).await;
        send(&mut stream, begun).await;
        assert!(!timeout(PATIENCE, answer(&mut stream)).await.unwrap().ends_with("hello"));
    }
}

#[tokio::test]
async fn a_body_that_does_not_come_in_time_is_told_so_and_its_connection_ends() {
    let address = serving(Bounds { body: SHORT, ..bounds() }).await;
    let mut stream = connect(address, 1).await;
    send(&mut stream, BEGUN).await;
    let told = timeout(PATIENCE, answer(&mut stream)).await.unwrap();
    assert!(told.ends_with("body_too_slow"), "{told}");
    let mut patient = connect(address, 1).await;
    send(&mut patient, BEGUN).await;
    send(&mut patient, "y").await;
    assert!(timeout(PATIENCE, answer(&mut patient)).await.unwrap().ends_with("hello"));
}

#[tokio::test]
async fn a_response_that_nobody_reads_is_given_up() {
    let address = serving(Bounds { response: SHORT, ..bounds() }).await;
    let mut stream = connect(address, 1).await;
    send(&mut stream, "GET /large HTTP/1.1\r\nhost: x\r\n\r\n").await;
    sleep(SHORT * 5).await;
    let mut bytes = Vec::new();
    // The content of the sockets' buffers arrives, and no more.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.unwrap();
    assert!(bytes.len() < 64 << 20, "{}", bytes.len());
    let mut reader = connect(address, 1).await;
    send(&mut reader, "GET /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    let mut bytes = Vec::new();
    timeout(PATIENCE, reader.read_to_end(&mut bytes)).await.unwrap().unwrap();
    assert!(bytes.len() > 64 << 20, "who reads gets all of it");
}

#[tokio::test]
async fn a_trusted_proxy_says_where_a_request_comes_from() {
    let address = serving_behind(bounds(), "127.0.0.1".parse().unwrap()).await;
    for (from, forwarded, client) in
        [(1, "192.0.2.7", "192.0.2.7"), (1, "10.9.9.9, 192.0.2.7", "192.0.2.7"), (2, "192.0.2.7", "127.0.0.2")]
    {
        let mut stream = connect(address, from).await;
        send(&mut stream, &format!("GET /who HTTP/1.1\r\nhost: x\r\nx-forwarded-for: {forwarded}\r\n\r\n")).await;
        let said = timeout(PATIENCE, answer(&mut stream)).await.unwrap();
        let caller = Caller::at(client.parse().unwrap());
        assert!(said.ends_with(&format!("{caller}:hello")), "{from} {forwarded}: {said}");
    }
}
