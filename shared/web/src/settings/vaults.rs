//! The vaults of a deployment.

use atlas_access::AclConfig;
use atlas_mirror::VaultId;
use atlas_ops::app::Reach;
use atlas_vault::VaultPath;

use crate::config::error::DocumentError;
use crate::config::obsidian::ObsidianDocument;
use crate::config::vaults::VaultDocument;
use crate::settings::Settings;

/// A vault of a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultSettings {
    /// Its id.
    pub id: VaultId,
    /// Its display name.
    pub name: Option<String>,
    /// Its access list.
    pub acl: AclConfig,
    /// Whether it has an access list of its own.
    pub has_own_acl: bool,
    /// The folder of its memory, if the configuration names one.
    pub memory: Option<VaultPath>,
    /// The folder of its prompts, if the configuration names one.
    pub prompts: Option<VaultPath>,
    /// How the Obsidian app that has it open is reached.
    pub obsidian: Option<ObsidianDocument>,
}

/// The vaults that have documents of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FurtherVaults {
    /// The key of their documents without `/ID.json`, below the prefix of the store.
    pub folder: String,
    /// The access list of those without their own.
    pub acl: AclConfig,
}

impl VaultSettings {
    /// A vault without an access list.
    pub(crate) fn plain(id: VaultId) -> Self {
        let acl = AclConfig::default();
        Self { id, name: None, acl, has_own_acl: false, memory: None, prompts: None, obsidian: None }
    }

    /// The vault that `document` describes; `acl` is its access list if it has none of its own.
    ///
    /// # Errors
    /// When the id cannot be one.
    pub(crate) fn of(document: &VaultDocument, acl: &AclConfig) -> Result<Self, DocumentError> {
        let wrong = |error: <VaultId as std::str::FromStr>::Err| DocumentError::new("vaults", error.to_string());
        let VaultDocument { id, name, acl: own, memory, prompts, obsidian } = document;
        Ok(Self {
            id: id.parse().map_err(wrong)?,
            name: name.clone(),
            acl: own.as_ref().unwrap_or(acl).clone(),
            has_own_acl: own.is_some(),
            memory: memory.folder(),
            prompts: prompts.folder(),
            obsidian: obsidian.clone(),
        })
    }
}

impl Settings {
    /// How the app of a vault is reached.
    ///
    /// # Errors
    /// When a key or the secret is missing.
    pub fn reach(&self, vault: &VaultId) -> Result<Reach, DocumentError> {
        let settings = self.vaults.iter().find(|of| of.id == *vault);
        settings.map(|settings| self.reach_of(settings)).transpose().map(Option::unwrap_or_default)
    }

    /// The same for a vault that need not be among [`Settings::vaults`].
    pub(crate) fn reach_of(&self, vault: &VaultSettings) -> Result<Reach, DocumentError> {
        let open = |document: &ObsidianDocument| {
            document.open(&format!("obsidian of {}", vault.id), vault.id.as_str(), &self.obsidian)
        };
        vault.obsidian.as_ref().map(open).transpose().map(Option::unwrap_or_default)
    }
}
