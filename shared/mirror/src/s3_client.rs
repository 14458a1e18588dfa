//! The HTTP client for S3 stores. It uses HTTP/1.1, as they do: the client of the store's interface adds HTTP/2, which
//! is a large part of a function's size. Addresses are tried in the resolver's order.

use std::error::Error;
use std::io;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt as _;
use hyper::Response;
use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService};
use reqwest::header::{HeaderValue, IF_NONE_MATCH};
use reqwest::{Body, Client, Method, Request, Url};

/// Time limit for connecting: shorter than that of a request, so that a failure to connect is reported as such.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The query parameter of a request that completes an upload in parts.
const UPLOAD: &str = "uploadId";
const USER_AGENT: &str = concat!("atlas-mirror/", env!("CARGO_PKG_VERSION"));

/// A client without time limits except for connecting: [`Store`](crate::Store) limits each request by its size.
#[derive(Debug)]
pub(crate) struct S3Client(Client);

impl S3Client {
    /// A client that sends nothing unencrypted unless it `allows_http`.
    pub(crate) fn new(allows_http: bool) -> Result<Self, reqwest::Error> {
        // No compression, even if other crates enable it: checksums and lengths are of the bytes sent.
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
        // An upload in parts must not overwrite anything, but the store's interface cannot express that. Signatures of
        // version 4 need not cover this header.
        if request.method() == Method::POST && request.url().query_pairs().any(|(name, _)| name == UPLOAD) {
            request.headers_mut().insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
        }
        // A request without a body can be sent again when a kept connection turns out to be closed.
        *request.body_mut() = Some(match body.as_bytes() {
            Some(bytes) => bytes.clone().into(),
            None => Body::wrap(body),
        });
        let answer = self.0.execute(request).await.map_err(failed)?;
        let (head, body) = Response::<Body>::from(answer).into_parts();
        Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body.map_err(failed))))
    }
}

/// The failure of a request in terms of the store's interface: whether it is temporary.
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
    // The caller knows the address, and it may contain secrets.
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
