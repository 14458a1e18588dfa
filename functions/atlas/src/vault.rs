//! The arguments of commands that need a vault's folder, or the configuration of its deployment.

use std::env;
use std::error::Error;
use std::path::PathBuf;

use clap::Args;

use crate::store::variables;
use crate::vault_location::{LocationArguments, VaultLocation};

/// The folder, and the vault that it is synced with.
#[derive(Debug, Args)]
pub(crate) struct FolderArguments {
    /// The vault's folder; the same as --root
    #[arg(value_name = "DIR", conflicts_with = "root")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    place: LocationArguments,
    /// The folder for the sync state [default: a folder below $XDG_STATE_HOME/atlas-mirror]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

impl FolderArguments {
    /// The location of the vault; its folder is `default` if none is given.
    pub(crate) fn find(&self, default: Option<PathBuf>, config: Option<&str>) -> Result<VaultLocation, Box<dyn Error>> {
        let mut place = self.place.clone();
        place.root = self.dir.clone().or(place.root);
        match (place.find(config, self.state.as_deref()), default) {
            (Ok(VaultLocation { folder: None, .. }) | Err(_), Some(default)) if place.root.is_none() => {
                LocationArguments { root: Some(default), ..place }.find(config, self.state.as_deref())
            }
            (found, _) => found,
        }
    }
}

/// The deployment that a command serves to agents.
#[derive(Debug, Args)]
pub(crate) struct DeploymentArguments {
    #[command(flatten)]
    pub(crate) place: LocationArguments,
    /// The configuration: the path of a file, store:KEY for an object of the store, or the JSON itself [env: ATLAS_CONFIG]
    #[arg(long, value_name = "PLACE")]
    pub(crate) config: Option<String>,
}

impl DeploymentArguments {
    /// Its location.
    pub(crate) fn find(&self) -> Result<VaultLocation, Box<dyn Error>> {
        self.place.find(self.config.as_deref(), None)
    }

    /// The environment, overridden by arguments.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        let vault = self.place.vault.as_ref().map(ToString::to_string);
        let typed = [("ATLAS_STORE", &self.place.store), ("ATLAS_VAULT", &vault), ("ATLAS_CONFIG", &self.config)];
        let typed: Vec<_> =
            typed.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))).collect();
        variables().chain(typed)
    }
}

/// The user of the program.
pub(crate) fn author() -> String {
    let user = env::var("USER").or_else(|_| env::var("LOGNAME"));
    user.ok().filter(|user| !user.is_empty()).unwrap_or_else(|| "host".to_owned())
}
