//! `approve`: an administrator approves another's call that may destroy a person's text.

use atlas_ops::arguments::{Exact, Given, invalid_input};
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::approvals::{self, Decision, Status};
use atlas_ops::pipeline::confirmation::{self, Approval};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::waiting;

/// Approves a call that may destroy a person's text.
pub struct Approve;

/// The call to approve: a waiting one, or a future one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id of a waiting call, from `list_approvals`; if not given, `operation` and `args_hash` identify the call.
    #[serde(default)]
    id: Given<Exact<32>>,
    /// Only without `id`: the operation's name, from the refused call.
    #[serde(default)]
    operation: Given<Exact<64>>,
    /// Only without `id`: the hash of its arguments, from the refused call.
    #[serde(default)]
    args_hash: Given<Exact<32>>,
}

/// The approval.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The id of the waiting call: its caller repeats it unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The token to send with the call, once; absent for a waiting call.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// When it expires.
    #[schemars(with = "String", extend("format" = "date-time"))]
    expires_at: Timestamp,
}

impl Operation for Approve {
    const INFO: Info = Info {
        name: "approve",
        title: "Approve a call",
        description: "Approves a call that may destroy a person's text. With id, a waiting call: its caller repeats it, and it passes once, if the notes are still as list_approvals showed them. With operation and args_hash it returns a token for a call of any caller, valid once and for a few minutes. Nobody approves their own calls. For administrators; a person at the host runs `atlas approve`. Example: {\"id\": \"0123456789abcdef0123456789abcdef\"}",
        scopes: &[Scope::ApproveVault],
        tags: &["admin"],
        acts: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { id, operation, args_hash } = arguments;
        let output = match (&*id, &*operation, &*args_hash) {
            (Some(id), None, None) => approve_waiting(context, id.as_str()).await?,
            (None, Some(operation), Some(args_hash)) => {
                give_token(context, operation.as_str(), args_hash.as_str()).await?
            }
            _ => {
                return Err(invalid_input("id", "name either the id of a call that waits, or operation and args_hash"));
            }
        };
        Ok(Answer { value: output, generation: None })
    }
}

async fn approve_waiting(context: &Context<'_>, id: &str) -> Result<Output, Error> {
    let record = waiting::waiting(context, id).await?;
    if approvals::is_of(&record.request, context.caller) {
        let message = "you made this call yourself: let a person at the host approve it with `atlas approve`, or another administrator";
        return Err(Error::new(Code::Forbidden, Reason::ApprovalOwn, message).with("id", id));
    }
    let is_pending = record.status(context.now) == Status::Pending;
    if is_pending && !waiting::seen(context, &record.request, None, None).await?.is_current {
        let message = "a note that this call would change has changed since: when the call is repeated, it waits for a new approval";
        return Err(Error::new(Code::Conflict, Reason::ApprovalLapsed, message).with("id", id));
    }
    let decision = Decision::by(context.caller.name().to_owned(), context.now, true, None);
    approvals::decide(&context.vault.mirror, &record, &decision).await?;
    Ok(Output { id: Some(record.id), token: None, expires_at: record.request.expires })
}

async fn give_token(context: &Context<'_>, operation: &str, args_hash: &str) -> Result<Output, Error> {
    let approval = Approval {
        vault: &context.vault.id,
        operation,
        args_hash,
        by: context.caller.name(),
        caller: Some(context.caller),
        time: context.limits.confirmation_time,
    };
    let approved = confirmation::approve(&context.vault.mirror, &approval, context.now).await?;
    Ok(Output { id: None, token: Some(approved.token), expires_at: approved.expires })
}
