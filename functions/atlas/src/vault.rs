//! The arguments of commands that need a vault's folder, or what a deployment of it is configured by.

use std::env;
use std::error::Error;
use std::path::PathBuf;

use clap::Args;

use crate::store::variables;
use crate::vault_location::{LocationArguments, VaultLocation};

/// Which folder is synced with which vault.
#[derive(Debug, Args)]
pub(crate) struct FolderArguments {
    /// The vault's folder; the same as --root
    #[arg(value_name = "DIR", conflicts_with = "root")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    place: LocationArguments,
    /// The folder for what a sync remembers [default: a folder below $XDG_STATE_HOME/atlas-mirror]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

impl FolderArguments {
    /// Where the vault is, as far as it is named; its folder is `default` if nothing names one.
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

/// What a command that answers agents serves.
#[derive(Debug, Args)]
pub(crate) struct DeploymentArguments {
    #[command(flatten)]
    pub(crate) place: LocationArguments,
    /// The configuration: the path of a file, store:KEY for an object of the store, or the JSON itself [env: ATLAS_CONFIG]
    #[arg(long, value_name = "PLACE")]
    pub(crate) config: Option<String>,
}

impl DeploymentArguments {
    /// Where that is.
    pub(crate) fn find(&self) -> Result<VaultLocation, Box<dyn Error>> {
        self.place.find(self.config.as_deref(), None)
    }

    /// The environment, in which what was typed has the last word.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        let vault = self.place.vault.as_ref().map(ToString::to_string);
        let typed = [("ATLAS_STORE", &self.place.store), ("ATLAS_VAULT", &vault), ("ATLAS_CONFIG", &self.config)];
        let typed: Vec<_> =
            typed.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))).collect();
        variables().chain(typed)
    }
}

/// The one who runs the program.
pub(crate) fn author() -> String {
    let user = env::var("USER").or_else(|_| env::var("LOGNAME"));
    user.ok().filter(|user| !user.is_empty()).unwrap_or_else(|| "host".to_owned())
}
