//! `atlas approve`

use std::time::Duration;

use atlas_access::Acl;
use atlas_ops::Vault;
use atlas_ops::pipeline::aliases;
use atlas_ops::pipeline::confirmation::{Approval, LONGEST_TIME, approve};
use atlas_ops::pipeline::idempotency::arguments_hash;
use atlas_tools::operations;
use clap::{ArgGroup, Args};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::commands::Outcome;
use crate::commands::approvals::APPROVED;
use crate::local::Local;
use crate::output::{self, Ended};
use crate::vault::author;
use crate::vault_location::LocationArguments;
use crate::waiting::{self, Wanted};

/// Arguments of `atlas approve`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("call").required(true).args(["id", "of_session", "args_hash", "arguments"]))]
pub(crate) struct Arguments {
    /// The id of a call that waits, or its beginning, as `atlas approvals` shows it
    #[arg(conflicts_with_all = ["operation", "ttl"])]
    id: Option<String>,
    /// All calls of this session that wait now; each passes once, if the notes are still as `atlas approvals` shows them
    #[arg(long = "session", value_name = "NAME", conflicts_with_all = ["operation", "ttl"])]
    of_session: Option<String>,
    #[command(flatten)]
    location: LocationArguments,
    /// The operation to give a token for, as in the refusal
    #[arg(long, value_name = "NAME", required_unless_present_any = ["id", "of_session"])]
    operation: Option<String>,
    /// The hash of its arguments (args_hash), as in the refusal
    #[arg(long, value_name = "HASH", value_parser = hash)]
    args_hash: Option<String>,
    /// Its arguments instead, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    arguments: Option<Value>,
    /// Seconds until the token expires
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=LONGEST_TIME.as_secs()))]
    ttl: u64,
    /// Print what was approved, or the token, as JSON
    #[arg(long)]
    json: bool,
}

/// Runs `atlas approve`.
pub(crate) async fn run(arguments: Arguments) -> Outcome {
    output::start_log();
    if let Some(id) = &arguments.id {
        return approve_waiting(&arguments, id).await;
    }
    if let Some(session) = &arguments.of_session {
        return approve_session(&arguments, session).await;
    }
    let operation = arguments.operation.as_deref().unwrap_or_default();
    let Some(entry) = operations().iter().find(|entry| entry.info.name == operation) else {
        let names: Vec<&str> = operations().iter().map(|entry| entry.info.name).collect();
        return Err(format!("there is no operation {operation}: name one of {}", names.join(", ")).into());
    };
    let hash = match (arguments.args_hash, arguments.arguments) {
        (Some(hash), _) => hash,
        (None, call) => {
            let mut call = call.unwrap_or_default();
            if let Value::Object(given) = &mut call {
                aliases::resolve(given, entry.info.aliases).map_err(|error| error.message)?;
            }
            arguments_hash(operation, &call)
        }
    };
    let location = arguments.location.find(None, None)?;
    let vault = Vault::new(location.vault.value.to_string(), location.published().await?, Acl::default());
    let by = author();
    let time = Duration::from_secs(arguments.ttl);
    let approval = Approval { vault: &vault.id, operation, args_hash: &hash, by: &by, caller: None, time };
    let approved = approve(&vault.mirror, &approval, Timestamp::now()).await;
    let approved = approved.map_err(|error| error.internal.clone().unwrap_or(error.message))?;
    if arguments.json {
        return output::json(&json!({ "args_hash": hash, "expires_at": approved.expires, "token": approved.token }));
    }
    output::line(format_args!("{}", approved.token));
    output::note(format_args!(
        "good once, for {} s, with this header: X-Atlas-Confirmation: {}",
        arguments.ttl, approved.token
    ));
    Ok(())
}

async fn approve_waiting(arguments: &Arguments, id: &str) -> Outcome {
    let local = Local::open(&arguments.location.find(None, None)?).await?;
    let id = waiting::whole_id(&local, id, &["pending"]).await?;
    let approved = waiting::approve(&local, &id).await?;
    if arguments.json {
        return output::json(&approved);
    }
    output::line(APPROVED);
    Ok(())
}

/// Approves the calls of a session that wait, as they are now: what the session asks for later waits anew.
async fn approve_session(arguments: &Arguments, session: &str) -> Outcome {
    let local = Local::open(&arguments.location.find(None, None)?).await?;
    let found = waiting::calls(&local, Wanted { status: "pending", session: Some(session), diffs: false }).await?;
    let calls = waiting::list(&found, "approvals");
    let mut approved = Vec::new();
    for call in calls.iter().filter(|call| call["lapsed"] != true) {
        let id = call["id"].as_str().unwrap_or_default();
        if !arguments.json {
            waiting::print(call, waiting::short(id, calls));
        }
        match waiting::approve(&local, id).await {
            Ok(_) if !arguments.json => output::line(APPROVED),
            Ok(_) => {}
            Err(error) => {
                output::error(&*error);
                continue;
            }
        }
        approved.push(id);
    }
    if arguments.json {
        output::json(&json!({ "approved": approved }))?;
    }
    match calls.len() - approved.len() {
        0 if calls.is_empty() => {
            Err(format!("no call of the session {session} waits: `atlas approvals` lists those that do").into())
        }
        left => Ended::waiting(left > 0),
    }
}

fn hash(text: &str) -> Result<String, String> {
    let is_hash = text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_hash { Ok(text.to_owned()) } else { Err("write the 32 hexadecimal digits of args_hash".to_owned()) }
}

fn object(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("write a JSON object".to_owned()),
        Err(error) => Err(format!("write a JSON object: {error}")),
    }
}
