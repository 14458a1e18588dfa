//! `refuse`: a call that waits for a person, or was approved and not made yet, may not be made.

use atlas_ops::arguments::{Exact, Given, Text};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::approvals::{self, Decision, MAX_REASON};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::waiting;

/// Refuses a call that waits for approval.
pub struct Refuse;

/// The call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Its id, from `list_approvals`.
    id: Exact<32>,
    /// The reason, for the caller; none if not given.
    #[serde(default)]
    reason: Given<Text<MAX_REASON>>,
}

/// The refused call.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The call's id.
    id: String,
}

impl Operation for Refuse {
    const INFO: Info = Info {
        name: "refuse",
        title: "Refuse a call",
        description: "Refuses a call that waits for a person, or takes its approval back while the call was not made again: whoever makes it is told so, and the reason. The call can be approved no more. To let it pass, take approve. For administrators; a person at the host runs `atlas refuse`. Example: {\"id\": \"0123456789abcdef0123456789abcdef\", \"reason\": \"keep this note\"}",
        scopes: &[Scope::ApproveVault],
        tags: &["admin"],
        acts: true,
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let record = waiting::waiting(context, arguments.id.as_str()).await?;
        let reason = arguments.reason.as_ref().map(|reason| reason.as_str().to_owned());
        let decision = Decision::by(context.caller.name().to_owned(), context.now, false, reason);
        approvals::decide(&context.vault.mirror, &record, &decision).await?;
        Ok(Answer { value: Output { id: record.id }, generation: None })
    }
}
