//! The vaults in a configuration document, and the documents that vaults have of their own.

use std::collections::BTreeSet;

use atlas_access::{Acl, AclConfig, AclError};
use atlas_mirror::VaultId;
use atlas_vault::VaultPath;
use serde::Deserialize;

use crate::config::error::DocumentError;
use crate::config::obsidian::ObsidianDocument;
use crate::config::source::ConfigSource;

/// Most vaults in one document.
pub const MAX_VAULTS: usize = 100;
/// Longest name of a vault, in bytes.
const MAX_NAME: usize = 200;
const FOLDER_FORM: &str =
    "write store: and the key of a folder outside of vaults/ and probes/, such as store:config/vaults";

/// `vaults[]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VaultDocument {
    /// Its id in the store.
    pub id: String,
    /// Its display name.
    #[serde(default)]
    pub name: Option<String>,
    /// Its access list; that of the root if omitted.
    #[serde(default)]
    pub acl: Option<AclConfig>,
    /// Its memory.
    #[serde(default)]
    pub memory: FolderDocument,
    /// Its prompts.
    #[serde(default)]
    pub prompts: FolderDocument,
    /// How the Obsidian app that has it open is reached.
    #[serde(default)]
    pub obsidian: Option<ObsidianDocument>,
}

/// `vaults[].memory` and `vaults[].prompts`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FolderDocument {
    /// The folder that has their notes.
    pub folder: Option<String>,
}

impl FolderDocument {
    /// The folder, if one is named that can be.
    pub(crate) fn folder(&self) -> Option<VaultPath> {
        let is_linkable = |path: &VaultPath| !path.as_str().contains(['#', '|', '[', ']', '^']);
        let is_plain = |path: &VaultPath| path.as_str().split('/').all(|name| !name.starts_with('.'));
        let path = VaultPath::parse(self.folder.as_deref()?.trim_end_matches('/')).ok();
        path.filter(|path| is_linkable(path) && is_plain(path))
    }
}

/// The key of the folder that a value of `vaultDocuments` names.
pub(crate) fn folder_of(text: &str) -> Option<String> {
    match ConfigSource::parse(text) {
        Ok(ConfigSource::Object(key)) => Some(key),
        _ => None,
    }
}

/// Refuses a value of `vaultDocuments` that names no folder of the store.
pub(crate) fn check_folder(text: &str) -> Result<(), DocumentError> {
    folder_of(text).map(drop).ok_or_else(|| DocumentError::new("vaultDocuments", FOLDER_FORM))
}

/// Refuses invalid vaults.
pub(crate) fn check_vaults(vaults: &[VaultDocument]) -> Result<(), DocumentError> {
    if vaults.is_empty() || vaults.len() > MAX_VAULTS {
        return Err(DocumentError::new("vaults", format!("write 1 to {MAX_VAULTS} vaults, or leave it out")));
    }
    let mut ids = BTreeSet::new();
    for (index, vault) in vaults.iter().enumerate() {
        if let Err(error) = vault.id.parse::<VaultId>() {
            return Err(DocumentError::new(format!("vaults[{index}].id"), error.to_string()));
        }
        if !ids.insert(&vault.id) {
            let remedy = format!("another vault is {:?} already: give each an id of its own", vault.id);
            return Err(DocumentError::new(format!("vaults[{index}].id"), remedy));
        }
        if vault.name.as_ref().is_some_and(|name| name.is_empty() || name.len() > MAX_NAME) {
            let remedy = format!("write 1 to {MAX_NAME} bytes, or leave it out");
            return Err(DocumentError::new(format!("vaults[{index}].name"), remedy));
        }
        if let Some(acl) = &vault.acl {
            check_acl(&format!("vaults[{index}].acl"), acl)?;
        }
        for (name, folder) in [("memory", &vault.memory), ("prompts", &vault.prompts)] {
            if folder.folder.is_some() && folder.folder().is_none() {
                let remedy = format!(
                    "write the path of a folder such as {name}, without # | [ ] ^ and names that begin with a dot"
                );
                return Err(DocumentError::new(format!("vaults[{index}].{name}.folder"), remedy));
            }
        }
        if let Some(obsidian) = &vault.obsidian {
            obsidian.check(&format!("vaults[{index}].obsidian"))?;
        }
    }
    Ok(())
}

/// Refuses an access list at `path` that cannot be one.
pub(crate) fn check_acl(path: &str, acl: &AclConfig) -> Result<(), DocumentError> {
    let wrong = |error: AclError| {
        DocumentError::new(format!("{path}.{}", error.name), format!("{} instead of {:?}", error.remedy, error.text))
    };
    Acl::new(acl).map(drop).map_err(wrong)
}
