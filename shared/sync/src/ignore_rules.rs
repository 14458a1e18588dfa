//! The rules of `.atlasignore` and `.gitignore` files.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read as _};

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::rules::Tree;

/// The file of a vault's rules.
const OF_VAULT: &str = ".atlasignore";
/// The file of the rules of source code.
const OF_CODE: &str = ".gitignore";
/// Most bytes of one such file.
const MAX_BYTES: u64 = 256 << 10;

/// The rules of the folders entered so far, by the folder's path; the root's is empty.
#[derive(Debug)]
pub struct IgnoreRules {
    /// The name of the files.
    name: &'static str,
    by_folder: BTreeMap<String, Gitignore>,
}

impl Default for IgnoreRules {
    fn default() -> Self {
        Self::of(Tree::Vault)
    }
}

impl IgnoreRules {
    /// No rules yet, for a kind of folder.
    pub(crate) const fn of(tree: Tree) -> Self {
        let name = match tree {
            Tree::Vault => OF_VAULT,
            Tree::Code => OF_CODE,
        };
        Self { name, by_folder: BTreeMap::new() }
    }

    /// Whether a file of this name has rules.
    pub(crate) fn are_in(&self, name: &OsStr) -> bool {
        name == self.name
    }

    /// Reads the rules of `folder` within `root`, which has some. An unreadable file is an error, since its rules may
    /// protect a secret.
    pub(crate) fn enter(&mut self, root: &Dir, folder: &str) -> io::Result<()> {
        let name = self.name;
        let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        match root.symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => {}
            // As in Git.
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        let mut bytes = Vec::new();
        root.open(&path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(io::Error::other(format!("its {name} has more than {MAX_BYTES} bytes")));
        }
        self.add(folder, &String::from_utf8_lossy(&bytes));
        Ok(())
    }

    fn add(&mut self, folder: &str, text: &str) {
        let mut rules = GitignoreBuilder::new("");
        for line in text.trim_start_matches('\u{feff}').lines() {
            // As in Git, an invalid line excludes nothing.
            let _ = rules.add_line(None, line);
        }
        if let Ok(rules) = rules.build() {
            self.by_folder.insert(folder.to_owned(), rules);
        }
    }

    /// Whether the rules exclude `path`, which is in a folder that was entered. The nearest folder's rules have
    /// precedence.
    pub(crate) fn leave_out(&self, path: &str, is_folder: bool) -> bool {
        let mut folder = Some(parent(path));
        while let Some(at) = folder {
            let below = path.strip_prefix(at).unwrap_or(path).trim_start_matches('/');
            match self.by_folder.get(at).map_or(Match::None, |rules| rules.matched(below, is_folder)) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => folder = (!at.is_empty()).then(|| parent(at)),
            }
        }
        false
    }

    /// Whether the rules exclude a file at `path`, or one of the folders that it is in.
    pub fn exclude(&self, path: &str) -> bool {
        let is_in_excluded =
            || path.match_indices('/').any(|(end, _)| self.leave_out(path.get(..end).unwrap_or_default(), true));
        !self.by_folder.is_empty() && (is_in_excluded() || self.leave_out(path, false))
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rules_have_the_last_word() {
        let mut rules = IgnoreRules::of(Tree::Code);
        rules.add("", "\u{feff}# built\n*.log\r\n/target/\nsecret\n!keep.log\n[\n");
        rules.add("a/b", "!x.log\n/only-here.md\n");
        for (path, is_folder, left_out) in [
            ("x.log", false, true),
            ("keep.log", false, false),
            ("a/x.log", false, true),
            ("a/b/x.log", false, false),
            ("a/b/c/x.log", false, false),
            ("a/b/y.log", false, true),
            ("target", true, true),
            ("target", false, false),
            ("a/target", true, false),
            ("a/secret", true, true),
            ("a/b/only-here.md", false, true),
            ("a/b/c/only-here.md", false, false),
            ("only-here.md", false, false),
        ] {
            assert_eq!(rules.leave_out(path, is_folder), left_out, "{path}");
        }
    }

    #[test]
    fn what_is_below_an_excluded_folder_is_excluded() {
        let mut rules = IgnoreRules::default();
        assert!(!rules.exclude("a.md"));
        rules.add("", "private/\n*.tmp.md\n");
        for (path, excluded) in [
            ("private/a.md", true),
            ("work/private/deep/a.md", true),
            ("private", false),
            ("private.md", false),
            ("x.tmp.md", true),
            ("work/x.tmp.md", true),
        ] {
            assert_eq!(rules.exclude(path), excluded, "{path}");
        }
    }
}
