//! Which of the folder's files are what they were, by size and time. Pure.

use std::cmp::Ordering;

use crate::decide::Version;
use crate::rules;
use crate::scan::{File, Scan};
use crate::state::Entry;

/// A path of the folder or of the last sync.
#[derive(Debug)]
pub struct Item {
    /// What was last equal on both sides.
    pub entry: Option<Entry>,
    /// What the folder has.
    pub found: Found,
}

/// What the folder has at a path.
#[derive(Debug)]
pub enum Found {
    /// What it had at the last sync.
    Same(File),
    /// A file that has to be read to know.
    Touched(File),
    /// Nothing.
    Nothing,
    /// It is not known what.
    Unknown,
}

impl Item {
    /// The path.
    pub fn path(&self) -> &str {
        match (&self.found, &self.entry) {
            (Found::Same(file) | Found::Touched(file), _) => file.path.as_str(),
            (_, Some(entry)) => &entry.path,
            (_, None) => "",
        }
    }

    /// What was last equal on both sides.
    pub fn ancestor(&self) -> Version {
        self.entry.as_ref().map(|entry| entry.sha256)
    }
}

/// Compares what was found with what the last sync left, both by path. With `checksum` every file has to be read.
pub fn compare(scan: Scan, entries: Vec<Entry>, checksum: bool) -> Vec<Item> {
    let Scan { files, unknown, .. } = scan;
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
            (Some(file), Some(entry)) if !checksum && entry.matches(file.stamp) => Found::Same(file),
            (Some(file), _) => Found::Touched(file),
            (None, Some(entry)) if unknown.holds(&entry.path) || rules::class_of(&entry.path).is_none() => {
                Found::Unknown
            }
            (None, _) => Found::Nothing,
        };
        items.push(Item { entry, found });
    }
}
