//! Where a vault is: its folder, its store, and what syncs of both keep. One rule, which all commands follow.
//!
//! - The folder is the one that is named (`--root`, or else `ATLAS_VAULT_ROOT`), or else the nearest one that was synced before and holds
//!   the current folder.
//! - The store, the vault's id and the configuration are each what is named, or else what the environment says (`ATLAS_STORE`,
//!   `ATLAS_VAULT`, `ATLAS_CONFIG`), or else what is remembered for the folder.
//! - The store may also be `.atlas-store` in the current folder, where earlier versions kept it; or else it is a folder of its own in the
//!   user's data directory.

use std::env;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atlas_mirror::{Mirror, MirrorError, Store, VaultId, location};
use atlas_sync::folder::Folder;
use atlas_sync::is_inside;
use clap::Args;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use tokio::time::timeout;

use crate::output;
use crate::remembered::Remembered;
use crate::store::{folder_url, mirror_in, open_mirror, variables};
use crate::user_folders::{base, digest, states, variable_os};

/// The default location of stores in earlier versions, below the current folder, and a folder that every such store
/// has.
const EARLIER_STORE: &str = ".atlas-store";
const VAULTS: &str = "vaults";
/// The folder with the addresses of servers, beside sync states.
const SERVERS: &str = "servers";
/// How long the store may take to say whether it has the vault.
const LOOK: Duration = Duration::from_secs(10);
/// The default id of the vault.
const DEFAULT_VAULT: &str = "main";

/// The vault and its store.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LocationArguments {
    /// The vault's folder [env: ATLAS_VAULT_ROOT] [default: the folder here; it must have been synced before, except for `up`]
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// The store: file:///a/folder or s3://bucket/prefix [env: ATLAS_STORE] [default: see `atlas where`]
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// The vault's id in the store, or the default one's of several [env: ATLAS_VAULT] [default: main]
    #[arg(long, value_name = "ID")]
    pub(crate) vault: Option<VaultId>,
}

/// The source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GivenBy {
    /// An argument.
    Argument,
    /// The environment.
    Environment,
    /// An earlier sync of the folder.
    Remembered,
    /// Nothing.
    Default,
}

impl fmt::Display for GivenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Argument => "named",
            Self::Environment => "from the environment",
            Self::Remembered => "remembered",
            Self::Default => "default",
        })
    }
}

/// A value, and its source.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) given_by: GivenBy,
}

/// The location of a vault.
#[derive(Clone, Debug)]
pub(crate) struct VaultLocation {
    /// Its folder, if known.
    pub(crate) folder: Option<PathBuf>,
    /// The URL of its store.
    pub(crate) store: Setting<String>,
    /// Its id in the store.
    pub(crate) vault: Setting<VaultId>,
    /// The location of the deployment's configuration, if there is one.
    pub(crate) config: Option<Setting<String>>,
    /// The folder of the sync state, if it is not the default one.
    pub(crate) state: Option<Setting<PathBuf>>,
}

impl LocationArguments {
    /// Finds the location. `config` and `state` are arguments that only some commands have.
    ///
    /// # Errors
    /// When it is not given anywhere.
    pub(crate) fn find(&self, config: Option<&str>, state: Option<&Path>) -> Result<VaultLocation, Box<dyn Error>> {
        let folder = match self.root.clone().or_else(|| variable_os("ATLAS_VAULT_ROOT").map(PathBuf::from)) {
            Some(root) => Some(std::path::absolute(&root).and_then(|root| root.canonicalize().or(Ok(root)))?),
            None => Remembered::around(&env::current_dir()?),
        };
        let remembered = folder.as_deref().and_then(Remembered::of).unwrap_or_default();
        let store = said(self.store.clone(), "ATLAS_STORE", remembered.store);
        let store = match (store, &folder) {
            (Some(store), _) => store,
            (None, _) if Path::new(EARLIER_STORE).join(VAULTS).is_dir() => {
                Setting { value: format!("file://{EARLIER_STORE}"), given_by: GivenBy::Default }
            }
            (None, folder) => {
                // Else nothing says whether it was synced before.
                if state.is_none() {
                    states()?;
                }
                let folder = folder.as_deref().ok_or_else(nowhere)?;
                Setting { value: default_store(folder)?, given_by: GivenBy::Default }
            }
        };
        let vault = said(self.vault.as_ref().map(VaultId::to_string), "ATLAS_VAULT", remembered.vault)
            .unwrap_or(Setting { value: DEFAULT_VAULT.to_owned(), given_by: GivenBy::Default });
        let unusable = |_| {
            format!("{} is not a valid id of a vault: write letters, digits, `.`, `_`, `-`, at most 64", vault.value)
        };
        let vault = Setting { value: vault.value.parse().map_err(unusable)?, given_by: vault.given_by };
        let config = said(config.map(str::to_owned), "ATLAS_CONFIG", remembered.config);
        let state = match state {
            Some(state) => Some(Setting { value: std::path::absolute(state)?, given_by: GivenBy::Argument }),
            None => remembered.state.map(|value| Setting { value, given_by: GivenBy::Remembered }),
        };
        Ok(VaultLocation { folder, store, vault, config, state })
    }
}

impl VaultLocation {
    /// Reports on standard error where the store is, unless it was given.
    pub(crate) fn tell_store(&self) {
        if matches!(self.store.given_by, GivenBy::Remembered | GivenBy::Default) {
            output::note(format_args!("store: {} ({})", self.store.value, self.store.given_by));
        }
        self.tell_remembered();
    }

    /// Reports on standard error which settings come from an earlier sync.
    pub(crate) fn tell_remembered(&self) {
        if self.vault.given_by == GivenBy::Remembered && self.vault.value.as_str() != DEFAULT_VAULT {
            output::note(format_args!("vault: {} (remembered)", self.vault.value));
        }
        if let Some(config) = self.config.as_ref().filter(|config| config.given_by == GivenBy::Remembered) {
            output::note(format_args!("configuration: {} (remembered)", config.value));
        }
    }

    /// Opens the store itself.
    pub(crate) fn store(&self) -> Result<Store, MirrorError> {
        location::open(&self.store.value, &variables().collect())
    }

    /// Opens the vault's mirror, which may have to be published yet. A folder for it is made.
    pub(crate) fn open(&self) -> Result<Mirror, Box<dyn Error>> {
        open_mirror(&self.store.value, &self.vault.value)
    }

    /// Opens the vault's mirror to see what a sync would do. For a folder that is not there it is an empty one, and none is made.
    pub(crate) fn open_to_look(&self) -> Result<Mirror, Box<dyn Error>> {
        if self.check_store_folder().is_ok() {
            return self.open();
        }
        let empty = location::open("memory://", &variables().collect())?;
        mirror_in(empty.named(&self.store.value), &self.vault.value)
    }

    /// Opens the mirror of a vault that was published, and makes nothing.
    ///
    /// # Errors
    /// When the store does not answer, or has no such vault.
    pub(crate) async fn published(&self) -> Result<Mirror, Box<dyn Error>> {
        self.check_store_folder()?;
        let mirror = self.open()?;
        match mirror.head().await {
            // The search below refuses these with the reason.
            Ok(_) | Err(MirrorError::Damaged { .. } | MirrorError::Newer { .. }) => Ok(mirror),
            Err(error) => Err(error.into()),
        }
    }

    /// Looks whether the store has the vault, for a while.
    ///
    /// # Errors
    /// When it has not, or does not say so in time.
    pub(crate) async fn looked_for(&self) -> Result<(), Box<dyn Error>> {
        timeout(LOOK, self.published()).await.map_err(|_| "it did not answer in time")?.map(drop)
    }

    /// Fails if the store is a folder that is not there.
    pub(crate) fn check_store_folder(&self) -> Result<(), MirrorError> {
        match self.store_folder() {
            Some(folder) if !folder.exists() => Err(MirrorError::NotPublished {
                vault: self.vault.value.to_string(),
                store: format!("the folder {}", folder.display()),
            }),
            _ => Ok(()),
        }
    }

    /// The vault's folder.
    ///
    /// # Errors
    /// When it is unknown.
    pub(crate) fn folder(&self) -> Result<&Path, Box<dyn Error>> {
        self.folder
            .as_deref()
            .ok_or_else(|| "name the vault's folder, or run this in one that was synced before".into())
    }

    /// The folder of the sync state.
    pub(crate) fn state(&self) -> Result<PathBuf, Box<dyn Error>> {
        let folder = Folder::open(self.folder()?)?;
        if self.store_folder().is_some_and(|store| is_inside(&folder, &store)) {
            return Err("the store lies inside the vault, which would publish it: name a store outside of it".into());
        }
        match &self.state {
            Some(state) => Ok(state.value.clone()),
            None => self.default_state(folder.path()),
        }
    }

    /// The same, even if the vault's folder cannot be opened now; for a store that cannot be opened, that of the store which the folder was synced with
    /// before.
    pub(crate) fn recorded_state(&self) -> Option<PathBuf> {
        if let Some(state) = &self.state {
            return Some(state.value.clone());
        }
        let folder = self.folder.as_deref()?;
        let of_remembered = || {
            let store = Setting { value: Remembered::of(folder)?.store?, given_by: GivenBy::Remembered };
            Self { store, ..self.clone() }.default_state(folder).ok()
        };
        let of_address = || self.state_by(folder, &self.store.value).ok();
        self.default_state(folder).ok().or_else(of_remembered).or_else(of_address)
    }

    /// The environment of what serves this place, in which what was typed or is remembered has the last word. Where nothing says which vault, the
    /// configuration may.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        let own = [
            ("ATLAS_STORE", Some(self.store.value.clone())),
            (
                "ATLAS_VAULT",
                Some(&self.vault)
                    .filter(|vault| vault.given_by != GivenBy::Default)
                    .map(|vault| vault.value.to_string()),
            ),
            ("ATLAS_CONFIG", self.config.as_ref().map(|config| config.value.clone())),
        ];
        variables().chain(own.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))))
    }

    /// The store's folder, if it is one.
    pub(crate) fn store_folder(&self) -> Option<PathBuf> {
        let path = percent_decode_str(self.store.value.strip_prefix("file://")?).decode_utf8().ok()?;
        std::path::absolute(&*path).ok()
    }

    /// The identity of this store, independent of the working folder.
    fn identity(&self) -> Result<String, MirrorError> {
        match self.store_folder() {
            Some(folder) => Ok(folder.to_string_lossy().into_owned()),
            None => Ok(self.store()?.name().to_owned()),
        }
    }

    /// The default folder of the sync state: one for each vault folder, vault and store.
    fn default_state(&self, root: &Path) -> Result<PathBuf, Box<dyn Error>> {
        self.state_by(root, &self.identity()?)
    }

    fn state_by(&self, root: &Path, identity: &str) -> Result<PathBuf, Box<dyn Error>> {
        let vault = self.vault.value.as_str();
        let name = digest(&[root.as_os_str().as_encoded_bytes(), vault.as_bytes(), identity.as_bytes()]);
        Ok(states()?.join(name))
    }

    /// The file with the address of the vault's server on this machine.
    ///
    /// # Errors
    /// When there is no home folder, or the store's address cannot be used.
    pub(crate) fn server_file(&self) -> Result<PathBuf, Box<dyn Error>> {
        let name = digest(&[self.vault.value.as_str().as_bytes(), self.identity()?.as_bytes()]);
        Ok(states()?.join(SERVERS).join(name))
    }

    /// The settings for later commands in this folder, with an absolute URL of the store.
    pub(crate) fn to_remember(&self) -> Remembered {
        let store = self.store_folder().and_then(|folder| folder_url(&folder));
        let own = |path: &Setting<String>| match Path::new(&path.value) {
            path if path.exists() => std::path::absolute(path).ok()?.to_str().map(str::to_owned),
            _ => Some(path.value.clone()),
        };
        Remembered {
            store: Some(store.unwrap_or_else(|| self.store.value.clone())),
            vault: Some(self.vault.value.to_string()),
            config: self.config.as_ref().and_then(own),
            state: self.state.as_ref().map(|state| state.value.clone()),
        }
    }
}

/// Whether an error says that the store has no such vault.
pub(crate) fn is_missing(error: &(dyn Error + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(MirrorError::NotPublished { .. }))
}

fn nowhere() -> String {
    let here = env::current_dir().map_or_else(|_| "the current folder".to_owned(), |here| here.display().to_string());
    format!(
        "{here} is in no folder that was synced before: run `atlas up` in your notes first, or name a store with --store"
    )
}

/// The given value, or else that of the environment, or else the stored one.
fn said(named: Option<String>, variable: &str, remembered: Option<String>) -> Option<Setting<String>> {
    let environment = variable_os(variable).and_then(|text| text.into_string().ok());
    let found = named.map(|value| (value, GivenBy::Argument));
    let found = found.or_else(|| environment.map(|value| (value, GivenBy::Environment)));
    let found = found.or_else(|| remembered.map(|value| (value, GivenBy::Remembered)));
    found.map(|(value, given_by)| Setting { value, given_by })
}

/// The default store of a folder: in the user's data directory.
fn default_store(folder: &Path) -> Result<String, Box<dyn Error>> {
    let base = base("XDG_DATA_HOME", ".local/share")
        .ok_or("there is no home folder: set HOME, or name a store with --store")?;
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name: String =
        name.chars().map(|one| if one.is_ascii_alphanumeric() || "._-".contains(one) { one } else { '-' }).collect();
    let name = match name.trim_matches(['-', '.']) {
        "" => "vault",
        name => name,
    };
    let digest = digest(&[folder.as_os_str().as_encoded_bytes()]);
    let path = base.join("atlas-mirror").join(format!("{name}-{}", digest.get(..8).unwrap_or_default()));
    folder_url(&path).ok_or_else(|| "the data directory's path is not UTF-8: name a store with --store".into())
}
