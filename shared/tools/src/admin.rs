//! Information about a deployment and its vaults, in obsidian-tc's form. There is no database: the
//! fields about them are null.

pub mod explain_path;
pub mod generate_uri;
pub mod get_metrics;
pub mod get_server_config;
pub mod get_vault;
pub mod index_vault;
pub mod list_vaults;
pub mod reload_vault;
pub mod reset_vault_cache;
pub mod server_health;
pub mod vault_sync;

use std::sync::Arc;

use atlas_mirror::{MirrorError, Snapshot};
use atlas_ops::atlas::Vault;
use atlas_ops::error::Error;
use atlas_ops::operation::Context;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// A vault of the deployment.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VaultState {
    /// Its id.
    id: String,
    /// Its display name; its id if it has none.
    name: String,
    /// The prefix of its objects' keys in the store.
    path: String,
    /// Whether it is read-only.
    read_only: bool,
    /// The provider of the embedding model: `static` or `contextual` for one in the store; null if there is none.
    embeddings_provider: Option<String>,
    /// The number of chunks of its index: some 4 kB of text each, or several short notes; null if nothing is published, or the token is for some folders only.
    chunk_count: Option<u64>,
    /// When the newest generation was published; null if none is.
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    last_synced_at: Option<Timestamp>,
    /// The newest generation; null if none is published.
    generation: Option<u64>,
}

impl VaultState {
    /// The state of a vault whose newest generation is `head`, as the caller may know it.
    fn of(context: &Context<'_>, vault: &Vault, head: Option<&Arc<Snapshot>>) -> Self {
        let whole = head.filter(|_| is_told_sizes(context));
        Self {
            id: vault.id.clone(),
            name: vault.name().to_owned(),
            path: format!("vaults/{}", vault.id),
            read_only: vault.is_read_only(),
            embeddings_provider: head.and_then(|head| provider(head)),
            chunk_count: whole.map(|head| head.segments().iter().map(|segment| u64::from(segment.layout.chunks)).sum()),
            last_synced_at: head.map(|head| head.manifest().time),
            generation: head.map(|head| head.generation()),
        }
    }
}

/// The provider of a generation's embedding model, if it has one.
fn provider(head: &Snapshot) -> Option<String> {
    Some(head.manifest().embeddings.as_ref()?.provider.clone())
}

/// Whether the caller may know the size of whole vaults: a token for some folders is told of nothing else.
fn is_told_sizes(context: &Context<'_>) -> bool {
    context.caller.scopes().folders().is_none()
}

/// The newest generation of a vault, if one is published.
async fn head(vault: &Vault) -> Result<Option<Arc<Snapshot>>, Error> {
    match vault.mirror.head().await {
        Ok(head) => Ok(Some(head)),
        Err(MirrorError::NotPublished { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The plugins of a vault's running Obsidian that can be asked; none where it cannot be reached from here.
async fn plugins(context: &Context<'_>, vault: &Vault) -> Vec<String> {
    match &vault.app.app {
        Some(app) => app.detect(context.now).await.unwrap_or_default(),
        None => Vec::new(),
    }
}

/// The vaults that the caller may name.
fn named<'a>(context: &'a Context<'_>) -> impl Iterator<Item = &'a Vault> {
    context.atlas.vaults_of(context.caller)
}
