//! Sessions: pieces of work that calls name, and what was called in each. See [`atlas_ops::pipeline::traces`] for what is kept.

pub mod end_session;
pub mod get_session_traces;
pub mod start_session;

use atlas_ops::arguments::invalid_input;
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Context, Info, Scope};
use atlas_ops::pipeline::idempotency::arguments_hash;
use atlas_ops::pipeline::traces::{self, TAG, Trace};
use serde::Serialize;
use serde_json::{Value, json};

/// Shared by all its tools.
const INFO: Info = Info { scopes: &[Scope::ReadVault], tags: &[TAG], ..Info::HARMLESS };
/// Most traces that one call looks at.
const MOST: usize = 20_000;

/// Fails for a caller who is not known: everybody would have the same sessions.
fn check_known(context: &Context<'_>) -> Result<(), Error> {
    if context.caller.is_authenticated() {
        return Ok(());
    }
    Err(Error::unauthorized(Reason::TokenMissing, "a session needs a token"))
}

/// The error for a session that the caller has not.
fn missing(session: &str) -> Error {
    invalid_input("session_id", "you have no such session here: take the id that start_session gave")
        .with("session_id", session)
}

/// Leaves a trace of the call itself, of which `result` comes.
async fn leave(
    context: &Context<'_>,
    tool: &'static str,
    session: &str,
    arguments: &impl Serialize,
    result: &Value,
) -> Result<Trace, Error> {
    let args_hash = arguments_hash(tool, &json!(arguments));
    let trace = Trace::new(tool, &args_hash, context.now, (context.clock)(), Ok(result))?;
    traces::leave(&context.vault.mirror, &context.atlas.tally, context.caller, session, &trace).await?;
    Ok(trace)
}

/// The name of a session's traces. It is not their key: callers learn no keys of the store.
fn trace_path(session: &str) -> String {
    format!("sessions/{session}")
}
