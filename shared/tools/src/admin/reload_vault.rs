//! `reload_vault`: has the process look at the configuration and at the newest generation now.

use atlas_ops::arguments::VAULT;
use atlas_ops::error::{Code, Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Has the process that answers read the configuration again, and look for a newer generation.
pub struct ReloadVault;

/// No arguments: the vault is that of the call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// The vault's state now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The vault.
    vault: String,
    /// When it was looked at.
    #[schemars(with = "String", extend("format" = "date-time"))]
    reloaded_at: Timestamp,
    /// Whether the configuration was read anew.
    configuration: Configuration,
    /// The newest generation; null if none is published.
    generation: Option<u64>,
}

/// Whether a configuration was read anew.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Configuration {
    /// There is none that could change while the process lives.
    Fixed,
    /// It is the same.
    Same,
    /// It is another one, which counts from the next call on.
    Changed,
}

impl Operation for ReloadVault {
    const INFO: Info = Info {
        name: "reload_vault",
        title: "Reload the configuration",
        description: "Has the process that answers read the configuration document again now, and look for a newer generation of the vault. Otherwise it reads the document every 30 seconds, and looks for generations at every call. Other processes are not asked. For a newer index take vault_sync. Example: {}",
        scopes: &[Scope::Admin],
        tags: &["admin"],
        idempotent: true,
        acts: true,
        aliases: &[Alias::Name("vault_id", VAULT)],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, _: Arguments) -> Result<Answer<Output>, Error> {
        let unusable = |_| {
            let message = "the configuration cannot be used, and nothing else is answered until it is mended; its operator must look at the log";
            Error::new(Code::Unavailable, Reason::ConfigUnusable, message)
        };
        let configuration = match &context.atlas.about.reload {
            None => Configuration::Fixed,
            Some(reload) if reload().await.map_err(unusable)? => Configuration::Changed,
            Some(_) => Configuration::Same,
        };
        let generation = super::head(context.vault).await?.map(|head| head.generation());
        let vault = context.vault.id.clone();
        Ok(Answer { value: Output { vault, reloaded_at: context.now, configuration, generation }, generation })
    }
}
