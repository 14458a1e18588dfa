//! `get_vault`: one vault, its access list, and its published state.

use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use futures::future::join;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::VaultState;

/// Returns a vault's access list and its published state.
pub struct GetVault;

/// No arguments: the vault is that of the call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// The vault.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its id.
    id: String,
    /// Its display name; its id if it has none.
    name: String,
    /// The prefix of its objects' keys in the store.
    path: String,
    /// Whether it is read-only.
    read_only: bool,
    /// The access list.
    acl: Lists,
    /// The embedding model by which notes are found; null within if there is none.
    embeddings: Embeddings,
    /// The published state.
    cache: Published,
    /// The plugins of a running Obsidian that can be asked; none where the process cannot reach the app.
    plugins_detected: Vec<String>,
}

/// Globs of an access list; null for everything.
#[derive(Debug, Serialize, JsonSchema)]
struct Lists {
    /// Readable paths.
    read_paths: Option<Vec<String>>,
    /// Writable paths.
    write_paths: Option<Vec<String>>,
    /// Deletable paths.
    delete_paths: Option<Vec<String>>,
}

/// An embedding model.
#[derive(Debug, Serialize, JsonSchema)]
struct Embeddings {
    /// Its provider: `static` for a model in the store.
    provider: Option<String>,
    /// Its name.
    model: Option<String>,
}

/// The published state of a vault; null if nothing is published, and its size if the token is for some folders only.
#[derive(Debug, Serialize, JsonSchema)]
struct Published {
    /// The number of chunks of its index: some 4 kB of text each, or several short notes.
    chunk_count: Option<u64>,
    /// When the newest generation was published.
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    last_synced_at: Option<Timestamp>,
    /// When a folder was last synced with it, as far as that was told; later if nothing has changed since.
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    synced_at: Option<Timestamp>,
    /// Bytes of the newest generation's segments.
    db_size_bytes: Option<u64>,
    /// The newest generation.
    generation: Option<u64>,
}

impl Operation for GetVault {
    const INFO: Info = Info {
        name: "get_vault",
        title: "Get a vault",
        description: "Returns the access list of one vault, and what is published of it since when. For all vaults take list_vaults. Example: {}",
        scopes: &[Scope::Admin],
        tags: &["admin"],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, _: Arguments) -> Result<Answer<Output>, Error> {
        let (head, synced) = join(super::head(context.vault), context.vault.mirror.synced()).await;
        let (head, synced) = (head?, synced?);
        let VaultState { id, name, path, read_only, chunk_count, last_synced_at, generation, .. } =
            VaultState::of(context, context.vault, head.as_ref());
        let acl = context.vault.acl().config().clone();
        let embeddings = head.as_ref().and_then(|head| head.manifest().embeddings.clone());
        let value = Output {
            id,
            name,
            path,
            read_only,
            acl: Lists { read_paths: acl.read_paths, write_paths: acl.write_paths, delete_paths: acl.delete_paths },
            embeddings: Embeddings {
                provider: embeddings.as_ref().map(|embeddings| embeddings.provider.clone()),
                model: embeddings.map(|embeddings| embeddings.model),
            },
            cache: Published {
                chunk_count,
                last_synced_at,
                synced_at: synced.map(|beat| beat.time),
                db_size_bytes: head
                    .filter(|_| super::is_told_sizes(context))
                    .map(|head| head.segments().iter().map(|segment| segment.bytes).sum()),
                generation,
            },
            plugins_detected: super::plugins(context, context.vault).await,
        };
        Ok(Answer { value, generation })
    }
}
