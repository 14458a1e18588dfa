//! Names and addresses that would lead a request into the network that the program is in.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use atlas_testkit::StandIn;
use atlas_testkit::stand_in::Reply;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;

use super::*;
use crate::{Documents, Trust};

const NAME: &str = "client.example";

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn only_addresses_that_everybody_can_reach_are_public() {
    for public in [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.215.14",
        "172.32.0.1",
        "100.128.0.1",
        "2606:4700::1111",
        "2a00:1450::1",
        "::ffff:8.8.8.8",
    ] {
        assert!(is_public(address(public)), "{public}");
    }
    for hidden in [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "fc00::1",
        "fd12::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "100::1",
    ] {
        assert!(!is_public(address(hidden)), "{hidden}");
    }
}

/// Documents of names that lead to `found`, where loopback counts as public in its plainest spelling.
fn documents(stand_in: &StandIn, found: impl Fn() -> Vec<IpAddr> + Send + Sync + 'static) -> Documents {
    let found = Arc::new(found);
    let resolver: Resolver = Arc::new(move |_| {
        let found = found.clone();
        Box::pin(async move { Ok(found()) })
    });
    let port = stand_in.address().rsplit(':').next().unwrap().parse().unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(stand_in.certificate().to_vec())).unwrap();
    let is_public = |address: IpAddr| is_public(address) || address == IpAddr::from([127, 0, 0, 1]);
    Documents::new(Public { resolver, is_public, port }, Trust::Roots(Arc::new(roots)))
}

fn url(stand_in: &StandIn, host: &str) -> Url {
    let (_, port) = stand_in.address().rsplit_once(':').map(|(host, port)| (host.to_owned(), port.to_owned())).unwrap();
    format!("https://{host}:{port}/client.json").parse().unwrap()
}

#[tokio::test]
async fn a_document_is_fetched_once_and_kept() {
    let stand_in = StandIn::secure(NAME, |_| Reply::json(&"{}".into())).await;
    let documents = documents(&stand_in, || vec![address("127.0.0.1")]);
    for _ in 0..3 {
        documents.get(&url(&stand_in, NAME)).await.unwrap();
    }
    assert_eq!(stand_in.asked().len(), 1);
    assert_eq!(stand_in.asked()[0].header("authorization"), "");
}

#[tokio::test]
async fn no_spelling_of_an_address_leads_inside() {
    let stand_in = StandIn::secure(NAME, |_| Reply::json(&"{}".into())).await;
    let documents = documents(&stand_in, || vec![address("127.0.0.1")]);
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "localhost",
        "127.0.0.1.",
        "user:word@client.example",
    ] {
        let Ok(url) = format!("https://{host}:{}/", url(&stand_in, NAME).port().unwrap()).parse() else { continue };
        assert!(matches!(documents.get(&url).await, Err(Error::Refused(_))), "{host}");
    }
    for address in
        ["http://client.example/", "https://client.example:1/", "ftp://client.example/", "file:///etc/passwd"]
    {
        assert!(matches!(documents.get(&address.parse().unwrap()).await, Err(Error::Refused(_))), "{address}");
    }
    assert!(stand_in.asked().is_empty());
}

#[tokio::test]
async fn a_name_that_leads_inside_is_refused_after_it_was_resolved() {
    let stand_in = StandIn::secure(NAME, |_| Reply::json(&"{}".into())).await;
    for found in [
        &["10.0.0.1"][..],
        &["127.0.0.1", "10.0.0.1"],
        &["::1"],
        &["::ffff:127.0.0.1"],
        &["169.254.169.254"],
        &["127.0.0.1", "fd00::1"],
    ] {
        let documents = documents(&stand_in, move || found.iter().copied().map(address).collect());
        let error = documents.get(&url(&stand_in, NAME)).await.unwrap_err();
        assert!(matches!(error, Error::Refused(_)), "{found:?}: {error}");
    }
    assert!(stand_in.asked().is_empty());
}

#[tokio::test]
async fn a_name_that_leads_elsewhere_the_second_time_is_looked_at_again() {
    let stand_in =
        StandIn::secure(NAME, |asked| Reply::Closing(200, format!("{{\"path\":\"{}\"}}", asked.target))).await;
    let times = AtomicUsize::new(0);
    let documents = documents(&stand_in, move || {
        let is_first = times.fetch_add(1, Ordering::Relaxed) == 0;
        vec![address(if is_first { "127.0.0.1" } else { "10.0.0.1" })]
    });
    documents.get(&url(&stand_in, NAME)).await.unwrap();
    let mut other = url(&stand_in, NAME);
    other.set_path("/other.json");
    assert!(matches!(documents.get(&other).await, Err(Error::Refused(_))));
    assert_eq!(stand_in.asked().len(), 1);
}

#[tokio::test]
async fn redirects_and_what_is_too_large_are_no_documents() {
    let inside = StandIn::new(|_| Reply::json(&"{}".into())).await;
    let to = inside.address();
    let redirect = move |_: &_| {
        Reply::Raw(format!("HTTP/1.1 302 Found\r\nlocation: {to}/x\r\ncontent-length: 0\r\n\r\n").into_bytes())
    };
    let stand_in = StandIn::secure(NAME, redirect).await;
    assert!(documents(&stand_in, || vec![address("127.0.0.1")]).get(&url(&stand_in, NAME)).await.is_err());
    assert!(inside.asked().is_empty());
    let stand_in = StandIn::secure(NAME, |_| Reply::Status(200, "x".repeat(20 << 10))).await;
    let error = documents(&stand_in, || vec![address("127.0.0.1")]).get(&url(&stand_in, NAME)).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge(_)));
}

#[tokio::test]
async fn only_some_documents_are_fetched_a_minute() {
    let stand_in = StandIn::secure(NAME, |_| Reply::json(&"{}".into())).await;
    let documents = documents(&stand_in, || vec![address("127.0.0.1")]);
    let mut fetched = 0;
    for number in 0..40 {
        let mut url = url(&stand_in, NAME);
        url.set_path(&format!("/{number}"));
        fetched += usize::from(documents.get(&url).await.is_ok());
    }
    assert_eq!((fetched, stand_in.asked().len()), (30, 30));
}
