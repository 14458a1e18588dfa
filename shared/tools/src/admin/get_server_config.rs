//! `get_server_config`: the deployment's configuration, without secrets.

use std::collections::BTreeMap;

use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Returns the deployment's configuration.
pub struct GetServerConfig;

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// The configuration.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The version of Atlas Mirror.
    version: &'static str,
    /// How callers authenticate: `none` or `jwt`.
    auth_mode: &'static str,
    /// The vaults that the caller may name.
    vaults_summary: Vec<VaultSummary>,
    /// The limits on calls.
    limits: CallLimits,
    /// Logging and metrics.
    observability: Observability,
    /// The plugins of a running Obsidian that can be asked, by vault; none where the process cannot reach the app.
    plugins_detected: BTreeMap<String, Vec<String>>,
}

/// A vault in short.
#[derive(Debug, Serialize, JsonSchema)]
struct VaultSummary {
    /// Its id.
    id: String,
    /// Whether it is read-only.
    read_only: bool,
    /// The provider of its embedding model; null if it has none, or cannot be read.
    embeddings_provider: Option<String>,
}

/// The limits on calls; null where there is no limit.
#[derive(Debug, Serialize, JsonSchema)]
struct CallLimits {
    /// Concurrent changes of one vault.
    max_concurrent_writes_per_vault: Option<u32>,
    /// Reads of one caller at once.
    max_operations_per_second: Option<u32>,
    /// Reads of one caller per minute, on average.
    max_operations_per_minute: Option<u32>,
    /// Reads of one vault by all its callers together per minute, on average.
    max_vault_operations_per_minute: Option<u32>,
    /// Bytes of an answer.
    max_response_bytes: usize,
    /// Bytes of one note in an answer.
    max_bytes: usize,
}

/// Logging and metrics.
#[derive(Debug, Serialize, JsonSchema)]
struct Observability {
    /// Whether traces are exported.
    otlp_enabled: bool,
    /// Whether it has metrics, for Prometheus and `get_metrics`.
    prometheus_enabled: bool,
    /// Always false.
    morgiana_enabled: bool,
}

impl Operation for GetServerConfig {
    const INFO: Info = Info {
        name: "get_server_config",
        title: "Get the server's configuration",
        description: "Returns the deployment's configuration, without secrets: how callers authenticate, how often they may call, and which vaults exist. Example: {}",
        scopes: &[Scope::Admin],
        tags: &["admin"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, _: Arguments) -> Result<Answer<Output>, Error> {
        let about = &context.atlas.about;
        let throttle = Some(context.atlas.throttle.config()).filter(|config| config.enabled);
        let mut vaults_summary = Vec::new();
        let mut plugins_detected = BTreeMap::new();
        for vault in super::named(context) {
            let head = super::head(vault).await.ok().flatten();
            vaults_summary.push(VaultSummary {
                id: vault.id.clone(),
                read_only: vault.is_read_only(),
                embeddings_provider: head.and_then(|head| super::provider(&head)),
            });
            plugins_detected.insert(vault.id.clone(), super::plugins(context, vault).await);
        }
        let value = Output {
            version: about.version,
            auth_mode: about.auth_mode,
            vaults_summary,
            limits: CallLimits {
                max_concurrent_writes_per_vault: throttle.and_then(|config| config.max_concurrent_writes_per_vault),
                max_operations_per_second: throttle.map(|config| config.tiers.read.burst),
                max_operations_per_minute: throttle.map(|config| config.tiers.read.per_minute),
                max_vault_operations_per_minute: throttle
                    .and_then(|config| config.vault_tiers.read)
                    .map(|tier| tier.per_minute),
                max_response_bytes: context.atlas.limits.max_response_bytes,
                max_bytes: context.atlas.limits.max_bytes,
            },
            observability: Observability {
                otlp_enabled: about.otlp_enabled,
                prometheus_enabled: about.metrics.is_some(),
                morgiana_enabled: false,
            },
            plugins_detected,
        };
        Ok(Answer { value, generation: None })
    }
}
