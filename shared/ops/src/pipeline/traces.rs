//! Traces of sessions: a call that names its session leaves an object in the store that says what was called, when, how long it took about and what came
//! of it. Arguments and results are there as hashes only. All of it is in the object's name, so that a listing tells everything; what the object holds
//! is who made the calls and what they call the session.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use atlas_access::Caller;
use atlas_mirror::{Hash, Id, Mirror};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{Error, Reason};

/// Where they are, below `state/`.
const FOLDER: &str = "sessions";
/// Hexadecimal digits of a hash that a name has.
const DIGITS: usize = 32;
/// The tag of operations on sessions. They leave no trace by themselves.
pub const TAG: &str = "sessions";
/// The placeholder for the hash of a missing result.
const NO_RESULT: &str = "0";
/// The outcome of a call without an error.
pub const OK: &str = "ok";
/// Times that calls take at most, in milliseconds: the classes that are told apart.
const CLASSES: [u64; 9] = [3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000];
/// A call waits no longer for its trace.
const PATIENCE: Duration = Duration::from_secs(2);
/// Most traces that a process leaves of one session, and most sessions that it counts.
const MAX_OF_SESSION: u32 = 2_000;
const MAX_SESSIONS: usize = 1_000;

/// One call of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// When it ended, to the millisecond.
    pub time: Timestamp,
    /// Tells it from others of the same millisecond.
    pub id: Id,
    /// The operation's name.
    pub tool: String,
    /// `ok`, or the reason of its error.
    pub outcome: String,
    /// Milliseconds that it took at most; of several classes the one that fits.
    pub milliseconds: u64,
    /// The beginning of the hash of the operation's name and arguments.
    pub args_hash: String,
    /// The beginning of the hash of its result, if it had one.
    pub result_hash: Option<String>,
    /// Bytes of its result as JSON.
    pub result_bytes: u64,
}

/// Whose session it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The caller's name.
    pub caller: String,
    /// The caller's name for the session.
    pub session: String,
}

/// A session of a caller, by where its traces are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    caller: String,
    session: String,
}

impl SessionKey {
    /// That of the session that `caller` calls `session`.
    pub fn of(caller: &Caller, session: &str) -> Self {
        Self { caller: digits(caller.identity().as_bytes()), session: digits(session.as_bytes()) }
    }

    /// Whether it is of a session of this name, whoever's.
    pub fn is_called(&self, session: &str) -> bool {
        self.session == digits(session.as_bytes())
    }

    /// The folder of its traces, below `state/`.
    pub fn folder(&self) -> String {
        format!("{FOLDER}/{}/{}", self.caller, self.session)
    }
}

fn digits(bytes: &[u8]) -> String {
    let mut digits = Hash::of(bytes).to_string();
    digits.truncate(DIGITS);
    digits
}

impl Trace {
    /// That of a call of `tool` which began at `began`, ended `now` and came to `result`.
    ///
    /// # Errors
    /// When there is no randomness.
    pub fn new(
        tool: &str,
        args_hash: &str,
        began: Timestamp,
        now: Timestamp,
        result: Result<&Value, &Error>,
    ) -> Result<Self, Error> {
        let took = now.duration_since(began).as_millis().max(0).unsigned_abs();
        let class = CLASSES.iter().copied().find(|class| took <= u128::from(*class));
        let json = result.ok().map(Value::to_string);
        Ok(Self {
            time: Timestamp::from_millisecond(now.as_millisecond().max(0)).unwrap_or(now),
            id: Id::random()?,
            tool: tool.to_owned(),
            outcome: result.map_or_else(|error| error.reason().to_owned(), |_| OK.to_owned()),
            milliseconds: class.unwrap_or(60_000),
            args_hash: args_hash.chars().take(DIGITS).collect(),
            result_hash: json.as_ref().map(|json| digits(json.as_bytes())),
            result_bytes: json.map_or(0, |json| json.len() as u64),
        })
    }

    /// When it was left; of no other trace.
    pub const fn moment(&self) -> (Timestamp, Id) {
        (self.time, self.id)
    }

    /// The name of its object in the folder of its session. Names are in the order of times.
    fn name(&self) -> String {
        let Self { time, id, tool, outcome, milliseconds, args_hash, result_hash, result_bytes } = self;
        let result = result_hash.as_deref().unwrap_or(NO_RESULT);
        let time = time.as_millisecond();
        format!("{time:014}-{id}.{tool}.{outcome}.{milliseconds}.{args_hash}.{result}.{result_bytes}")
    }

    /// The trace of this name, if it is one.
    fn parse(name: &str) -> Option<Self> {
        let (moment, rest) = name.split_once('.')?;
        let (time, id) = moment.split_once('-')?;
        let mut parts = rest.split('.');
        let trace = Self {
            time: Timestamp::from_millisecond(time.parse().ok()?).ok()?,
            id: id.parse().ok()?,
            tool: parts.next()?.to_owned(),
            outcome: parts.next()?.to_owned(),
            milliseconds: parts.next()?.parse().ok()?,
            args_hash: parts.next()?.to_owned(),
            result_hash: parts.next().map(|result| Some(result.to_owned()).filter(|result| result != NO_RESULT))?,
            result_bytes: parts.next()?.parse().ok()?,
        };
        // One name a trace.
        (parts.next().is_none() && trace.name() == name).then_some(trace)
    }
}

/// How many traces this process left of each session.
#[derive(Debug, Default)]
pub struct Tally(Mutex<HashMap<SessionKey, u32>>);

impl Tally {
    /// Counts one more, unless there are enough.
    fn admits(&self, key: &SessionKey) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MAX_SESSIONS && !counts.contains_key(key) {
            counts.clear();
        }
        let count = counts.entry(key.clone()).or_default();
        *count = count.saturating_add(1);
        *count <= MAX_OF_SESSION
    }
}

/// Leaves `trace` of the session. This is one request to the store.
///
/// # Errors
/// When the store does not keep it, or there are too many of the session.
pub async fn leave(mirror: &Mirror, tally: &Tally, caller: &Caller, session: &str, trace: &Trace) -> Result<(), Error> {
    let key = SessionKey::of(caller, session);
    if !tally.admits(&key) {
        let message = format!("this session has {MAX_OF_SESSION} traces: begin another with start_session");
        return Err(Error::bad_request(Reason::InvalidInput, message).with("field", "session"));
    }
    let owner = Owner { caller: caller.name().to_owned(), session: session.to_owned() };
    let name = format!("{}/{}", key.folder(), trace.name());
    mirror.create_state_if_absent(&name, &json!(owner)).await?;
    Ok(())
}

/// The same for a call that must not fail by it.
pub(crate) async fn try_leave(
    mirror: &Mirror,
    tally: &Tally,
    caller: &Caller,
    session: &str,
    trace: Result<Trace, Error>,
) {
    let left = async { leave(mirror, tally, caller, session, &trace?).await };
    match tokio::time::timeout(PATIENCE, left).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(%error, internal = error.internal.as_deref(), "a call left no trace in its session")
        }
        Err(_) => tracing::warn!("a call left no trace in its session: the store does not answer in time"),
    }
}

/// Whose traces are looked at.
#[derive(Clone, Debug)]
pub enum Whose<'a> {
    /// Those of one session.
    Of(&'a SessionKey),
    /// Those of all sessions of a caller.
    By(&'a Caller),
    /// All of the vault.
    All,
}

/// At most `most` traces, by session, in the order of their times within each; and whether there are more.
///
/// # Errors
/// When the store does not answer.
pub async fn list(mirror: &Mirror, whose: Whose<'_>, most: usize) -> Result<(Vec<(SessionKey, Trace)>, bool), Error> {
    let folder = match &whose {
        Whose::Of(key) => key.folder(),
        Whose::By(caller) => format!("{FOLDER}/{}", digits(caller.identity().as_bytes())),
        Whose::All => FOLDER.to_owned(),
    };
    let (listed, has_more) = mirror.list_state_up_to(&folder, most).await?;
    let traces = listed.into_iter().filter_map(|object| {
        let path = format!("{folder}/{}", object.name);
        let mut parts = path.strip_prefix(FOLDER)?.strip_prefix('/')?.splitn(3, '/');
        let key = SessionKey { caller: parts.next()?.to_owned(), session: parts.next()?.to_owned() };
        Some((key, Trace::parse(parts.next()?)?))
    });
    let mut traces: Vec<(SessionKey, Trace)> = traces.collect();
    traces.sort_by(|one, other| one.0.cmp(&other.0).then_with(|| one.1.moment().cmp(&other.1.moment())));
    Ok((traces, has_more))
}

/// Whose session a trace is of.
///
/// # Errors
/// When the store does not answer.
pub async fn owner(mirror: &Mirror, key: &SessionKey, trace: &Trace) -> Result<Owner, Error> {
    let found = mirror.get_state(&format!("{}/{}", key.folder(), trace.name())).await?;
    // One that was collected meanwhile says nothing.
    Ok(found.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use atlas_access::Scopes;
    use proptest::prelude::*;

    fn caller(name: &str) -> Caller {
        Caller::of_scopes(name, Scopes::default())
    }

    prop_compose! {
        fn trace()(
            time in 0..4_000_000_000_000_i64, took in 0..100_000_i64, tool in "[a-z_]{1,40}", args in "[0-9a-f]{64}", good in any::<bool>(),
        ) -> Trace {
            let now = Timestamp::from_millisecond(time).unwrap();
            let began = Timestamp::from_millisecond(time - took).unwrap();
            let error = Error::not_found(Reason::NoteNotFound, "a text that is not kept");
            let value = json!({ "text": "that is not kept either" });
            Trace::new(&tool, &args, began, now, if good { Ok(&value) } else { Err(&error) }).unwrap()
        }
    }

    proptest! {
        #[test]
        fn a_trace_is_read_as_it_was_left(trace in trace()) {
            let name = trace.name();
            prop_assert!(name.len() < 250 && !name.contains("kept"), "{}", name);
            prop_assert_eq!(Trace::parse(&name), Some(trace));
        }

        #[test]
        fn names_are_in_the_order_of_times(one in trace(), other in trace()) {
            let by_name = one.name().cmp(&other.name());
            prop_assert!(one.time == other.time || by_name == one.time.cmp(&other.time));
        }

        #[test]
        fn what_is_no_trace_is_passed_over(name in "\\PC{0,60}|[0-9a-z_.-]{0,120}") {
            if let Some(trace) = Trace::parse(&name) {
                prop_assert_eq!(trace.name(), name);
            }
        }
    }

    #[test]
    fn a_duration_is_told_as_its_class() {
        let at = |milliseconds| Timestamp::from_millisecond(milliseconds).unwrap();
        for (took, told) in [(0, 3), (3, 3), (4, 10), (1_001, 3_000), (30_000, 30_000), (31_000, 60_000), (-5, 3)] {
            let trace = Trace::new("find", "", at(100_000), at(100_000 + took), Ok(&Value::Null)).unwrap();
            assert_eq!(trace.milliseconds, told, "{took}");
        }
    }

    #[test]
    fn sessions_of_one_name_are_apart_by_caller() {
        let (one, other) = (SessionKey::of(&caller("a"), "work"), SessionKey::of(&caller("b"), "work"));
        assert!(one != other && one.is_called("work") && other.is_called("work") && !one.is_called("rest"));
        assert!(!one.folder().contains("work"), "a name may hold anything");
    }

    #[test]
    fn a_process_leaves_so_many_of_a_session() {
        let (tally, key) = (Tally::default(), SessionKey::of(&caller("a"), "work"));
        assert!((0..MAX_OF_SESSION).all(|_| tally.admits(&key)) && !tally.admits(&key));
        assert!(tally.admits(&SessionKey::of(&caller("a"), "more")));
        for session in 0..2 * MAX_SESSIONS {
            tally.admits(&SessionKey::of(&caller("a"), &session.to_string()));
        }
        assert!(tally.0.lock().unwrap().len() <= MAX_SESSIONS);
    }
}
