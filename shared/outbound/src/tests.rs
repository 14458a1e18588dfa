//! The client against services on loopback that try what services can try.

use std::sync::Arc;
use std::time::Duration;

use atlas_testkit::stand_in::{Asked, Reply};
use atlas_testkit::{Broken, FaultProxy, Op, StandIn};
use proptest::prelude::*;
use reqwest::{Method, Url};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use tokio::net::TcpListener;

use crate::{Answer, Error, Fingerprint, Key, Origin, Service, Trust};

/// Longer than anything here takes that is not made to take longer.
const PATIENCE: Duration = Duration::from_secs(20);
const MAX_BYTES: usize = 10_000;

fn service(address: &str, trust: Trust) -> Service {
    Service::new(address, Key::new("a-key"), trust, PATIENCE, MAX_BYTES).unwrap()
}

async fn get(service: &Service) -> Result<Answer, Error> {
    service.send(service.request(Method::GET, &["a thing"])).await
}

/// The result of a request to a service with this reply.
async fn replied(reply: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Result<Answer, Error> {
    let stand_in = StandIn::new(reply).await;
    get(&service(&stand_in.address(), Trust::Machine)).await
}

fn raw(text: &str) -> Reply {
    Reply::Raw(text.as_bytes().to_vec())
}

#[tokio::test]
async fn a_service_gets_its_key_and_what_it_is_asked() {
    let stand_in = StandIn::new(|asked| Reply::Status(201, asked.target.clone())).await;
    let service = service(&format!("{}/v1/", stand_in.address()), Trust::Machine);
    let answer = service.send(service.json_request(Method::POST, &["a b", "c/d", "ü"], "{}")).await.unwrap();
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (201, &b"/v1/a%20b/c%2Fd/%C3%BC"[..]));
    let asked = &stand_in.asked()[0];
    assert_eq!((asked.method.as_str(), asked.header("authorization")), ("POST", "Bearer a-key"));
    assert_eq!((asked.header("content-type"), &asked.body[..]), ("application/json", &b"{}"[..]));
    assert_eq!((asked.header("accept-encoding"), asked.header("referer")), ("", ""));
}

#[tokio::test]
async fn a_request_goes_nowhere_but_to_its_service() {
    let (stand_in, other) = (StandIn::new(|_| Reply::json(&"{}".into())).await, StandIn::new(|_| raw("")).await);
    let service = service(&stand_in.address(), Trust::Machine);
    let port = stand_in.address().rsplit(':').next().unwrap().to_owned();
    for address in [
        other.address(),
        format!("https://127.0.0.1:{port}"),
        format!("http://localhost:{port}"),
        format!("http://user:word@127.0.0.1:{port}"),
        "file:///etc/passwd".to_owned(),
        "data:text/plain,x".to_owned(),
    ] {
        let mut request = service.request(Method::GET, &[]);
        request.url = address.parse().unwrap();
        assert!(matches!(service.send(request).await, Err(Error::Refused(_))), "{address}");
    }
    assert!(stand_in.asked().is_empty() && other.asked().is_empty());
    // Other spellings of the same address.
    let mut request = service.request(Method::GET, &[]);
    request.url = format!("http://2130706433:{port}/../..").parse().unwrap();
    assert_eq!(service.send(request).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_redirect_is_an_answer_that_is_not_followed() {
    let other = StandIn::new(|_| raw("")).await;
    let to = other.address();
    for status in [301, 302, 303, 307, 308] {
        let to = to.clone();
        let head = format!("HTTP/1.1 {status} Go\r\nlocation: {to}/x\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(replied(move |_| raw(&head)).await.unwrap().status, status);
    }
    assert!(other.asked().is_empty());
}

#[tokio::test]
async fn answers_of_any_status_are_answers() {
    for status in [204, 400, 401, 429, 500, 503] {
        let answer = replied(move |_| Reply::Status(status, String::new())).await.unwrap();
        assert_eq!(answer.status, status);
    }
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_read() {
    let body = |bytes: usize| "x".repeat(bytes);
    assert_eq!(replied(move |_| Reply::Status(200, body(MAX_BYTES))).await.unwrap().body.len(), MAX_BYTES);
    let too_large = Some(Error::TooLarge(MAX_BYTES));
    assert_eq!(replied(move |_| Reply::Status(200, body(MAX_BYTES + 1))).await.err(), too_large);
    for head in [
        "HTTP/1.1 200 So\r\n\r\n",
        "HTTP/1.1 200 So\r\ncontent-length: 99999999999999\r\n\r\n",
        "HTTP/1.1 200 So\r\ncontent-length: 18446744073709551615\r\n\r\n",
    ] {
        let error = replied(move |_| Reply::Endless(head.to_owned())).await.err();
        assert!(error == too_large || error == Some(Error::Broken), "{head}: {error:?}");
    }
}

#[tokio::test]
async fn what_is_no_answer_is_broken() {
    let many = format!("HTTP/1.1 200 So\r\n{}\r\n", "a: b\r\n".repeat(1000));
    for bytes in [
        "",
        "HTTP/1.1 200",
        "SSH-2.0-OpenSSH_9.6\r\n",
        "HTTP/1.1 200 So\r\ncontent-length: 10\r\n\r\nshort",
        "HTTP/1.1 200 So\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffffff\r\n",
        "HTTP/1.1 200 So\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc",
        "HTTP/1.1 200 So\r\ncontent-encoding: br\r\n\r\n",
        many.as_str(),
    ] {
        let reply = Reply::Raw(bytes.as_bytes().to_vec());
        let error = replied(move |_| reply.clone()).await.unwrap_err();
        assert_eq!(error, Error::Broken, "{bytes:.60}");
        assert!(error.may_have_happened());
    }
    // A head without an end.
    assert_eq!(replied(|_| Reply::Endless("HTTP/1.1 200 So\r\na: ".to_owned())).await.err(), Some(Error::Broken));
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_not_waited_for() {
    let stand_in = StandIn::new(|_| Reply::Silence(PATIENCE * 10)).await;
    let service = service(&stand_in.address(), Trust::Machine);
    let mut request = service.request(Method::GET, &[]);
    request.max_time = Some(Duration::from_millis(50));
    assert_eq!(service.send(request).await.err(), Some(Error::TimedOut));
    // Nor one that a proxy holds back.
    let behind = StandIn::new(|_| Reply::Status(200, String::new())).await;
    let proxy = FaultProxy::new(&behind.address()).await;
    proxy.always(Op::Get, "", Broken::Slow(PATIENCE * 10));
    let slow = Service::new(&proxy.endpoint(), None, Trust::Machine, Duration::from_millis(50), 10).unwrap();
    assert_eq!(get(&slow).await.err(), Some(Error::TimedOut));
}

#[tokio::test]
async fn nobody_is_there() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = get(&service(&format!("http://{free}"), Trust::Machine)).await.unwrap_err();
    assert_eq!((error, error.may_have_happened()), (Error::Unreachable, false));
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_is_opened_again() {
    let stand_in = StandIn::new(|_| Reply::Closing(200, "{}".to_owned())).await;
    let service = service(&stand_in.address(), Trust::Machine);
    for _ in 0..20 {
        let request = service.json_request(Method::POST, &[], "{}");
        assert_eq!(service.send(request).await.unwrap().status, 200);
        // The farewell of the other side arrives, or does not yet.
        tokio::task::yield_now().await;
    }
    assert_eq!(stand_in.asked().len(), 20);
}

#[tokio::test]
async fn only_the_pinned_certificate_is_believed() {
    let ok = |_: &Asked| Reply::json(&"{}".into());
    // For another name, and nobody vouches for it.
    let (stand_in, other) = (StandIn::secure("obsidian.example", ok).await, StandIn::secure("127.0.0.1", ok).await);
    let shown = Fingerprint::of(stand_in.certificate());
    let pinned = service(&stand_in.address(), Trust::Pinned(shown));
    assert_eq!(get(&pinned).await.unwrap().status, 200);
    assert_eq!(stand_in.asked()[0].header("authorization"), "Bearer a-key");

    let wrong = service(&other.address(), Trust::Pinned(shown));
    let error = get(&wrong).await.unwrap_err();
    assert_eq!(error, Error::Certificate(Fingerprint::of(other.certificate())));
    assert!(other.asked().is_empty() && !error.may_have_happened());
    for trust in [Trust::Machine, Trust::Roots(Arc::new(RootCertStore::empty()))] {
        assert_eq!(get(&service(&other.address(), trust)).await.err(), Some(Error::Tls));
    }
    assert!(other.asked().is_empty());
}

#[tokio::test]
async fn authorities_may_be_named() {
    let stand_in = StandIn::secure("127.0.0.1", |_| Reply::json(&"{}".into())).await;
    let misnamed = StandIn::secure("localhost", |_| Reply::json(&"{}".into())).await;
    let roots = |stand_in: &StandIn| {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(stand_in.certificate().to_vec())).unwrap();
        Trust::Roots(Arc::new(roots))
    };
    assert_eq!(get(&service(&stand_in.address(), roots(&stand_in))).await.unwrap().status, 200);
    assert_eq!(get(&service(&misnamed.address(), roots(&misnamed))).await.err(), Some(Error::Tls));
}

#[tokio::test]
async fn what_does_not_speak_tls_is_not_believed() {
    let stand_in = StandIn::new(|_| Reply::json(&"{}".into())).await;
    let address = stand_in.address().replace("http:", "https:");
    let error = get(&service(&address, Trust::Pinned(Fingerprint::of(b"")))).await.unwrap_err();
    assert!(!error.may_have_happened(), "{error:?}");
}

#[test]
fn an_address_names_a_service_and_a_key_is_not_sent_for_all_to_read() {
    let new = |address: &str, key: Option<&str>| {
        let key = key.map(|key| Key::new(key).unwrap());
        Service::new(address, key, Trust::Machine, PATIENCE, 1).map(drop)
    };
    for address in ["https://memory.example", "http://memory.example:7077/v1", "http://[::1]:1"] {
        new(address, None).unwrap();
    }
    for address in
        ["", "memory.example", "ftp://a", "https://", "https://a:b@c", "https://a?b", "https://a#b", "http://a b"]
    {
        assert!(new(address, None).is_err(), "{address}");
    }
    let long = format!("https://a/{}", "x".repeat(5000));
    assert!(new(&long, None).is_err());
    for address in
        ["https://a.example", "http://127.0.0.1:7077", "http://localhost", "http://[::1]:8", "http://a.localhost"]
    {
        new(address, Some("key")).unwrap();
    }
    for address in ["http://a.example", "http://192.168.1.5:7077", "http://localhost.example", "http://[fe80::1]"] {
        assert!(new(address, Some("key")).is_err(), "{address}");
    }
}

#[test]
fn a_key_is_never_shown() {
    for text in ["", "with space", "new\nline", "ü", &"x".repeat(5000)] {
        assert!(Key::new(text).is_none(), "{text:.20}");
    }
    let service = service("https://a.example/secret-path", Trust::Machine);
    let mut request = service.request(Method::GET, &["private note"]);
    request.body = "private text".into();
    let shown = format!("{:?} {request:?} {:?} {service:?}", Key::new("a-key"), request.headers);
    assert!(!shown.contains("a-key") && !shown.contains("private"), "{shown}");
}

proptest! {
    #[test]
    fn a_fingerprint_is_read_as_it_is_written(der: Vec<u8>, lower: bool, bare: bool) {
        let fingerprint = Fingerprint::of(&der);
        let mut text = fingerprint.to_string();
        if lower { text = text.to_lowercase(); }
        if bare { text = text.replace(':', ""); }
        prop_assert_eq!(text.parse(), Ok(fingerprint));
        let shorter = &text[..text.len() - 1];
        prop_assert!(shorter.parse::<Fingerprint>().is_err());
    }

    #[test]
    fn what_is_no_fingerprint_is_refused(text in "[0-9a-fA-F:g]{0,100}|\\PC{0,100}") {
        let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
        if let Ok(fingerprint) = text.parse::<Fingerprint>() {
            prop_assert_eq!(fingerprint.to_string().replace(':', ""), digits.to_uppercase());
        }
    }

    #[test]
    fn origins_are_equal_where_urls_agree_in_scheme_host_and_port(
        scheme in "https?", host in "[a-z]{1,3}", port in 1_u16.., path in "[a-z/.]{0,9}",
    ) {
        let url: Url = format!("{scheme}://{host}:{port}/{path}").parse().unwrap();
        let other: Url = format!("{scheme}://{}:{port}", host.to_uppercase()).parse().unwrap();
        prop_assert_eq!(Origin::of(&url), Origin::of(&other));
        prop_assert_eq!(Origin::of(&url).unwrap().is_secure(), scheme == "https");
    }
}
