//! Requests to an app and its answers, as objects in the bucket, for processes that cannot reach it.
//!
//! `state/app/requests/<milliseconds>-<call>` is what a function leaves, `state/app/taken/<once>` the host's claim, `state/app/answers/<once>`
//! what came of it; each is made once. `<once>` is the call where it has an idempotency key, and else the request's own name, so the host
//! executes a keyed call once however often it was left. A request and an answer are sealed with a secret that the functions and the host
//! have, bound to vault, kind and name: whoever can only write to the bucket can neither forge nor move one. A request is good for
//! [`LIFETIME`], which its seal covers. Nothing is deleted here; `collect` does that, long after the claims have lost their effect.

use std::time::Duration;

use atlas_access::{Caller, Secret, seal};
use atlas_mirror::{Hash, Mirror, MirrorError};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::app::{Failure, Pending, Request};
use crate::error::{Code, Error, Reason};

/// How long a request may be taken.
pub const LIFETIME: Duration = Duration::from_secs(300);
/// How long an answer is given to the same call without a key, which later is a new one.
const FRESH: Duration = Duration::from_secs(60);
/// How far clocks may differ.
pub(super) const SKEW: Duration = Duration::from_secs(30);
/// Most requests that wait or were answered just now.
pub const MAX_REQUESTS: usize = 100;
/// Most bytes of a request.
pub(super) const MAX_REQUEST: u64 = 64 << 10;
/// Most bytes of an answer, with its seal.
pub(super) const MAX_ANSWER: u64 = 4 << 20;
/// When to ask again.
const RETRY_SECONDS: u32 = 5;
/// Where requests are.
pub(super) const REQUESTS: &str = "app/requests";
/// The kinds of what is sealed.
const REQUEST: &str = "request";
const ANSWER: &str = "answer";

/// A request, as it is sealed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Letter {
    /// The operation that asks.
    pub(super) operation: String,
    /// The request.
    pub(super) request: Request,
    /// The caller's name and pseudonym.
    pub(super) caller: String,
    pub(super) caller_id: String,
    /// Whether a person confirmed it.
    pub(super) confirmed: bool,
    /// The id of the one execution.
    pub(super) once: String,
    pub(super) made: Timestamp,
    pub(super) expires: Timestamp,
}

/// An answer, as it is sealed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Reply {
    pub(super) outcome: Result<Value, Failure>,
    pub(super) at: Timestamp,
}

/// A sealed text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sealed {
    text: String,
    seal: String,
}

/// A call that asks.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) operation: &'a str,
    pub(super) request: &'a Request,
    pub(super) caller: &'a Caller,
    /// The id that a repeated call has too.
    pub(super) key: Option<Hash>,
}

/// How a call stands.
pub(super) enum Standing {
    /// It was answered.
    Answered(Result<Value, Failure>),
    /// Its request waits.
    Waits(Pending),
    /// The host took it, and its time is over.
    Lost,
    /// Nobody was asked.
    New,
}

/// The requests of a vault.
#[derive(Clone, Copy)]
pub(super) struct Letters<'a> {
    pub(super) mirror: &'a Mirror,
    pub(super) vault: &'a str,
    pub(super) secret: &'a Secret,
}

impl Letters<'_> {
    /// How `call` stands.
    pub(super) async fn standing(&self, call: &Call<'_>, now: Timestamp) -> Result<Standing, Error> {
        let base = call.base(self.vault);
        if call.key.is_some()
            && let Some(reply) = self.reply(&base).await?
        {
            return Ok(Standing::Answered(reply.outcome));
        }
        let recent = self.recent(now).await?;
        let suffix = format!("-{base}");
        let own = recent.iter().rfind(|name| name.ends_with(&suffix));
        let waits = own.and_then(|name| Some((name, expiry(name)?))).filter(|(_, expires)| now < *expires);
        if call.key.is_none()
            && let Some(name) = own
            && let Some(reply) = self.reply(name).await?
        {
            let is_fresh = now < reply.at.checked_add(FRESH).unwrap_or(Timestamp::MAX);
            return Ok(if is_fresh { Standing::Answered(reply.outcome) } else { self.room(&recent)? });
        }
        if let Some((name, expires)) = waits {
            return Ok(Standing::Waits(pending(name, expires)));
        }
        if call.key.is_some() && self.mirror.get_state::<Value>(&taken(&base)).await?.is_some() {
            return Ok(Standing::Lost);
        }
        self.room(&recent)
    }

    /// Leaves the request of `call`.
    pub(super) async fn leave(&self, call: &Call<'_>, confirmed: bool, now: Timestamp) -> Result<Pending, Error> {
        self.mirror.check_writes_once().await?;
        let base = call.base(self.vault);
        let name = name(now, &base);
        let expires = expiry(&name).unwrap_or(now);
        let letter = Letter {
            operation: call.operation.to_owned(),
            request: call.request.clone(),
            caller: call.caller.name().to_owned(),
            caller_id: call.caller.pseudonym(),
            confirmed,
            once: if call.key.is_some() { base } else { name.clone() },
            made: now,
            expires,
        };
        let sealed = self.sealed(REQUEST, &name, &letter)?;
        if sealed.text.len() as u64 > MAX_REQUEST / 2 {
            let message = "the arguments are larger than a request to the app may be: ask for less";
            return Err(Error::new(Code::TooLarge, Reason::InvalidInput, message));
        }
        self.mirror.create_state_if_absent(&format!("{REQUESTS}/{name}"), &sealed).await?;
        Ok(pending(&name, expires))
    }

    /// The names of the requests that may wait, or were answered just now, the oldest first.
    pub(super) async fn recent(&self, now: Timestamp) -> Result<Vec<String>, MirrorError> {
        let since = now.checked_sub(LIFETIME + FRESH + SKEW).unwrap_or(Timestamp::MIN);
        let mut names: Vec<String> = self
            .mirror
            .list_state(REQUESTS, Some(&format!("{:020}", milliseconds(since))))
            .await?
            .into_iter()
            .map(|made| made.name)
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// The request of this name, if its seal is good.
    pub(super) async fn letter(&self, name: &str) -> Result<Option<Letter>, MirrorError> {
        self.opened(REQUEST, name, &format!("{REQUESTS}/{name}"), MAX_REQUEST).await
    }

    /// Claims what is executed once; whether this call certainly did.
    pub(super) async fn take(&self, letter: &Letter) -> Result<bool, MirrorError> {
        self.mirror.create_state_if_absent(&taken(&letter.once), &json!({})).await
    }

    /// Leaves the answer to what is called `once`.
    pub(super) async fn answer(&self, once: &str, reply: &Reply) -> Result<(), Error> {
        let sealed = self.sealed(ANSWER, once, reply)?;
        let is_large = serde_json::to_vec(&sealed).map_or(true, |bytes| bytes.len() as u64 > MAX_ANSWER);
        let too_large = Reply { outcome: Err(Failure::TooLarge {}), at: reply.at };
        let sealed = if is_large { self.sealed(ANSWER, once, &too_large)? } else { sealed };
        self.mirror.create_state_if_absent(&answers(once), &sealed).await?;
        Ok(())
    }

    async fn reply(&self, once: &str) -> Result<Option<Reply>, MirrorError> {
        self.opened(ANSWER, once, &answers(once), MAX_ANSWER).await
    }

    fn room(&self, recent: &[String]) -> Result<Standing, Error> {
        if recent.len() < MAX_REQUESTS {
            return Ok(Standing::New);
        }
        let message = "too many requests to the app wait: try again in a minute";
        Err(Error::new(Code::TooManyRequests, Reason::Throttled, message).with("retry_after_seconds", 60))
    }

    fn sealed(&self, kind: &str, name: &str, content: &impl Serialize) -> Result<Sealed, Error> {
        let text = serde_json::to_string(content)
            .map_err(|_| Error::new(Code::Internal, Reason::Internal, "the request to the app cannot be written"))?;
        let seal = seal::seal(self.secret, &[kind, self.vault, name], &text);
        Ok(Sealed { text, seal })
    }

    /// The content of an object, if it is there and its seal is good.
    async fn opened<T: DeserializeOwned>(
        &self,
        kind: &str,
        name: &str,
        key: &str,
        most: u64,
    ) -> Result<Option<T>, MirrorError> {
        let sealed: Sealed = match self.mirror.get_state_up_to(key, most).await {
            Ok(Some(sealed)) => sealed,
            Ok(None) => return Ok(None),
            Err(MirrorError::Damaged { .. }) => return Ok(forged(key)),
            Err(error) => return Err(error),
        };
        if !seal::is_sealed(self.secret, &[kind, self.vault, name], &sealed.text, &sealed.seal) {
            return Ok(forged(key));
        }
        Ok(serde_json::from_str(&sealed.text).ok())
    }
}

/// Nothing: what somebody else wrote has no effect.
fn forged<T>(key: &str) -> Option<T> {
    tracing::warn!(
        key,
        "an object was written by somebody who does not have ATLAS_OBSIDIAN_SECRET, and is not looked at"
    );
    None
}

impl Call<'_> {
    /// The id of the call.
    fn base(&self, vault: &str) -> String {
        let Self { operation, request, caller, key } = self;
        let key = key.map(|key| key.to_string());
        let call = json!([vault, operation, caller.identity(), caller.client(), key, request]);
        let hash = Hash::of(call.to_string().as_bytes()).to_string();
        hash.get(..32).unwrap_or_default().to_owned()
    }
}

fn pending(name: &str, expires_at: Timestamp) -> Pending {
    Pending { request_id: name.to_owned(), expires_at, retry_after_seconds: RETRY_SECONDS }
}

fn name(now: Timestamp, base: &str) -> String {
    format!("{:020}-{base}", milliseconds(now))
}

/// Until when the request of this name may be taken.
fn expiry(name: &str) -> Option<Timestamp> {
    let made = name.split_once('-')?.0.parse().ok()?;
    Timestamp::from_millisecond(made).ok()?.checked_add(LIFETIME).ok()
}

fn milliseconds(time: Timestamp) -> u64 {
    u64::try_from(time.as_millisecond()).unwrap_or(0)
}

pub(super) fn taken(once: &str) -> String {
    format!("app/taken/{once}")
}

pub(super) fn done(once: &str) -> String {
    format!("app/done/{once}")
}

fn answers(once: &str) -> String {
    format!("app/answers/{once}")
}
