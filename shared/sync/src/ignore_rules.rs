//! The rules of `.atlasignore` and `.gitignore` files.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read as _};

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use unicode_normalization::UnicodeNormalization as _;

use crate::folder::Folder;
use crate::rules::{Tree, class_of_name, of_placeholder};

/// The file of a vault's rules.
const OF_VAULT: &str = ".atlasignore";
/// The file of the rules of source code.
const OF_CODE: &str = ".gitignore";
/// Most bytes of one such file.
const MAX_BYTES: u64 = 256 << 10;

/// Why rules cannot be applied.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unusable(String);

/// Whether the error is of rules that cannot be applied.
pub(crate) fn are_unusable(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<Unusable>())
}

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

    /// Whether a file of this name has rules, or stands for one that has.
    pub(crate) fn are_in(&self, name: &str) -> bool {
        name == self.name || self.is_strict() && of_placeholder(name) == Some(self.name)
    }

    /// Whether rules that cannot be applied as they are written are an error. Git lets them exclude nothing.
    fn is_strict(&self) -> bool {
        self.name == OF_VAULT
    }

    /// Reads the rules of `folder` within `root` from its file `found`, for which [`are_in`](Self::are_in) holds.
    ///
    /// # Errors
    /// When they cannot be read, since they may protect a secret.
    pub(crate) fn enter(&mut self, root: &Dir, folder: &str, found: &str) -> io::Result<()> {
        let name = self.name;
        let unusable = |why: String| Err(io::Error::other(Unusable(format!("its {name} {why}"))));
        if found != self.name {
            return unusable("is in iCloud and not on this disk: download it".to_owned());
        }
        let path = if folder.is_empty() { found.to_owned() } else { format!("{folder}/{found}") };
        if !root.symlink_metadata(&path)?.is_file() {
            return if self.is_strict() { unusable("is no file".to_owned()) } else { Ok(()) };
        }
        let mut bytes = Vec::new();
        root.open(&path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_BYTES {
            return unusable(format!("has more than {MAX_BYTES} bytes: make it shorter"));
        }
        let text = match decoded(&bytes) {
            None if self.is_strict() => return unusable("is not UTF-8: save it as UTF-8".to_owned()),
            text => text.unwrap_or_else(|| String::from_utf8_lossy(&bytes)),
        };
        match self.add(folder, &text) {
            Err(why) if self.is_strict() => unusable(why),
            _ => Ok(()),
        }
    }

    /// Adds rules; says which of them is none.
    fn add(&mut self, folder: &str, text: &str) -> Result<(), String> {
        let mut rules = GitignoreBuilder::new("");
        let mut invalid = Ok(());
        for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            // As in Git, an invalid line excludes nothing.
            if rules.add_line(None, &line.nfc().collect::<String>()).is_err() {
                invalid = Err(format!("has no rule in line {}", number + 1));
            }
        }
        let rules = rules.build().map_err(|_| "has more rules than can be applied".to_owned())?;
        self.by_folder.insert(folder.nfc().collect(), rules);
        invalid
    }

    /// The rule that excludes `path`, which is in a folder that was entered. The nearest folder's rules have
    /// precedence.
    pub(crate) fn rule(&self, path: &str, is_folder: bool) -> Option<String> {
        if self.by_folder.is_empty() {
            return None;
        }
        let path = &*path.nfc().collect::<String>();
        let mut folder = Some(parent(path));
        while let Some(at) = folder {
            let below = path.strip_prefix(at).unwrap_or(path).trim_start_matches('/');
            match self.by_folder.get(at).map_or(Match::None, |rules| rules.matched(below, is_folder)) {
                Match::Ignore(glob) => {
                    let file = if at.is_empty() { self.name.to_owned() } else { format!("{at}/{}", self.name) };
                    return Some(format!("`{}` in {file}", glob.original()));
                }
                Match::Whitelist(_) => return None,
                Match::None => folder = (!at.is_empty()).then(|| parent(at)),
            }
        }
        None
    }

    /// Whether the rules exclude `path`, which is in a folder that was entered.
    pub(crate) fn leave_out(&self, path: &str, is_folder: bool) -> bool {
        self.rule(path, is_folder).is_some()
    }

    /// Whether the rules exclude a file at `path`, or one of the folders that it is in.
    pub fn exclude(&self, path: &str) -> bool {
        let is_in_excluded =
            || path.match_indices('/').any(|(end, _)| self.leave_out(path.get(..end).unwrap_or_default(), true));
        !self.by_folder.is_empty() && (is_in_excluded() || self.leave_out(path, false))
    }
}

/// A text in UTF-8, or in UTF-16 with a byte order mark, as some editors save it.
fn decoded(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let unit: fn([u8; 2]) -> u16 = match bytes.first_chunk() {
        Some([0xff, 0xfe]) => u16::from_le_bytes,
        Some([0xfe, 0xff]) => u16::from_be_bytes,
        _ => return str::from_utf8(bytes).ok().map(Cow::Borrowed),
    };
    let (units, rest) = bytes.as_chunks();
    let text = char::decode_utf16(units.iter().copied().map(unit)).collect::<Result<String, _>>();
    text.ok().filter(|_| rest.is_empty()).map(Cow::Owned)
}

/// Whether the `.atlasignore` files of the vault in `root`, or its name, exclude the file at `path`.
///
/// # Errors
/// When one of them cannot be read.
pub fn is_excluded(root: &Folder, path: &str) -> io::Result<bool> {
    let mut rules = IgnoreRules::of(Tree::Vault);
    let ends = path.match_indices('/').map(|(end, _)| end);
    for folder in std::iter::once("").chain(ends.filter_map(|end| path.get(..end))) {
        let file = if folder.is_empty() { OF_VAULT.to_owned() } else { format!("{folder}/{OF_VAULT}") };
        if root.dir.symlink_metadata(file).is_ok() {
            rules.enter(&root.dir, folder, OF_VAULT)?;
        }
    }
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    Ok(rules.exclude(path) || class_of_name(name).is_none())
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
        let _ = rules.add("", "\u{feff}# built\n*.log\r\n/target/\nsecret\n!keep.log\n[\n");
        let _ = rules.add("a/b", "!x.log\n/only-here.md\n");
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
        assert_eq!(rules.rule("a/b/y.log", false).as_deref(), Some("`*.log` in .gitignore"));
        assert_eq!(rules.rule("a/b/only-here.md", false).as_deref(), Some("`/only-here.md` in a/b/.gitignore"));
    }

    #[test]
    fn what_is_below_an_excluded_folder_is_excluded() {
        let mut rules = IgnoreRules::default();
        assert!(!rules.exclude("a.md"));
        let _ = rules.add("", "Café/\nprivate/\n*.tmp.md\n");
        for (path, excluded) in [
            ("private/a.md", true),
            ("Cafe\u{301}/a.md", true),
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
