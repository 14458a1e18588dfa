//! How a branch spells its paths. A vault has each path in NFC only, and a branch may have it in another Unicode form.

use std::collections::{BTreeMap, BTreeSet};

use atlas_sync::rules::Tree;
use atlas_sync::{Only, Reason, Skipped};
use atlas_vault::VaultPath;

use super::repository::{GitFile, Listing};

/// Most bytes of one file.
pub(super) const MAX_FILE: u64 = 64 << 20;

/// The vault's path of the file that a branch or a folder has at `path`; the same if it cannot be in a vault.
pub(super) fn vault_path(path: &str) -> String {
    VaultPath::parse_recorded(path).map_or_else(|_| path.to_owned(), |path| path.as_str().to_owned())
}

/// The files of a commit, as a vault sees them.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    /// The files that take part, in the branch's spelling, by the vault's path.
    pub(super) wanted: BTreeMap<String, String>,
    /// The further spellings of some of them, with the same content.
    pub(super) twins: BTreeSet<String>,
    /// The vault's paths that the branch has something else at: nothing there, or below, is changed on either side.
    pub(super) closed: BTreeSet<String>,
    /// What does not take part and could, and why.
    pub(super) skipped: Vec<Skipped>,
}

impl Sorted {
    /// Sorts what a commit has into what takes part, if `only` has it, and the rest.
    pub(super) fn of(listing: &Listing, only: &Only) -> Self {
        let mut sorted = Self::default();
        for (path, reason) in &listing.others {
            let is_chosen = only.has(path) || only.has(&format!("{path}/a"));
            if is_chosen && Tree::Vault.class_of(path).is_some() {
                sorted.skip(path, reason.clone());
            }
            // A name that is not UTF-8 is no path of a vault.
            if *reason != Reason::NotUnicode {
                sorted.closed.insert(vault_path(path));
            }
        }
        let mut by_path: BTreeMap<String, Vec<(&String, &GitFile)>> = BTreeMap::new();
        // A hidden file belongs to no vault.
        let is_chosen = |path: &str| only.has(path) && Tree::Vault.class_of(path).is_some();
        for (path, file) in listing.files.iter().filter(|(path, _)| is_chosen(path)) {
            match VaultPath::parse(path) {
                Ok(of_vault) => by_path.entry(of_vault.as_str().to_owned()).or_default().push((path, file)),
                Err(error) => sorted.skip(path, Reason::Path(error)),
            }
        }
        for (of_vault, same) in by_path {
            let Some((first, file)) = same.first() else { continue };
            if same.iter().any(|(_, other)| other.id != file.id) {
                same.iter().for_each(|(path, _)| sorted.skip(path, Reason::SameName));
                sorted.closed.insert(of_vault);
            } else if file.bytes > MAX_FILE {
                sorted.skip(first, Reason::Unreadable(format!("it has more than {MAX_FILE} bytes")));
                sorted.closed.insert(of_vault);
            } else {
                // A form that is not the vault's is somebody's own.
                let kept = same.iter().find(|(path, _)| **path != of_vault).map_or(*first, |(path, _)| *path);
                let twins = same.iter().filter(|(path, _)| *path != kept);
                sorted.twins.extend(twins.map(|(path, _)| (*path).clone()));
                sorted.wanted.insert(of_vault, kept.clone());
            }
        }
        sorted
    }

    /// Leaves the file `path` of the branch as it is on both sides.
    pub(super) fn close(&mut self, path: &str, reason: Reason) {
        let of_vault = vault_path(path);
        self.wanted.remove(&of_vault);
        self.closed.insert(of_vault);
        self.skip(path, reason);
    }

    fn skip(&mut self, path: &str, reason: Reason) {
        self.skipped.push(Skipped { path: path.to_owned(), reason });
    }

    /// Whether the branch has something else at the vault's `path`, or at a folder of it.
    pub(super) fn closes(&self, path: &str) -> bool {
        let folders = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        folders.chain([path]).any(|path| self.closed.contains(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NFC: &str = "Zo\u{eb}.md";
    const NFD: &str = "Zoe\u{308}.md";

    fn sorted(files: &[(&str, &str, u64)], others: &[(&str, Reason)]) -> Sorted {
        let file = |id: &str, bytes| GitFile { mode: "100644".to_owned(), id: id.to_owned(), bytes };
        let files = files.iter().map(|(path, id, bytes)| ((*path).to_owned(), file(id, *bytes))).collect();
        let others = others.iter().map(|(path, reason)| ((*path).to_owned(), reason.clone())).collect();
        Sorted::of(&Listing { files, others }, &Only::of(["**"]).unwrap())
    }

    #[test]
    fn a_file_keeps_its_spelling_and_an_equal_twin_is_no_second_file() {
        let one = sorted(&[(NFD, "1", 1)], &[]);
        assert_eq!(one.wanted, BTreeMap::from([(NFC.to_owned(), NFD.to_owned())]));
        let twins = sorted(&[(NFD, "1", 1), (NFC, "1", 1)], &[]);
        assert_eq!(twins.wanted, one.wanted);
        assert_eq!(twins.twins, BTreeSet::from([NFC.to_owned()]));
    }

    #[test]
    fn what_cannot_take_part_is_told_and_closes_its_path() {
        let sorted = sorted(
            &[(NFD, "1", 1), (NFC, "2", 1), ("big.pdf", "3", MAX_FILE + 1), (".hidden/a.md", "4", 1), ("a.md", "5", 1)],
            &[("link", Reason::LinkInGit), ("\u{fffd}.md", Reason::NotUnicode)],
        );
        let skipped: Vec<&str> = sorted.skipped.iter().map(|skipped| skipped.path.as_str()).collect();
        assert_eq!(skipped, ["link", "\u{fffd}.md", NFD, NFC, "big.pdf"]);
        assert_eq!(sorted.wanted, BTreeMap::from([("a.md".to_owned(), "a.md".to_owned())]));
        for path in [NFC, "big.pdf", "link", "link/deep/a.md"] {
            assert!(sorted.closes(path), "{path}");
        }
        assert!(!sorted.closes("a.md") && !sorted.closes("links/a.md"));
    }
}
