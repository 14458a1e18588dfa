//! Which folder is synced with which vault: the arguments of `sync` and `status`.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};

use atlas_sync::folder::Folder;
use atlas_sync::is_inside;
use clap::Args;
use sha2::{Digest as _, Sha256};

use crate::store::StoreArguments;

/// Which folder is synced with which vault.
#[derive(Debug, Args)]
pub(crate) struct VaultArguments {
    /// The vault's folder
    #[arg(long, value_name = "DIR", env = "ATLAS_VAULT_ROOT")]
    pub(crate) root: PathBuf,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    /// The folder for what a sync remembers [default: a folder below $XDG_STATE_HOME/atlas-mirror]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

impl VaultArguments {
    /// The folder of the sync state.
    pub(crate) fn state(&self) -> Result<PathBuf, Box<dyn Error>> {
        let folder = Folder::open(&self.root)?;
        if self.store.folder().is_some_and(|store| is_inside(&folder, &store)) {
            return Err("the store lies inside the vault, which would publish it: name a store outside of it".into());
        }
        match &self.state {
            Some(state) => Ok(state.clone()),
            None => self.default_state(folder.path()),
        }
    }

    /// Where the sync state is by default: one folder for each vault folder, vault and store.
    fn default_state(&self, root: &Path) -> Result<PathBuf, Box<dyn Error>> {
        let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
        let base = base.ok_or("there is no home folder for the sync state: name a folder with --state")?;
        let identity = self.store.identity()?;
        let mut hasher = Sha256::new();
        for part in [root.as_os_str().as_encoded_bytes(), self.store.vault.as_str().as_bytes(), identity.as_bytes()] {
            hasher.update(part);
            hasher.update([0]);
        }
        let digest: String = hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Ok(base.join("atlas-mirror").join(digest))
    }
}

/// The one who runs the program.
pub(crate) fn author() -> String {
    let user = env::var("USER").or_else(|_| env::var("LOGNAME"));
    user.ok().filter(|user| !user.is_empty()).unwrap_or_else(|| "host".to_owned())
}
