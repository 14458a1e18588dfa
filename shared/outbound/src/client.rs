//! Sends a request within a policy.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use reqwest::{Method, StatusCode, Url, redirect};

use crate::error::{Error, failed};
use crate::origin::Origin;
use crate::public::Public;
use crate::trust::Trust;

/// Time to connect, where the policy gives more for the whole.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// How long a connection is kept that nobody uses: less than services keep theirs.
const IDLE_TIME: Duration = Duration::from_secs(20);
/// Most headers of an answer.
const MAX_HEADERS: usize = 100;
const USER_AGENT: &str = concat!("atlas-mirror/", env!("CARGO_PKG_VERSION"));

/// Where requests may go, and how much their answers may take.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Where requests may go.
    pub reach: Reach,
    /// Which certificates are believed.
    pub trust: Trust,
    /// Most time from the request to the end of the answer.
    pub max_time: Duration,
    /// Most bytes of an answer's body.
    pub max_bytes: usize,
}

/// Where requests may go.
#[derive(Clone, Debug)]
pub enum Reach {
    /// To these origins, which a configuration names.
    Origins(Vec<Origin>),
    /// To public addresses, which strangers name.
    Public(Public),
}

impl Policy {
    /// Refuses an address that requests may not go to, or that holds credentials.
    fn check(&self, url: &Url) -> Result<(), Error> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Error::Refused("an address must not hold credentials"));
        }
        let origin = Origin::of(url).ok_or(Error::Refused("only HTTP is spoken"))?;
        match &self.reach {
            Reach::Public(public) => public.check(url),
            Reach::Origins(origins) if origins.contains(&origin) => Ok(()),
            Reach::Origins(_) => Err(Error::Refused("no configured service is there")),
        }
    }
}

/// A request.
#[derive(Clone)]
pub struct Request {
    /// Its method.
    pub method: Method,
    /// Where it goes.
    pub url: Url,
    /// Its headers, besides those that HTTP itself needs.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// Less time than the policy gives, if it has to be less.
    pub max_time: Option<Duration>,
}

impl fmt::Debug for Request {
    /// Without what may be secret or of a vault.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = Origin::of(&self.url).map(|origin| origin.to_string());
        f.debug_struct("Request").field("method", &self.method).field("origin", &origin).finish_non_exhaustive()
    }
}

/// An answer, whatever its status.
#[derive(Clone)]
pub struct Answer {
    /// Its status; one of a redirect is an answer too.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).field("bytes", &self.body.len()).finish_non_exhaustive()
    }
}

/// Sends requests within a policy, and keeps connections for the next one. It costs nothing until the first.
#[derive(Debug)]
pub struct Client {
    policy: Policy,
    inner: OnceLock<Option<reqwest::Client>>,
}

impl Client {
    /// One that keeps to `policy`.
    #[must_use]
    pub const fn new(policy: Policy) -> Self {
        Self { policy, inner: OnceLock::new() }
    }

    /// Its policy.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The answer to `request`, of any status.
    ///
    /// # Errors
    /// When the policy refuses it, or no whole answer comes.
    pub async fn send(&self, request: Request) -> Result<Answer, Error> {
        self.policy.check(&request.url)?;
        let max_time = request.max_time.map_or(self.policy.max_time, |time| time.min(self.policy.max_time));
        let answer = tokio::time::timeout(max_time, self.ask(request));
        answer.await.unwrap_or(Err(Error::TimedOut))
    }

    async fn ask(&self, request: Request) -> Result<Answer, Error> {
        let max_bytes = self.policy.max_bytes;
        let client = self.inner.get_or_init(|| build(&self.policy)).as_ref().ok_or(Error::Tls)?;
        let mut sent = reqwest::Request::new(request.method, request.url);
        *sent.headers_mut() = request.headers;
        if !request.body.is_empty() {
            // Known as a whole, it can be sent again when a connection that was kept open turns out to be closed.
            *sent.body_mut() = Some(request.body.into());
        }
        let mut answer = client.execute(sent).await.map_err(|error| failed(&error))?;
        // Nothing compressed was asked for, and little of it can be a lot.
        if answer.headers().get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
            return Err(Error::Broken);
        }
        if answer
            .content_length()
            .is_some_and(|length| usize::try_from(length).map_or(true, |length| length > max_bytes))
        {
            return Err(Error::TooLarge(max_bytes));
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| failed(&error))? {
            if chunk.len() > max_bytes - body.len() {
                return Err(Error::TooLarge(max_bytes));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer { status: answer.status(), headers: std::mem::take(answer.headers_mut()), body: body.into() })
    }
}

fn build(policy: &Policy) -> Option<reqwest::Client> {
    // Whatever else in the program asks of the library.
    let client = reqwest::Client::builder().http1_only().no_gzip().no_brotli().no_zstd().no_deflate();
    let client = client.no_proxy().referer(false).redirect(redirect::Policy::none()).user_agent(USER_AGENT);
    let client = client.http1_max_headers(MAX_HEADERS).pool_idle_timeout(IDLE_TIME);
    let client = client.connect_timeout(CONNECT_TIME.min(policy.max_time));
    let client = match &policy.reach {
        // A kept connection would be to what the name led to before.
        Reach::Public(public) => {
            client.https_only(true).pool_max_idle_per_host(0).dns_resolver(Arc::new(public.clone()))
        }
        Reach::Origins(_) => client,
    };
    let client = match policy.trust.config().ok()? {
        Some(config) => client.tls_backend_preconfigured(config),
        None => client,
    };
    client.build().ok()
}
