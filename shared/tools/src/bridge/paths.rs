//! The paths of the Atlas Local Bridge specification. Its root folder contains `vault/`; many vaults have no such
//! folder, and there `vault/x` means `x`.

use atlas_ops::error::Error;
use atlas_ops::read::index::Index;
use atlas_vault::VaultPath;

/// The folder of the specification's notes.
pub(crate) const VAULT_FOLDER: &str = "vault/";

/// The note that the specification has tools overwrite with their results; never a result itself.
pub(crate) const SEARCH_NOTES: &str = "vault/system/search-notes.md";

/// The mapping of the specification's paths to one vault's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BridgePaths {
    /// The root has a folder `vault/`.
    nested: bool,
}

impl BridgePaths {
    pub(crate) fn of(index: &Index) -> Result<Self, Error> {
        Ok(Self { nested: index.has_prefix(VAULT_FOLDER)? })
    }

    /// The mapping for a vault with another layout.
    pub(crate) const fn of_root() -> Self {
        Self { nested: false }
    }

    /// The folder of all notes of the specification: `vault/` or nothing.
    pub(crate) const fn folder(self) -> &'static str {
        if self.nested { VAULT_FOLDER } else { "" }
    }

    /// The vault's path for one of the specification's.
    pub(crate) fn resolve(self, path: &str) -> &str {
        if self.nested { path } else { path.strip_prefix(VAULT_FOLDER).unwrap_or(path) }
    }

    /// The paths that a link or an `include` may mean, best first; empty for an invalid path.
    ///
    /// `from` is the folder of the linking note.
    pub(crate) fn meanings(self, link: &str, from: Option<&str>) -> Vec<VaultPath> {
        let link = link.trim();
        let note = match link.rsplit('/').next() {
            Some(name) if name.to_ascii_lowercase().ends_with(".md") => link.to_owned(),
            _ => format!("{link}.md"),
        };
        let mut paths = Vec::new();
        if note.starts_with(VAULT_FOLDER) {
            paths.push(self.resolve(&note).to_owned());
        }
        paths.push(format!("{}{note}", self.folder()));
        if let Some(relative) = from.and_then(|folder| join(folder, &note)) {
            paths.push(relative);
        }
        let mut meanings: Vec<VaultPath> = paths.iter().filter_map(|path| VaultPath::parse(path).ok()).collect();
        meanings.retain(|path| path.as_str().starts_with(self.folder()));
        meanings
    }
}

/// `link` relative to `folder`; [`None`] if it leaves the vault.
fn join(folder: &str, link: &str) -> Option<String> {
    let mut segments: Vec<&str> = folder.split('/').collect();
    for segment in link.split('/') {
        match segment {
            "." => {}
            ".." => {
                segments.pop()?;
            }
            segment => segments.push(segment),
        }
    }
    Some(segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meanings(nested: bool, link: &str, from: Option<&str>) -> Vec<String> {
        BridgePaths { nested }.meanings(link, from).into_iter().map(|path| path.as_str().to_owned()).collect()
    }

    #[test]
    fn a_link_means_a_note_under_the_vault_folder() {
        assert_eq!(meanings(true, "planning/now", None), ["vault/planning/now.md"]);
        assert_eq!(
            meanings(true, "vault/planning/now.md", None),
            ["vault/planning/now.md", "vault/vault/planning/now.md"]
        );
        assert_eq!(meanings(true, "../contracts/API.md", Some("vault/planning")), ["vault/contracts/API.md"]);
        assert_eq!(
            meanings(true, "roadmap", Some("vault/planning")),
            ["vault/roadmap.md", "vault/planning/roadmap.md"]
        );
    }

    #[test]
    fn without_a_vault_folder_its_name_is_accepted_and_dropped() {
        assert_eq!(meanings(false, "vault/planning/now.md", None), ["planning/now.md", "vault/planning/now.md"]);
        assert_eq!(meanings(false, "planning/now", None), ["planning/now.md"]);
    }

    #[test]
    fn what_leaves_the_vault_means_nothing() {
        assert!(meanings(true, "../../secret", Some("vault/planning")).is_empty());
        assert!(meanings(true, "../../../secret", Some("vault/planning")).is_empty());
        assert!(meanings(true, "../secret", None).is_empty());
        assert!(meanings(false, "/etc/passwd", None).is_empty());
    }
}
