//! `get_session_traces`: what was called in a session, or in all of them.

use std::collections::{BTreeMap, BTreeSet};

use atlas_access::Scope;
use atlas_mirror::Id;
use atlas_ops::arguments::{Exact, Given, Text, invalid_input};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation};
use atlas_ops::pipeline::response_limit::fitting;
use atlas_ops::pipeline::traces::{self, Owner, SessionKey, Trace, Whose};
use atlas_ops::read::cursor;
use atlas_ops::read::paging::{Limit, Page, clamped};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MOST, check_known, missing};

/// Most tools that a filter names.
const MAX_TOOLS: usize = 100;
/// Sessions whose names are asked for at once.
const PARALLEL: usize = 16;

/// Returns traces of sessions.
pub struct GetSessionTraces;

/// Which traces.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only traces of this session; of all your sessions if not given.
    #[serde(default)]
    session_id: Given<Text<200>>,
    /// Only traces of this time or later: a time or a date (RFC 3339).
    #[serde(default)]
    from: Given<Text<40>>,
    /// Only traces of this time or earlier.
    #[serde(default)]
    to: Given<Text<40>>,
    /// Only traces of these tools.
    #[serde(default)]
    tool_filter: Given<Vec<Exact<100>>>,
    /// Those of all callers, not only yours: for administrators.
    #[serde(default)]
    of_everyone: bool,
    /// Most traces to return; 100 if not given, 1,000 at most.
    #[serde(default)]
    limit: Limit,
    /// The cursor of the page before.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// Traces.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    #[serde(flatten)]
    page: Page<Called>,
    /// Whether there are more than are looked at: name a session.
    truncated: bool,
}

/// One call.
#[derive(Debug, Serialize, JsonSchema)]
struct Called {
    /// The session's name.
    session_id: String,
    /// When it ended.
    #[schemars(with = "String", extend("format" = "date-time"))]
    ts: Timestamp,
    /// The tool.
    tool: String,
    /// The caller.
    caller: String,
    /// Milliseconds that it took at most: 3, 10, 30, 100 and so on.
    duration_ms: u64,
    /// `ok`, or the reason of its error.
    outcome: String,
    /// The beginning of the hash of the tool's name and its arguments: the same for the same call.
    args_hash: String,
    /// The beginning of the hash of its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    result_hash: Option<String>,
    /// Bytes of its result as JSON.
    result_size: u64,
}

/// Where a page begins: after this trace.
#[derive(Serialize, Deserialize)]
struct After {
    time: Timestamp,
    id: Id,
}

impl Operation for GetSessionTraces {
    const INFO: Info = Info {
        name: "get_session_traces",
        title: "Get traces of sessions",
        description: "Returns what was called in a session of yours (session_id), or in all of them (from, to), the oldest first: tool, time, about how long it took and what came of it, with hashes of arguments and result. Arguments themselves are never kept. What it changed in the vault is in note_history and undo_changes. Example: {\"session_id\": \"ses_0123456789abcdef0123456789abcdef\"}",
        ..super::INFO
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        check_known(context)?;
        let everyone = arguments.of_everyone;
        if everyone && !context.caller.missing(&[Scope::Admin]).is_empty() {
            let message = "only an administrator may see what others called: leave of_everyone out";
            return Err(Error::new(Code::Forbidden, Reason::ScopeMissing, message).with("required", vec!["admin"]));
        }
        let wanted = Wanted::of(&arguments)?;
        let session = arguments.session_id.as_ref().map(Text::as_str);
        let own = session.map(|session| SessionKey::of(context.caller, session));
        let whose = match &own {
            _ if everyone => Whose::All,
            Some(key) => Whose::Of(key),
            None => Whose::By(context.caller),
        };
        let mirror = &context.vault.mirror;
        let (mut found, truncated) = traces::list(mirror, whose, MOST).await?;
        if let Some(session) = session {
            found.retain(|(key, _)| key.is_called(session));
            if found.is_empty() {
                return Err(missing(session));
            }
        }
        found.retain(|(_, trace)| wanted.holds(trace));
        found.sort_by_key(|(_, trace)| trace.moment());
        let total_count = found.len();
        if let Some(After { time, id }) =
            arguments.cursor.as_ref().map(|cursor| cursor::decode(cursor.as_str())).transpose()?
        {
            found.retain(|(_, trace)| trace.moment() > (time, id));
        }
        let (limit, overflow) = clamped(arguments.limit);
        let left = found.len();
        found.truncate(limit);
        let owners = Owners::of(context, session.filter(|_| !everyone), &found).await?;
        let mut items: Vec<Called> = found.iter().map(|(key, trace)| Called::of(owners.get(key), trace)).collect();
        items.truncate(fitting(&items, context.limits.max_response_bytes));
        let last = items.len().checked_sub(1).and_then(|last| found.get(last)).filter(|_| items.len() < left);
        let cursor = last.and_then(|(_, trace)| cursor::encode(&After { time: trace.time, id: trace.id }));
        let page = Page { items, cursor, overflow, total_count: Some(total_count) };
        Ok(Answer { value: Output { page, truncated }, generation: None })
    }
}

/// The traces that the arguments ask for.
struct Wanted {
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    tools: Option<BTreeSet<String>>,
}

impl Wanted {
    fn of(arguments: &Arguments) -> Result<Self, Error> {
        let tools = arguments.tool_filter.as_ref();
        if tools.is_some_and(|tools| tools.len() > MAX_TOOLS) {
            return Err(invalid_input("tool_filter", &format!("name at most {MAX_TOOLS} tools")));
        }
        Ok(Self {
            from: time("from", &arguments.from)?,
            to: time("to", &arguments.to)?,
            tools: tools.map(|tools| tools.iter().map(|tool| tool.as_str().to_owned()).collect()),
        })
    }

    fn holds(&self, trace: &Trace) -> bool {
        self.from.is_none_or(|from| trace.time >= from)
            && self.to.is_none_or(|to| trace.time <= to)
            && self.tools.as_ref().is_none_or(|tools| tools.contains(&trace.tool))
    }
}

/// A time, or the beginning of a day in UTC.
fn time(field: &str, text: &Given<Text<40>>) -> Result<Option<Timestamp>, Error> {
    let Some(text) = text.as_ref().map(Text::as_str) else { return Ok(None) };
    let day = || text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok().map(|day| day.timestamp());
    let time = text.parse::<Timestamp>().ok().or_else(day);
    time.map(Some).ok_or_else(|| invalid_input(field, "write a time such as 2026-11-24T09:00:00Z, or a date"))
}

/// Whose the sessions of a page are.
struct Owners {
    /// That of all of them, if it is one session.
    one: Option<Owner>,
    each: BTreeMap<SessionKey, Owner>,
}

impl Owners {
    /// Those of `traces`: known where the caller named their own session, else asked for, once a session.
    async fn of(context: &Context<'_>, session: Option<&str>, traces: &[(SessionKey, Trace)]) -> Result<Self, Error> {
        if let Some(session) = session {
            let one = Owner { caller: context.caller.name().to_owned(), session: session.to_owned() };
            return Ok(Self { one: Some(one), each: BTreeMap::new() });
        }
        let some: BTreeMap<&SessionKey, &Trace> = traces.iter().map(|(key, trace)| (key, trace)).collect();
        let mirror = &context.vault.mirror;
        let asked: Vec<_> = some
            .into_iter()
            .map(|(key, trace)| async move { Ok::<_, Error>((key.clone(), traces::owner(mirror, key, trace).await?)) })
            .collect();
        let each = stream::iter(asked).buffer_unordered(PARALLEL).try_collect().await?;
        Ok(Self { one: None, each })
    }

    fn get(&self, key: &SessionKey) -> Owner {
        self.one.as_ref().or_else(|| self.each.get(key)).cloned().unwrap_or_default()
    }
}

impl Called {
    fn of(Owner { caller, session }: Owner, trace: &Trace) -> Self {
        let Trace { time, tool, outcome, milliseconds, args_hash, result_hash, result_bytes, .. } = trace.clone();
        Self {
            session_id: session,
            ts: time,
            tool,
            caller,
            duration_ms: milliseconds,
            outcome,
            args_hash,
            result_hash,
            result_size: result_bytes,
        }
    }
}
