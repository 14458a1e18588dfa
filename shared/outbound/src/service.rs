//! A configured service.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Url};

use crate::client::{Answer, Client, Policy, Reach, Request};
use crate::error::Error;
use crate::key::Key;
use crate::origin::Origin;
use crate::trust::Trust;

/// Longest address, in bytes.
const MAX_ADDRESS: usize = 2048;
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Why an address or a key cannot be used; says what to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is no address of a service.
    #[error("write an address such as https://host:port/path, without credentials, `?` and `#`")]
    NoAddress,
    /// A key would be sent for all to read.
    #[error("a key is sent to other machines over https:// only")]
    NotSecret,
}

/// A service that a deployment is configured to ask. Copies share their connections.
#[derive(Clone, Debug)]
pub struct Service {
    client: Arc<Client>,
    base: Url,
    key: Option<Key>,
}

impl Service {
    /// The service at `address`, which gets the `key` with every request. Of its answers at most `max_bytes` are read, within `max_time`.
    ///
    /// # Errors
    /// When the address is none, or the key could be read on its way.
    pub fn new(
        address: &str,
        key: Option<Key>,
        trust: Trust,
        max_time: Duration,
        max_bytes: usize,
    ) -> Result<Self, AddressError> {
        let parsed =
            Some(address).filter(|address| address.len() <= MAX_ADDRESS).and_then(|address| address.parse().ok());
        let mut base: Url = parsed.ok_or(AddressError::NoAddress)?;
        let origin = Origin::of(&base).ok_or(AddressError::NoAddress)?;
        let has_more = base.query().is_some() || base.fragment().is_some();
        if has_more || !base.username().is_empty() || base.password().is_some() {
            return Err(AddressError::NoAddress);
        }
        if key.is_some() && !origin.is_secure() && !is_this_machine(&base) {
            return Err(AddressError::NotSecret);
        }
        if let Ok(mut segments) = base.path_segments_mut() {
            segments.pop_if_empty();
        }
        let policy = Policy { reach: Reach::Origins(vec![origin]), trust, max_time, max_bytes };
        Ok(Self { client: Arc::new(Client::new(policy)), base, key })
    }

    /// A request below the service's address, with its key. Each of `segments` is percent-encoded; what may be added are a query, headers, a
    /// body and a shorter time.
    #[must_use]
    pub fn request(&self, method: Method, segments: &[&str]) -> Request {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.extend(segments);
        }
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.key {
            headers.insert(AUTHORIZATION, key.header().clone());
        }
        Request { method, url, headers, body: Bytes::new(), max_time: None }
    }

    /// The same with a body of JSON, of which an answer in JSON is asked.
    #[must_use]
    pub fn json_request(&self, method: Method, segments: &[&str], body: impl Into<Bytes>) -> Request {
        let mut request = self.request(method, segments);
        request.body = body.into();
        request.headers.insert(CONTENT_TYPE, JSON);
        request.headers.insert(ACCEPT, JSON);
        request
    }

    /// The answer to `request`, of any status.
    ///
    /// # Errors
    /// When the request is not for this service, or no whole answer comes.
    pub async fn send(&self, request: Request) -> Result<Answer, Error> {
        self.client.send(request).await
    }
}

/// Whether `url` is on this machine, where nobody else reads what is sent.
#[must_use]
pub fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse::<IpAddr>().map_or(host == "localhost" || host.ends_with(".localhost"), |address| address.is_loopback())
}
