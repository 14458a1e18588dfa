//! Tests the client against a server on the loopback address with canned answers.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use object_store::path::Path;

use super::*;
use crate::error::MirrorError;
use crate::failure::Failure;
use crate::location;
use crate::store::Store;

const NOT_THERE: (u16, &str) = (404, "<Error><Code>NoSuchKey</Code></Error>");

/// A server that gives each connection's request the next answer, and repeats the last one.
struct Canned {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Canned {
    fn new(answers: &[(u16, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let answers: Vec<(u16, String)> = answers.iter().map(|(status, body)| (*status, (*body).to_owned())).collect();
        let log = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut log = log.lock().unwrap();
                let (status, body) = &answers[log.len().min(answers.len() - 1)];
                if let Some(line) = answer(&stream.unwrap(), *status, body) {
                    log.push(line);
                }
            }
        });
        Self { address, requests }
    }

    fn store(&self) -> Store {
        open(&[("AWS_ENDPOINT_URL", &format!("http://{}", self.address))]).unwrap()
    }

    fn requests(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

/// Reads one request, answers it, and returns its first line.
fn answer(mut stream: &TcpStream, status: u16, body: &str) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).ok().filter(|bytes| *bytes > 0)?;
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok() && line.trim_end() != "" {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    reader.take(length).read_to_end(&mut Vec::new()).unwrap();
    let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
    let head = format!("{head}x-amz-bucket-region: eu-west-1\r\netag: \"1\"\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
    Some(first)
}

fn open(variables: &[(&str, &str)]) -> Result<Store, MirrorError> {
    let keys = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    let all = keys.iter().chain(variables).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    location::open("s3://notes", &all.collect())
}

fn key() -> Path {
    Path::from("latest")
}

/// The error of a read, which must come in time.
async fn refusal(store: &Store) -> MirrorError {
    let begun = Instant::now();
    let error = store.get(&key(), 1 << 20).await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(!error.to_string().contains('\n'));
    error
}

#[tokio::test]
async fn a_conditional_write_is_sent_once_whatever_comes_back() {
    for status in [500, 503, 429, 409] {
        let server = Canned::new(&[(status, ""), (412, "")]);
        let failure = server.store().create(&key(), &Bytes::from("text")).await.unwrap_err();
        assert_eq!(server.requests(), 1, "{status}: {failure:?}");
        assert_eq!(matches!(failure, Failure::Unclear(_)), status != 409, "{failure:?}");
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again_by_the_store_alone() {
    let server = Canned::new(&[(503, ""), (500, ""), NOT_THERE]);
    assert_eq!(server.store().get(&key(), 100).await, Ok(None));
    assert_eq!(server.requests(), 3);
    let server = Canned::new(&[(503, "<Error><Code>SlowDown</Code></Error>")]);
    let error = refusal(&server.store()).await;
    let reason = format!("s3://notes at http://{}: it answered 503 SlowDown", server.address);
    assert_eq!(error, MirrorError::Unavailable { reason });
    assert_eq!(server.requests(), 3);
}

#[tokio::test]
async fn what_will_not_pass_is_told_at_once() {
    for (status, code, says) in [
        (403, "InvalidAccessKeyId", "check AWS_ACCESS_KEY_ID"),
        (404, "NoSuchBucket", "check the bucket's name"),
        (301, "PermanentRedirect", "set AWS_REGION=eu-west-1"),
        (400, "AuthorizationHeaderMalformed", "set AWS_REGION=eu-west-1"),
    ] {
        let server = Canned::new(&[(status, &format!("<Error><Code>{code}</Code><Message>No.</Message></Error>"))]);
        let error = refusal(&server.store()).await;
        assert!(matches!(error, MirrorError::StoreRefused { action: "read", .. }), "{error:?}");
        let message = error.to_string();
        assert!(message.contains("s3://notes") && message.contains(code) && message.contains(says), "{message}");
        assert_eq!(server.requests(), 1, "{message}");
    }
}

#[tokio::test]
async fn an_endpoint_where_nothing_listens_is_known_in_time() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = refusal(&open(&[("AWS_ENDPOINT_URL", &format!("http://{free}"))]).unwrap()).await;
    let message = error.to_string();
    assert!(matches!(error, MirrorError::Unavailable { .. }), "{error:?}");
    assert!(message.contains("s3://notes") && message.contains("no connection"), "{message}");
}

#[tokio::test]
async fn an_endpoint_that_is_silent_is_known_in_time() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let error = refusal(&open(&[("AWS_ENDPOINT_URL", &url)]).unwrap()).await;
    assert!(error.to_string().contains("no answer within 3000 ms"), "{error}");
}

#[tokio::test]
async fn a_name_that_is_no_host_is_known_in_time() {
    let error = refusal(&open(&[("AWS_ENDPOINT_URL", "https://s3.invalid")]).unwrap()).await;
    assert!(error.to_string().contains("no connection"), "{error}");
}

#[test]
fn what_cannot_be_used_is_refused_with_what_to_write() {
    for (name, value, says) in [
        ("AWS_ENDPOINT_URL", "localhost:9000", "write a URL such as"),
        ("AWS_ENDPOINT_URL", "ftp://host", "write a URL such as"),
        ("AWS_ENDPOINT_URL", "https://host/?x", "write a URL such as"),
        ("AWS_ENDPOINT_URL_S3", "http://minio:9000", "set AWS_ALLOW_HTTP=true"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1.example.com", "set AWS_ALLOW_HTTP=true"),
        ("AWS_SKIP_SIGNATURE", "maybe", "maybe"),
    ] {
        let message = open(&[(name, value)]).unwrap_err().to_string();
        assert!(message.contains(says) && message.contains(value), "{message}");
    }
    let half = [("AWS_ACCESS_KEY_ID".to_owned(), "id".to_owned())].into_iter().collect();
    assert!(location::open("s3://notes", &half).unwrap_err().to_string().contains("set both or neither"));
    for bucket in ["My-Notes", "no", "a b c", &"x".repeat(64)] {
        let message = location::open(&format!("s3://{bucket}"), &Variables::default()).unwrap_err().to_string();
        assert!(message.contains("is not the name of a bucket"), "{message}");
    }
}

#[test]
fn plain_http_is_for_this_machine_unless_it_is_allowed() {
    for url in ["http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1/base", "https://s3.example.com"] {
        open(&[("AWS_ENDPOINT_URL", url)]).unwrap();
    }
    let minio = ("AWS_ENDPOINT_URL", "http://minio:9000");
    open(&[minio, ("AWS_ALLOW_HTTP", "true")]).unwrap();
    assert!(open(&[minio, ("AWS_ALLOW_HTTP", "yes")]).unwrap_err().to_string().contains("write true or false"));
    // The endpoint of S3 goes before the one of all services.
    open(&[minio, ("AWS_ENDPOINT_URL_S3", "https://s3.example.com")]).unwrap();
}

#[tokio::test]
async fn a_bucket_says_how_it_is_reached() {
    let set = |pairs: &[(&str, &str)]| -> Variables {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let keys = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret"), ("AWS_DEFAULT_REGION", "eu-west-1")];
    let bucket = location::bucket("s3://notes/team", &set(&keys)).unwrap().unwrap();
    assert_eq!(
        (bucket.name.as_str(), bucket.region.as_str(), bucket.endpoint.as_deref()),
        ("notes", "eu-west-1", None)
    );
    let credential = bucket.credential().await.unwrap();
    assert_eq!((credential.key_id.as_str(), credential.secret_key.as_str()), ("id", "secret"));
    let reached = set(&[("AWS_ENDPOINT_URL", "http://127.0.0.1:9000/"), ("AWS_REGION", "x")]);
    let bucket = location::bucket("s3://notes", &reached).unwrap().unwrap();
    assert_eq!((bucket.region.as_str(), bucket.endpoint.as_deref()), ("x", Some("http://127.0.0.1:9000")));
    assert!(location::bucket("file:///notes", &reached).unwrap().is_none());
}
