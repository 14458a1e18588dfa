//! `start_session`: begins a piece of work, whose calls leave traces.

use atlas_mirror::Id;
use atlas_ops::arguments::{Given, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{check_known, leave, trace_path};

/// Begins a session.
pub struct StartSession;

/// The subject of the session.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The caller. It has no effect, also if not given: the token names the caller.
    #[serde(default)]
    caller: Given<Text<200>>,
    /// The subject of the work; none if not given. Only its hash is kept.
    #[serde(default)]
    session_metadata: Given<Map<String, Value>>,
}

/// The session.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The session's name: send it as the argument `session` of any call, or in the header `X-Atlas-Session`.
    session_id: String,
    /// The vault.
    vault: String,
    /// When it began.
    #[schemars(with = "String", extend("format" = "date-time"))]
    started_at: Timestamp,
    /// The name of its traces. get_session_traces returns them.
    trace_path: String,
}

impl Operation for StartSession {
    const INFO: Info = Info {
        name: "start_session",
        title: "Start a session",
        description: "Begins a session: a piece of work whose calls leave traces, and whose changes a person can undo as one. Returns its id. Each later call that has the id as its argument session (also a call that only reads) leaves one trace: the tool, when, how long it took and what came of it, and hashes of arguments and result; never the arguments themselves. Example: {}",
        acts: true,
        ..super::INFO
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        check_known(context)?;
        let session_id = format!("ses_{}", Id::random()?);
        let trace = leave(context, Self::INFO.name, &session_id, &arguments, &json!(session_id)).await?;
        let trace_path = trace_path(&session_id);
        let value = Output { session_id, vault: context.vault.id.clone(), started_at: trace.time, trace_path };
        Ok(Answer { value, generation: None })
    }
}
