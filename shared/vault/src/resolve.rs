//! Which file a link means, as Obsidian decides it.
//!
//! Obsidian's help says little of this; the rules are those that its `getFirstLinkpathDest` was seen to keep. Case and
//! Unicode normalisation do not count, and `.md` may be left out. The first rule that applies decides:
//!
//! 1. Without a target (`[[#heading]]`) it is the note itself.
//! 2. `./` and `../` begin at the note's folder and mean exactly that path; `../` at the root stays there.
//! 3. `/` begins at the root and means exactly that path.
//! 4. A path that is right from the root means that file, even where another is nearer.
//! 5. Else it means a file whose path ends so: one in the note's folder or below it before others, of those the one with
//!    the shortest path as UTF-16 counts it, of those the first in byte order.
//!
//! So for markdown links too: `[x](a.md)` finds `sub/a.md`. A name with a dot is tried as it is before `.md` is added to
//! it; one without a dot is a note's. Aliases mean nothing here: Obsidian offers them while one writes, and then writes
//! `[[Note|Alias]]`. Unlike Obsidian, which compares ends of texts, a path ends with whole names only (`[[b/c]]` is not
//! `ab/c.md`), and `./x` is not looked for elsewhere.

use std::cmp::Reverse;
use std::collections::HashMap;

use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::fold::fold;
use crate::path::VaultPath;

/// Files that links can mean. They need not be all of a vault: those with the names that links have will do.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Folded name → folded paths, and the paths.
    by_name: HashMap<String, Vec<(String, VaultPath)>>,
}

impl Files {
    /// Adds a file. One below a folder whose name begins with a dot cannot be meant, and is left out.
    pub fn insert(&mut self, path: VaultPath) {
        if path.as_str().split('/').any(|name| name.starts_with('.')) {
            return;
        }
        let folded = fold(path.as_str());
        let files = self.by_name.entry(last_name(&folded).to_owned()).or_default();
        if !files.iter().any(|(_, known)| *known == path) {
            files.push((folded, path));
        }
    }

    /// Takes a file out.
    pub fn remove(&mut self, path: &VaultPath) {
        if let Some(files) = self.by_name.get_mut(&fold(path.file_name())) {
            files.retain(|(_, known)| known != path);
        }
    }

    /// Whether there is a file with this folded name.
    #[must_use]
    pub fn has_name(&self, folded: &str) -> bool {
        !self.named(folded).is_empty()
    }

    /// What a link with this `target` means wherever it stands, if that is one file and does not depend on where.
    #[must_use]
    pub fn only(&self, target: &str) -> Option<&VaultPath> {
        if target.is_empty() || target.starts_with("./") || target.starts_with("../") {
            return None;
        }
        let mut found = spellings(target).map(|written| found_as(&written, "", self));
        match found.find(|found| !found.is_empty())?.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    fn named(&self, name: &str) -> &[(String, VaultPath)] {
        self.by_name.get(name).map(Vec::as_slice).unwrap_or_default()
    }
}

impl FromIterator<VaultPath> for Files {
    fn from_iter<I: IntoIterator<Item = VaultPath>>(paths: I) -> Self {
        let mut files = Self::default();
        paths.into_iter().for_each(|path| files.insert(path));
        files
    }
}

/// What the link with this `target` (decoded, without its subpath) means that stands in the note at `from`; [`None`] if
/// there is no such file.
#[must_use]
pub fn resolve<'f>(target: &str, from: &'f VaultPath, files: &'f Files) -> Option<&'f VaultPath> {
    meanings(target, from, files).into_iter().next()
}

/// All that it could mean, best first.
#[must_use]
pub fn meanings<'f>(target: &str, from: &'f VaultPath, files: &'f Files) -> Vec<&'f VaultPath> {
    if target.is_empty() {
        return vec![from];
    }
    let mut found = Vec::new();
    for written in spellings(target) {
        found = found_as(&written, from.folder().unwrap_or_default(), files);
        if !found.is_empty() {
            break;
        }
    }
    found
}

/// The folded names that a file must have for a link with this `target` to mean it; none if it has no target.
pub fn names(target: &str) -> impl Iterator<Item = String> {
    spellings(target).map(|written| last_name(&fold(&written)).to_owned())
}

/// Whether a target that means `file` has its whole name, and not one without `.md`.
pub(crate) fn is_whole_name(target: &str, file: &VaultPath) -> bool {
    fold(last_name(&composed(target))) == fold(file.file_name())
}

fn composed(text: &str) -> String {
    if is_nfc(text) { text.to_owned() } else { text.nfc().collect() }
}

/// The target in NFC as it is, if its name has a dot, and with `.md`.
fn spellings(target: &str) -> impl Iterator<Item = String> {
    let target = composed(target);
    let name = last_name(&target);
    let with_extension = (!name.is_empty()).then(|| format!("{target}.md"));
    let as_it_is = name.contains('.').then_some(target);
    as_it_is.into_iter().chain(with_extension)
}

fn found_as<'f>(written: &str, folder: &str, files: &'f Files) -> Vec<&'f VaultPath> {
    let (path, is_whole) = match written.strip_prefix('/') {
        Some(path) => (path.to_owned(), true),
        None if written.starts_with("./") || written.starts_with("../") => (joined(folder, written), true),
        None => (written.to_owned(), false),
    };
    let folded = fold(&path);
    let named = files.named(last_name(&folded));
    let exact = named.iter().filter(|(known, _)| *known == folded).map(|(_, known)| known);
    // Names that differ in case only can be side by side.
    if let Some(exact) = exact.min_by_key(|known| (known.as_str() != path, *known)) {
        return vec![exact];
    }
    if is_whole {
        return Vec::new();
    }
    let folder = fold(folder);
    let is_near = |known: &str| {
        folder.is_empty() || known.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    let ends_so = |known: &str| known.strip_suffix(folded.as_str()).is_some_and(|rest| rest.ends_with('/'));
    let mut found: Vec<_> = named.iter().filter(|(known, _)| ends_so(known)).collect();
    found.sort_by_key(|(known, path)| (Reverse(is_near(known)), path.as_str().encode_utf16().count(), path));
    found.into_iter().map(|(_, path)| path).collect()
}

/// The path that `relative` leads to from `folder`, both without a closing slash.
fn joined(folder: &str, relative: &str) -> String {
    let mut names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    let mut rest = relative;
    loop {
        if let Some(below) = rest.strip_prefix("./") {
            rest = below;
        } else if let Some(above) = rest.strip_prefix("../") {
            names.pop();
            rest = above;
        } else {
            names.push(rest);
            return names.join("/");
        }
    }
}

/// What follows the last slash.
fn last_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests;
