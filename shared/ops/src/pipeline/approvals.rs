//! Approvals: a call that may destroy a person's text waits until a person has seen what it would change.
//!
//! A [`Request`] contains the caller, the arguments, and each file before and after the call. Whoever may read all that the call reads and changes may decide. The caller makes the same
//! call again: it passes, once, if a person approved a request for this very plan. If one of the files changed
//! meanwhile, the plan differs, and a new request is made.
//!
//! A request for the same call with another plan can pass no more: a new one replaces it.
//!
//! All of it is objects that are made once: `approvals/<id>`, `<id>.decision`, `<id>.used`. Whoever decides first decides; one call alone can use an
//! approval, however many try at the same time. Who takes an approval back uses it up in the same way, so that no call can.

mod request;
mod sight;
mod standing;

use std::collections::BTreeSet;

use atlas_access::Caller;
use atlas_mirror::{Id, Mirror, MirrorError, StateObject};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use self::request::{FileVersion, PlannedFile, Request};
pub(crate) use self::request::{MAX_TEXTS, PendingCall, shortened};
pub(crate) use self::sight::Sight;
pub(crate) use self::standing::{Standing, standing};
use crate::error::{Code, Error, Reason};

/// Their folder in the store.
const FOLDER: &str = "approvals";
const DECISION: &str = ".decision";
const USED: &str = ".used";
/// Most bytes of a request.
const MAX_BYTES: u64 = 8 << 20;
/// Most requests that are listed: of those without a decision, and of the others.
const MAX_LISTED: usize = 200;
/// Requests fetched at once.
const AT_ONCE: usize = 16;
/// Longest reason of a refusal, in bytes.
pub const MAX_REASON: usize = 1000;

/// A person's decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Whether the call may be made.
    pub approved: bool,
    /// The name of the person who decided.
    pub by: String,
    /// The time of the decision.
    pub at: Timestamp,
    /// The reason, for the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether nobody decided: the caller made the call again, which changes something else by now.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) is_replaced: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl Decision {
    /// A decision by the person `by`, at `at`.
    #[must_use]
    pub const fn by(by: String, at: Timestamp, approved: bool, reason: Option<String>) -> Self {
        Self { approved, by, at, reason, is_replaced: false }
    }

    fn replaced(caller: &Caller, at: Timestamp) -> Self {
        Self { is_replaced: true, ..Self::by(caller.name().to_owned(), at, false, None) }
    }
}

/// The state of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It waits for a person.
    Pending,
    /// It waits for the caller to make the call again.
    Approved,
    /// The call may not be made.
    Refused,
    /// The call was made again.
    Used,
    /// It has expired, or was replaced.
    Expired,
}

/// A request, and its state.
#[derive(Debug)]
pub struct Record {
    /// Its name: 32 hexadecimal digits.
    pub id: String,
    /// The request.
    pub request: Request,
    /// The person's decision, if there is one; the refusal, if an approval was taken back.
    pub decision: Option<Decision>,
    is_used: bool,
    is_replaced: bool,
}

impl Record {
    /// The state at `now`.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> Status {
        match &self.decision {
            _ if self.is_used => Status::Used,
            _ if self.is_replaced => Status::Expired,
            Some(decision) if !decision.approved => Status::Refused,
            _ if now >= self.request.expires => Status::Expired,
            Some(_) => Status::Approved,
            None => Status::Pending,
        }
    }
}

/// The end of an approval: a call used it, or a person took it back.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Use {
    pub(crate) by: String,
    /// The person's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refusal: Option<Decision>,
}

impl Use {
    /// By the call that this identifies.
    pub(crate) const fn by_call(by: String) -> Self {
        Self { by, refusal: None }
    }

    fn by_refusal(refusal: Decision) -> Self {
        Self { by: refusal.by.clone(), refusal: Some(refusal) }
    }
}

/// Whether an object was made so lately that a request in it is still valid.
fn is_recent(made: &StateObject, now: Timestamp) -> bool {
    made.written + request::TIME > now
}

/// The ids of the listed requests with a decision.
fn decided(listed: &[StateObject]) -> BTreeSet<&str> {
    listed.iter().filter_map(|made| made.name.strip_suffix(DECISION)).collect()
}

/// Whether this is a request that waits for a person.
fn is_waiting(made: &StateObject, decided: &BTreeSet<&str>, now: Timestamp) -> bool {
    is_id(&made.name) && is_recent(made, now) && !decided.contains(made.name.as_str())
}

/// The request with this id and its state, if it exists.
///
/// # Errors
/// When the store cannot be read.
pub async fn get(mirror: &Mirror, id: &str) -> Result<Option<Record>, Error> {
    let Some(request) = readable(get_request(mirror, id).await)? else { return Ok(None) };
    Ok(Some(record(mirror, id.to_owned(), request, true, true).await?))
}

/// The record of a request, which may have a decision and a use.
async fn record(
    mirror: &Mirror,
    id: String,
    request: Request,
    is_decided: bool,
    is_used: bool,
) -> Result<Record, Error> {
    let decision: Option<Decision> = if is_decided { mirror.get_state(&decision_name(&id)).await? } else { None };
    let is_replaced = decision.as_ref().is_some_and(|decision| decision.is_replaced);
    let decision = decision.filter(|decision| !decision.is_replaced);
    let used = if is_used { mirror.get_state::<Use>(&used_name(&id)).await? } else { None };
    let is_used = used.as_ref().is_some_and(|used| used.refusal.is_none());
    let decision = used.and_then(|used| used.refusal).or(decision);
    Ok(Record { id, request, decision, is_used, is_replaced })
}

/// All requests that wait for a person, and the newest of the others, each the newest first; and whether there are more.
///
/// # Errors
/// When the store cannot be read.
pub async fn list(mirror: &Mirror, now: Timestamp) -> Result<(Vec<Record>, bool), Error> {
    let listed = mirror.list_state(FOLDER, None).await?;
    let (shown, has_more) = shown(&listed, now);
    let decided = decided(&listed);
    let used: BTreeSet<&str> = listed.iter().filter_map(|made| made.name.strip_suffix(USED)).collect();
    let found = shown.into_iter().map(|made| {
        let id = made.name.as_str();
        let (is_decided, is_used) = (decided.contains(id), used.contains(id));
        async move {
            let Some(request) = readable(get_request(mirror, id).await)? else { return Ok(None) };
            record(mirror, id.to_owned(), request, is_decided, is_used).await.map(Some)
        }
    });
    let found: Vec<_> = found.collect();
    let records: Vec<Option<Record>> = stream::iter(found).buffered(AT_ONCE).try_collect().await?;
    Ok((records.into_iter().flatten().collect(), has_more))
}

/// The requests that are listed, each kind the newest first; and whether there are more.
fn shown(listed: &[StateObject], now: Timestamp) -> (Vec<&StateObject>, bool) {
    let decided = decided(listed);
    let mut requests: Vec<&StateObject> = listed.iter().filter(|made| is_id(&made.name)).collect();
    requests.sort_by(|a, b| b.written.cmp(&a.written).then_with(|| a.name.cmp(&b.name)));
    // However many were decided since, one that waits is listed.
    let (waiting, others): (Vec<_>, Vec<_>) = requests.into_iter().partition(|made| is_waiting(made, &decided, now));
    let has_more = waiting.len().max(others.len()) > MAX_LISTED;
    (waiting.into_iter().take(MAX_LISTED).chain(others.into_iter().take(MAX_LISTED)).collect(), has_more)
}

/// The ids of the requests without a decision, from one listing. Some may have expired.
///
/// # Errors
/// When the store cannot be read.
pub async fn undecided(mirror: &Mirror) -> Result<BTreeSet<String>, Error> {
    let listed = mirror.list_state(FOLDER, None).await?;
    let decided = decided(&listed);
    let ids = listed.iter().map(|made| made.name.as_str()).filter(|name| is_id(name) && !decided.contains(name));
    Ok(ids.map(str::to_owned).collect())
}

/// Decides on a request that waits, or takes back an approval that no call has used. To decide the same again changes nothing.
///
/// # Errors
/// When it was refused before, the call was made, or the store cannot keep the decision.
pub async fn decide(mirror: &Mirror, record: &Record, decision: &Decision) -> Result<(), Error> {
    mirror.check_writes_once().await?;
    let stands = |message: String| {
        Err(Error::new(Code::Conflict, Reason::ApprovalDecided, message).with("id", record.id.as_str()))
    };
    let other = mirror.get_or_create_state(&decision_name(&record.id), decision).await?;
    let Some(other) = other else { return Ok(()) };
    let used = match (other.approved, decision.approved) {
        (false, _) if other.is_replaced => {
            let message = format!("{} made this call again, and it waits anew: decide on that", record.request.caller);
            return Err(Error::new(Code::Conflict, Reason::ApprovalLapsed, message).with("id", record.id.as_str()));
        }
        (false, false) => return Ok(()),
        (false, true) => return stands(format!("{} refused this call at {}, and that stands", other.by, other.at)),
        (true, true) => mirror.get_state::<Use>(&used_name(&record.id)).await?,
        (true, false) => mirror.get_or_create_state(&used_name(&record.id), &Use::by_refusal(decision.clone())).await?,
    };
    match used {
        None => Ok(()),
        Some(Use { refusal: Some(refusal), .. }) if decision.approved => {
            stands(format!("{} took this approval back at {}, and that stands", refusal.by, refusal.at))
        }
        Some(Use { refusal: None, .. }) if !decision.approved => stands(format!(
            "{} approved this call at {}, and it was made: `undo_changes` takes it back",
            other.by, other.at
        )),
        Some(_) => Ok(()),
    }
}

/// Whether `caller` made the request: the same client, or where the client is unknown, the same subject.
#[must_use]
pub fn is_of(request: &Request, caller: &Caller) -> bool {
    is_same(&request.caller_id, request.client.as_deref(), caller)
}

/// Whether `caller` has this pseudonym and uses that client.
pub(crate) fn is_same(pseudonym: &str, client: Option<&str>, caller: &Caller) -> bool {
    match (client, caller.client()) {
        (Some(client), Some(other)) => client == other,
        _ => pseudonym == caller.pseudonym() && !caller.is_trusted(),
    }
}

/// The error for an unknown or expired request.
#[must_use]
pub fn missing(id: &str) -> Error {
    let message = "no call waits by this id: `list_approvals` lists those that do";
    Error::not_found(Reason::ApprovalNotFound, message).with("id", id)
}

async fn get_request(mirror: &Mirror, id: &str) -> Result<Option<Request>, MirrorError> {
    if is_id(id) { mirror.get_state_up_to(&name(id), MAX_BYTES).await } else { Ok(None) }
}

/// The value; [`None`] if it is damaged.
fn readable<T>(found: Result<Option<T>, MirrorError>) -> Result<Option<T>, Error> {
    match found {
        Err(MirrorError::Damaged { .. }) => Ok(None),
        found => Ok(found?),
    }
}

fn is_id(text: &str) -> bool {
    text.parse::<Id>().is_ok()
}

fn name(id: &str) -> String {
    format!("{FOLDER}/{id}")
}

fn used_name(id: &str) -> String {
    format!("{}{USED}", name(id))
}

fn decision_name(id: &str) -> String {
    format!("{}{DECISION}", name(id))
}

#[cfg(test)]
mod tests;
