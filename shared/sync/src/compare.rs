//! Finds the folder's unchanged files, by size and time, and the mirror's versions. Pure.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::decide::Version;
use crate::head::Heads;
use crate::rules::{Tree, class_of_name, enters};
use crate::scan::{File, Scan};
use crate::state::Entry;

/// A path of the folder, of the last sync, or of the mirror.
#[derive(Debug)]
pub struct Item {
    /// The path.
    pub path: Arc<str>,
    /// The last version that was equal on both sides.
    pub entry: Option<Arc<Entry>>,
    /// The folder's version, if the mirror had it once and the folder has not been changed since.
    pub past: Version,
    /// The folder's version.
    pub found: InFolder,
    /// The mirror's version.
    pub head: Version,
    /// Whether the folder's rules exclude it, or files of its name belong to no vault.
    pub is_ignored: bool,
}

/// The state of a path in the folder.
#[derive(Debug)]
pub enum InFolder {
    /// Unchanged since the last sync.
    Same(File),
    /// A file that must be read to know.
    Touched(File),
    /// No file.
    Nothing,
    /// Unknown.
    Unknown,
}

impl Item {
    /// The last version that was equal on both sides.
    pub fn ancestor(&self) -> Version {
        self.past.or_else(|| self.entry.as_ref().map(|entry| entry.sha256))
    }
}

/// Compares a scan with the `entries` of the last sync and with the mirror. With `checksum` every file must be read.
/// Returns all paths in order.
pub fn compare(scan: Scan, entries: Vec<Arc<Entry>>, heads: &Heads, tree: Tree, checksum: bool) -> Vec<Item> {
    let Scan { files, unknown, ignored, .. } = scan;
    let is_ignored = |path: &str| tree == Tree::Vault && ignored.exclude(path);
    let is_unknown = |path: &str| unknown.holds(path) || is_ignored(path);
    let mut items = in_folder(files, entries, is_unknown, tree, checksum);
    for item in &mut items {
        item.head = heads.version(&item.path, item.ancestor());
    }
    let is_new = |path: &str| items.binary_search_by(|item| (*item.path).cmp(path)).is_err();
    let is_shown = |path: &str| tree.class_of(path).is_some() || tree == Tree::Vault && is_left_out_by_name(path);
    let only_head = heads.documents.iter().filter(|(path, _)| is_shown(path) && is_new(path));
    let only_head: Vec<Item> = only_head
        .filter_map(|(path, documents)| {
            let head = Some(documents.first()?.sha256);
            let found =
                if is_unknown(path) || tree.class_of(path).is_none() { InFolder::Unknown } else { InFolder::Nothing };
            Some(Item { path: path.as_str().into(), entry: None, past: None, found, head, is_ignored: false })
        })
        .collect();
    items.extend(only_head);
    for item in items.iter_mut().filter(|item| matches!(item.found, InFolder::Unknown)) {
        let is_left_out = tree == Tree::Vault && tree.class_of(&item.path).is_none();
        item.is_ignored = is_left_out || is_ignored(&item.path);
    }
    items.sort_by(|a, b| a.path.cmp(&b.path));
    items
}

/// Whether the file would belong to the vault if it had another name.
fn is_left_out_by_name(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    class_of_name(name).is_none() && folder.split('/').all(enters)
}

/// Takes the mirror's version as the last common one, so that the folder's version wins, whatever happened between.
pub fn prefer_folder(items: &mut [Item]) {
    for item in items.iter_mut().filter(|item| item.ancestor() != item.head) {
        (item.entry, item.past) = (None, item.head);
        item.found = match std::mem::replace(&mut item.found, InFolder::Unknown) {
            // It equals an older version of the mirror's.
            InFolder::Same(file) => InFolder::Touched(file),
            found => found,
        };
    }
}

/// The paths of the folder and of the last sync, in order.
fn in_folder(
    files: Vec<File>,
    entries: Vec<Arc<Entry>>,
    is_unknown: impl Fn(&str) -> bool,
    tree: Tree,
    checksum: bool,
) -> Vec<Item> {
    let mut items = Vec::with_capacity(files.len().max(entries.len()));
    let (mut files, mut entries) = (files.into_iter().peekable(), entries.into_iter().peekable());
    loop {
        let order = match (files.peek(), entries.peek()) {
            (None, None) => return items,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(file), Some(entry)) => file.path.as_str().cmp(&entry.path),
        };
        let file = if order == Ordering::Greater { None } else { files.next() };
        let entry = if order == Ordering::Less { None } else { entries.next() };
        let found = match (file, &entry) {
            (Some(file), Some(entry)) if !checksum && entry.matches(file.stamp) => InFolder::Same(file),
            (Some(file), _) => InFolder::Touched(file),
            (None, Some(entry)) if is_unknown(&entry.path) || tree.class_of(&entry.path).is_none() => InFolder::Unknown,
            (None, _) => InFolder::Nothing,
        };
        let path = match (&found, &entry) {
            (InFolder::Same(file) | InFolder::Touched(file), _) => file.path.shared(),
            (_, Some(entry)) => entry.path.as_str().into(),
            (_, None) => continue,
        };
        items.push(Item { path, entry, past: None, found, head: None, is_ignored: false });
    }
}
