//! Documents, kept for a while, and not more than some fetched a minute: strangers name them, or have them fetched.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode, Url};

use crate::client::{Client, Policy, Reach, Request};
use crate::error::Error;
use crate::public::Public;
use crate::trust::Trust;

/// How long a document is kept, and how many are.
const KEPT: Duration = Duration::from_secs(300);
const MOST: usize = 64;
/// Most documents fetched a minute by one process.
const A_MINUTE: usize = 30;
const MAX_TIME: Duration = Duration::from_secs(5);
const MAX_BYTES: usize = 16 << 10;

/// Fetches documents.
#[derive(Debug)]
pub struct Documents {
    client: Client,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    kept: BTreeMap<String, (Instant, Bytes)>,
    fetched: Vec<Instant>,
}

impl Default for Documents {
    fn default() -> Self {
        Self::new(Public::default(), Trust::Machine)
    }
}

impl Documents {
    /// Those at `public` addresses whose certificates are believed.
    #[must_use]
    pub fn new(public: Public, trust: Trust) -> Self {
        Self::within(Policy { reach: Reach::Public(public), trust, max_time: MAX_TIME, max_bytes: MAX_BYTES })
    }

    /// Those that `policy` lets out.
    #[must_use]
    pub fn within(policy: Policy) -> Self {
        Self { client: Client::new(policy), state: Mutex::default() }
    }

    /// What fetches them, for other requests within the same policy.
    #[must_use]
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// The JSON document at `url`, which may be some minutes old, without redirects.
    ///
    /// # Errors
    /// When the policy does not let the request out, too many were fetched, or no document comes.
    pub async fn get(&self, url: &Url) -> Result<Bytes, Error> {
        self.get_as(url, false).await
    }

    /// The same; if it has to be the newest, as it is now.
    ///
    /// # Errors
    /// As [`Documents::get`].
    pub async fn get_as(&self, url: &Url, is_newest: bool) -> Result<Bytes, Error> {
        if let Some(known) = self.kept(url).filter(|_| !is_newest) {
            return Ok(known);
        }
        self.count()?;
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        let request = Request { method: Method::GET, url: url.clone(), headers, body: Bytes::new(), max_time: None };
        let answer = self.client.send(request).await?;
        if answer.status != StatusCode::OK {
            return Err(Error::Broken);
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.kept.len() >= MOST {
            let oldest = state.kept.iter().min_by_key(|(_, (since, _))| *since).map(|(url, _)| url.clone());
            oldest.map(|url| state.kept.remove(&url));
        }
        state.kept.insert(url.to_string(), (Instant::now(), answer.body.clone()));
        Ok(answer.body)
    }

    fn kept(&self, url: &Url) -> Option<Bytes> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, bytes) = state.kept.get(url.as_str())?;
        (since.elapsed() < KEPT).then(|| bytes.clone())
    }

    /// Counts one more that is fetched.
    fn count(&self) -> Result<(), Error> {
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.fetched.retain(|at| now.duration_since(*at) < Duration::from_secs(60));
        if state.fetched.len() >= A_MINUTE {
            return Err(Error::Refused("too many documents were fetched within a minute"));
        }
        state.fetched.push(now);
        Ok(())
    }
}
