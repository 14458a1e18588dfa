//! `server_health`: whether the service is up, and since when.

use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Returns that the service is up, its version, the vaults that the caller may name, and the uptime of the answering
/// instance.
pub struct ServerHealth;

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// Liveness.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Always `ok`: it answered.
    status: &'static str,
    /// Always `atlas-mirror`.
    name: &'static str,
    /// Its version.
    version: &'static str,
    /// The ids of the vaults that the caller may name; empty without a token.
    vaults: Vec<String>,
    /// The uptime of this instance, in milliseconds.
    uptime_ms: u64,
    /// Always true: nothing has to be loaded.
    native_loaded: bool,
    /// Whether the vault has an embedding model; null while this instance knows no generation of it.
    vec_enabled: Option<bool>,
    /// Always true: every vault is searched by words.
    fts_enabled: bool,
}

impl Operation for ServerHealth {
    const INFO: Info = Info {
        name: "server_health",
        title: "Health of the server",
        description: "Returns that the service is up, its version, the vaults that the caller may name, and the uptime of the answering instance. Makes no request to the store. Example: {}",
        scopes: &[],
        tags: &["admin"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, _: Arguments) -> Result<Answer<Output>, Error> {
        let about = &context.atlas.about;
        let up = about.started.map(|started| context.now.duration_since(started).as_millis());
        let vaults = super::named(context).filter(|_| context.caller.is_authenticated());
        let value = Output {
            status: "ok",
            name: "atlas-mirror",
            version: about.version,
            vaults: vaults.map(|vault| vault.id.clone()).collect(),
            uptime_ms: up.and_then(|up| u64::try_from(up).ok()).unwrap_or_default(),
            native_loaded: true,
            vec_enabled: context.vault.mirror.knows_model(),
            fts_enabled: true,
        };
        Ok(Answer { value, generation: None })
    }
}
