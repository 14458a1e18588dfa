//! Finds the file that a link means, as Obsidian does.
//!
//! Obsidian's help says little about this. The rules below were observed in its `getFirstLinkpathDest`. Case and Unicode normalisation
//! are ignored, and `.md` may be omitted. The first rule that applies decides:
//!
//! 1. An empty target (`[[#heading]]`) means the note itself.
//! 2. A target with `./` or `../` starts at the note's folder and means exactly that path; `../` at the root stays there.
//! 3. A target with `/` starts at the root and means exactly that path.
//! 4. A path that exists from the root means that file, even if another match is nearer.
//! 5. Else it means a file whose path ends so: one in the note's folder or below it before others, of those the one with
//!    the shortest path as UTF-16 counts it, of those the first in byte order.
//!
//! The rules hold for markdown links too: `[x](a.md)` finds `sub/a.md`. A name with a dot is tried as it is before `.md` is added; a name
//! without a dot is always a note's. Aliases do not count: Obsidian offers them while the user types, and then writes `[[Note|Alias]]`.
//! There are two differences from Obsidian, which compares ends of texts: here a path ends with whole names only (`[[b/c]]` is not
//! `ab/c.md`), and `./x` is searched for nowhere else.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::fold::fold;
use crate::path::VaultPath;

/// Files that links can mean. They need not be all files of a vault: all files whose names occur in the links are enough.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The key is the folded path with its names reversed, so that paths with a common end are neighbours. The value is the paths with
    /// that key.
    by_end: BTreeMap<String, BTreeSet<VaultPath>>,
}

impl Files {
    /// Adds a file. A file below a folder whose name begins with a dot is left out, since links cannot mean it.
    pub fn insert(&mut self, path: VaultPath) {
        if !path.as_str().split('/').any(|name| name.starts_with('.')) {
            self.by_end.entry(from_end(&fold(path.as_str()))).or_default().insert(path);
        }
    }

    /// Removes a file.
    pub fn remove(&mut self, path: &VaultPath) {
        let end = from_end(&fold(path.as_str()));
        if let Some(files) = self.by_end.get_mut(&end) {
            files.remove(path);
            if files.is_empty() {
                self.by_end.remove(&end);
            }
        }
    }

    /// Whether there is a file with this folded name.
    #[must_use]
    pub fn has_name(&self, folded: &str) -> bool {
        self.by_end.contains_key(folded) || self.below(folded).next().is_some()
    }

    /// The file that a link with this `target` means from every note; [`None`] if there is no file, or if it depends on the note.
    #[must_use]
    pub fn only(&self, target: &str) -> Option<&VaultPath> {
        if target.is_empty() || target.starts_with("./") || target.starts_with("../") {
            return None;
        }
        let mut found = spellings(target).map(|written| Candidates::of(&written, "", self).all());
        match found.find(|found| !found.is_empty())?.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The files in any folder whose paths have this end, with their folded, reversed paths.
    fn below(&self, end: &str) -> impl Iterator<Item = (&str, &VaultPath)> {
        let begin = format!("{end}/");
        let from = self.by_end.range::<str, _>((Bound::Included(begin.as_str()), Bound::Unbounded));
        let has_end = from.take_while(move |(known, _)| known.starts_with(&begin));
        has_end.flat_map(|(known, paths)| paths.iter().map(move |path| (known.as_str(), path)))
    }
}

impl FromIterator<VaultPath> for Files {
    fn from_iter<I: IntoIterator<Item = VaultPath>>(paths: I) -> Self {
        let mut files = Self::default();
        paths.into_iter().for_each(|path| files.insert(path));
        files
    }
}

/// The file that a link with this `target` (decoded, without its subpath) means in the note at `from`; [`None`] if there is no such file.
#[must_use]
pub fn resolve<'f>(target: &str, from: &'f VaultPath, files: &'f Files) -> Option<&'f VaultPath> {
    if target.is_empty() {
        return Some(from);
    }
    spellings(target).find_map(|written| Candidates::of(&written, from.folder().unwrap_or_default(), files).best())
}

/// All files that the link could mean, best first.
#[must_use]
pub fn meanings<'f>(target: &str, from: &'f VaultPath, files: &'f Files) -> Vec<&'f VaultPath> {
    if target.is_empty() {
        return vec![from];
    }
    let found =
        spellings(target).map(|written| Candidates::of(&written, from.folder().unwrap_or_default(), files).all());
    found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

/// The folded names that a file must have for a link with this `target` to mean it; none if it has no target.
pub fn names(target: &str) -> impl Iterator<Item = String> {
    spellings(target).map(|written| last_name(&fold(&written)).to_owned())
}

/// Whether `target`, which means `file`, has the file's whole name, and not the name without `.md`.
pub(crate) fn is_whole_name(target: &str, file: &VaultPath) -> bool {
    fold(last_name(&composed(target))) == fold(file.file_name())
}

fn composed(text: &str) -> String {
    if is_nfc(text) { text.to_owned() } else { text.nfc().collect() }
}

/// The spellings that a link's `target` may have, in NFC: the target as it is, if its name has a dot, and the target with `.md`.
pub fn spellings(target: &str) -> impl Iterator<Item = String> {
    let target = composed(target);
    let name = last_name(&target);
    let with_extension = (!name.is_empty()).then(|| format!("{target}.md"));
    let as_it_is = name.contains('.').then_some(target);
    as_it_is.into_iter().chain(with_extension)
}

/// The files that a link may mean, by how it is written.
enum Candidates<'f> {
    /// This file, or none.
    Exact(Option<&'f VaultPath>),
    /// Files whose reversed path begins with `end`. Files in or below the folder with the folded, reversed path `near` come first.
    Ending { end: String, near: String, files: &'f Files },
}

impl<'f> Candidates<'f> {
    fn of(written: &str, folder: &str, files: &'f Files) -> Self {
        let (path, is_whole) = match written.strip_prefix('/') {
            Some(path) => (path.to_owned(), true),
            None if written.starts_with("./") || written.starts_with("../") => (joined(folder, written), true),
            None => (written.to_owned(), false),
        };
        let end = from_end(&fold(&path));
        // Several paths can differ in case only.
        let exact = files.by_end.get(&end).into_iter().flatten();
        match exact.min_by_key(|known| (known.as_str() != path, *known)) {
            None if !is_whole => Self::Ending { end, near: from_end(&fold(folder)), files },
            exact => Self::Exact(exact),
        }
    }

    fn best(self) -> Option<&'f VaultPath> {
        match self {
            Self::Exact(exact) => exact,
            Self::Ending { end, near, files } => {
                // Usually few files are near, and only their lengths need to be computed.
                let in_reach = files.below(&end).filter(|(known, _)| is_near(&near, known));
                let best = in_reach.map(|(_, path)| path).min_by_key(|path| length(path));
                best.or_else(|| files.below(&end).map(|(_, path)| path).min_by_key(|path| length(path)))
            }
        }
    }

    /// All, best first.
    fn all(self) -> Vec<&'f VaultPath> {
        match self {
            Self::Exact(exact) => exact.into_iter().collect(),
            Self::Ending { end, near, files } => {
                let mut found: Vec<_> = files.below(&end).collect();
                found.sort_by_cached_key(|(known, path)| (!is_near(&near, known), length(path)));
                found.into_iter().map(|(_, path)| path).collect()
            }
        }
    }
}

/// Whether a path is in a folder or below it. Both are reversed.
fn is_near(folder: &str, known: &str) -> bool {
    folder.is_empty() || known.strip_suffix(folder).is_some_and(|rest| rest.ends_with('/'))
}

/// The sort key of a path: the smaller is better.
fn length(path: &VaultPath) -> (usize, &VaultPath) {
    (path.as_str().encode_utf16().count(), path)
}

/// A path with its names reversed: the last name comes first.
fn from_end(path: &str) -> String {
    path.rsplit('/').collect::<Vec<_>>().join("/")
}

/// The path that `relative` leads to from `folder`. Neither ends in a slash.
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

/// The text after the last slash.
fn last_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests;
