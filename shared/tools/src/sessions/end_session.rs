//! `end_session`: ends a piece of work.

use atlas_ops::arguments::{Given, Text, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation};
use atlas_ops::pipeline::traces::{self, SessionKey, Whose};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{MOST, check_known, leave, missing, trace_path};

/// Ends a session.
pub struct EndSession;

/// Which session.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its id: what your calls named it by.
    session_id: Text<200>,
    /// The result of the work; none if not given. Only its hash is kept.
    #[serde(default)]
    end_metadata: Given<Map<String, Value>>,
}

/// The ended session.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its id.
    session_id: String,
    /// When it ended.
    #[schemars(with = "String", extend("format" = "date-time"))]
    ended_at: Timestamp,
    /// The name of its traces. get_session_traces returns them.
    trace_path: String,
    /// How many traces it has, with those of its beginning and its end.
    event_count: usize,
    /// How long it took, in milliseconds.
    duration_ms: i64,
}

impl Operation for EndSession {
    const INFO: Info = Info {
        name: "end_session",
        title: "End a session",
        description: "Ends a session of yours, and tells how many calls it had and how long it took. Its traces stay as long as the vault's history: get_session_traces returns them. Example: {\"session_id\": \"ses_0123456789abcdef0123456789abcdef\"}",
        acts: true,
        ..super::INFO
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        check_known(context)?;
        let session = arguments.session_id.as_str();
        let key = SessionKey::of(context.caller, session);
        let (traces, _) = traces::list(&context.vault.mirror, Whose::Of(&key), MOST).await?;
        let (_, first) = traces.first().ok_or_else(|| missing(session))?;
        if traces.iter().any(|(_, trace)| trace.tool == Self::INFO.name) {
            return Err(invalid_input("session_id", "the session has ended already").with("session_id", session));
        }
        let trace = leave(context, Self::INFO.name, session, &arguments, &json!(session)).await?;
        let value = Output {
            session_id: session.to_owned(),
            ended_at: trace.time,
            trace_path: trace_path(session),
            event_count: traces.len() + 1,
            duration_ms: (trace.time.as_millisecond() - first.time.as_millisecond()).max(0),
        };
        Ok(Answer { value, generation: None })
    }
}
