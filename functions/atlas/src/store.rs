//! Which vault in which store: the arguments that commands share.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use atlas_mirror::{Mirror, MirrorError, Options, PartCache, Store, VaultId, location};
use clap::Args;
use percent_encoding::percent_decode_str;

/// Bytes of decoded parts that a command keeps in memory.
pub(crate) const CACHE_BYTES: usize = 32 << 20;

/// Which vault in which store.
#[derive(Debug, Clone, Args)]
pub(crate) struct StoreArguments {
    /// The store: file:///a/folder or s3://bucket/prefix
    #[arg(long, env = "ATLAS_STORE", value_name = "URL", default_value = "file://.atlas-store")]
    pub(crate) store: String,
    /// The vault's id in the store
    #[arg(long, env = "ATLAS_VAULT", value_name = "ID", default_value = "main")]
    pub(crate) vault: VaultId,
}

impl StoreArguments {
    /// Opens the store itself.
    pub(crate) fn store(&self) -> Result<Store, MirrorError> {
        location::open(&self.store, &variables().collect())
    }

    /// Opens the vault's mirror.
    pub(crate) fn open(&self) -> Result<Mirror, Box<dyn Error>> {
        open_mirror(&self.store, &self.vault)
    }

    /// The store's folder, if it is one.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        let path = percent_decode_str(self.store.strip_prefix("file://")?).decode_utf8().ok()?;
        std::path::absolute(&*path).ok()
    }

    /// What tells this store from any other, wherever the program is started.
    pub(crate) fn identity(&self) -> Result<String, MirrorError> {
        match self.folder() {
            Some(folder) => Ok(folder.to_string_lossy().into_owned()),
            None => Ok(self.store()?.name().to_owned()),
        }
    }
}

/// Opens the mirror of a vault in the store at `url`.
pub(crate) fn open_mirror(url: &str, vault: &VaultId) -> Result<Mirror, Box<dyn Error>> {
    let store = location::open(url, &variables().collect())?;
    let cache = Arc::new(PartCache::new(CACHE_BYTES));
    Ok(Mirror::open(store, vault.clone(), cache, Options::default())?)
}

/// What a command that answers agents serves.
#[derive(Debug, Args)]
pub(crate) struct DeploymentArguments {
    /// The store: file:///a/folder or s3://bucket/prefix [env: ATLAS_STORE] [default: file://.atlas-store]
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// The vault's id in the store, or the default one's of several [env: ATLAS_VAULT] [default: main]
    #[arg(long, value_name = "ID")]
    vault: Option<String>,
    /// The configuration: the path of a file, store:KEY for an object of the store, or the JSON itself [env: ATLAS_CONFIG]
    #[arg(long, value_name = "PLACE")]
    config: Option<String>,
}

impl DeploymentArguments {
    /// Whether nothing says which store it is.
    pub(crate) fn names_no_store(&self) -> bool {
        !self.variables().any(|(name, _)| name == "ATLAS_STORE")
    }

    /// Whether nothing says what else is to be served than the folder here.
    pub(crate) fn is_empty(&self) -> bool {
        let names = ["ATLAS_STORE", "ATLAS_VAULT", "ATLAS_CONFIG"];
        !self.variables().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The environment, in which what was typed has the last word.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        let typed = [("ATLAS_STORE", &self.store), ("ATLAS_VAULT", &self.vault), ("ATLAS_CONFIG", &self.config)];
        variables().chain(typed.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))))
    }
}

/// The environment, as far as it is text.
pub(crate) fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}
