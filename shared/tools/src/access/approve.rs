//! `approve`: an administrator gives the confirmation that another's call needs.

use atlas_ops::arguments::Exact;
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::confirmation::{self, Approval};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Gives the confirmation that a call needs which can destroy what a person wrote.
pub struct Approve;

/// Which call to confirm.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The operation's name, as the call that was refused says.
    operation: Exact<64>,
    /// The hash of its arguments, as the call that was refused says.
    args_hash: Exact<32>,
}

/// The confirmation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// What the call has to show, once.
    token: String,
    /// Until when.
    #[schemars(with = "String", extend("format" = "date-time"))]
    expires_at: Timestamp,
}

impl Operation for Approve {
    const INFO: Info = Info {
        name: "approve",
        title: "Approve a call",
        description: "Gives the confirmation that a call needs which can destroy what a person wrote: a token for this very call, with the same arguments in the same vault, good once and for a few minutes. Not for the calls of whoever approves: those need another's. For administrators; a person at the host runs `atlas approve`. Example: {\"operation\": \"delete_note\", \"args_hash\": \"0123456789abcdef0123456789abcdef\"}",
        scopes: &[Scope::Admin],
        tags: &["admin"],
        acts: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let approval = Approval {
            vault: &context.vault.id,
            operation: arguments.operation.as_str(),
            args_hash: arguments.args_hash.as_str(),
            by: context.caller.name(),
            not_for: Some(context.caller.identity()),
            time: context.limits.confirmation_time,
        };
        let approved = confirmation::approve(&context.vault.mirror, &approval, context.now).await?;
        let output = Output { token: approved.token, expires_at: approved.expires };
        Ok(Answer { value: output, generation: None })
    }
}
