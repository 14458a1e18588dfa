//! `health`: is it up, and what does it serve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::operation::{Answer, Context, Info, Operation, Touch};

/// The operation.
pub struct Health;

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// Liveness.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Always true: it answered.
    ok: bool,
    /// The version of Atlas Mirror.
    version: &'static str,
    /// The newest generation of the vault; null if the store does not answer or nothing is published.
    generation: Option<u64>,
}

impl Operation for Health {
    const INFO: Info = Info {
        name: "health",
        title: "Health",
        description: "Says that the service is up, its version, and the newest published generation of the vault.",
        scopes: &[],
        destructive: false,
        tags: &["admin"],
    };
    type Arguments = Arguments;
    type Output = Output;

    fn touches(_: &Self::Arguments) -> Result<Vec<Touch>, Error> {
        Ok(Vec::new())
    }

    async fn run(context: &Context<'_>, _: Arguments) -> Result<Answer<Output>, Error> {
        let head = context.vault.mirror.head().await;
        if let Err(error) = &head {
            tracing::warn!(%error, "the newest generation is not known");
        }
        let generation = head.ok().map(|snapshot| snapshot.generation());
        Ok(Answer { value: Output { ok: true, version: env!("CARGO_PKG_VERSION"), generation }, generation })
    }
}
