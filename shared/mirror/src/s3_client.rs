//! The HTTP client that S3 stores are asked with. They speak HTTP/1.1, and so does it: the client that comes with the store's interface
//! brings HTTP/2 too, which is a large part of a function. Addresses are taken in the order that the resolver gives them in.

use std::error::Error;
use std::io;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt as _;
use hyper::Response;
use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService};
use reqwest::header::{HeaderValue, IF_NONE_MATCH};
use reqwest::{Body, Client, Method, Request, Url};

/// Time to connect: less than one request has, so that it is known that connecting is what failed.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The parameter of a request that ends an upload in parts.
const UPLOAD: &str = "uploadId";
const USER_AGENT: &str = concat!("atlas-mirror/", env!("CARGO_PKG_VERSION"));

/// A client that has no time limit of its own but for connecting: [`Store`](crate::Store) gives each request the time that its bytes need.
#[derive(Debug)]
pub(crate) struct S3Client(Client);

impl S3Client {
    /// One that sends nothing unencrypted unless it `allows_http`.
    pub(crate) fn new(allows_http: bool) -> Result<Self, reqwest::Error> {
        // Whatever else in the program asks of the library: checksums and lengths are of what is sent.
        let client = Client::builder().http1_only().no_gzip().no_brotli().no_zstd().no_deflate();
        let client = client.user_agent(USER_AGENT).connect_timeout(CONNECT_TIMEOUT);
        Ok(Self(client.https_only(!allows_http).build()?))
    }
}

#[async_trait]
impl HttpService for S3Client {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (head, body) = request.into_parts();
        let url = Url::parse(&head.uri.to_string()).map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        let mut request = Request::new(head.method, url);
        *request.headers_mut() = head.headers;
        // What is uploaded in parts is new, and written over nothing: the store's interface has no way to say so. Signatures of version 4
        // need not cover this header.
        if request.method() == Method::POST && request.url().query_pairs().any(|(name, _)| name == UPLOAD) {
            request.headers_mut().insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
        }
        // What has no body can be sent again when a connection that was kept open turns out to be closed.
        *request.body_mut() = Some(match body.as_bytes() {
            Some(bytes) => bytes.clone().into(),
            None => Body::wrap(body),
        });
        let answer = self.0.execute(request).await.map_err(failed)?;
        let (head, body) = Response::<Body>::from(answer).into_parts();
        Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body.map_err(failed))))
    }
}

/// Why a request failed, as the store's interface tells it: what may pass from what will not.
fn failed(error: reqwest::Error) -> HttpError {
    let kind = if error.is_timeout() {
        HttpErrorKind::Timeout
    } else if error.is_connect() {
        HttpErrorKind::Connect
    } else if error.is_decode() {
        HttpErrorKind::Decode
    } else {
        let causes = std::iter::successors(error.source(), |error| (*error).source());
        causes.filter_map(kind_of).next().unwrap_or(HttpErrorKind::Unknown)
    };
    // Who asked knows the address, and it may have what is secret in it.
    HttpError::new(kind, error.without_url())
}

fn kind_of(cause: &(dyn Error + 'static)) -> Option<HttpErrorKind> {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, TimedOut, UnexpectedEof};
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        let is_cut = error.is_closed() || error.is_incomplete_message() || error.is_body_write_aborted();
        return match is_cut {
            true => Some(HttpErrorKind::Request),
            false => error.is_timeout().then_some(HttpErrorKind::Timeout),
        };
    }
    match cause.downcast_ref::<io::Error>()?.kind() {
        TimedOut => Some(HttpErrorKind::Timeout),
        ConnectionAborted | ConnectionReset | BrokenPipe | UnexpectedEof => Some(HttpErrorKind::Interrupted),
        _ => None,
    }
}
