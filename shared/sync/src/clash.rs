//! Finds paths where a file and a folder would have one name. The folder keeps the name, and the file is renamed.

use std::collections::{HashMap, HashSet};

use crate::compare::{InFolder, Item};
use crate::decide::{Action, decide};
use crate::folder::{Content, Folder};
use crate::head::HeadDocuments;
use crate::reading::Contents;
use crate::report::Reason;
use crate::scan::File;

/// The files to rename, by the index of their items.
#[derive(Debug, Default)]
pub(crate) struct Clashes {
    /// Files of the mirror at whose path the folder has, or gets, a folder.
    pub(crate) displaced: HashSet<usize>,
    /// Files of the folder at paths where the mirror has a folder.
    pub(crate) in_the_way: Vec<InTheWay>,
}

/// A file of the folder to rename.
#[derive(Debug)]
pub(crate) struct InTheWay {
    pub(crate) file: File,
    /// Whether the mirror has the same version there.
    pub(crate) is_head: bool,
}

/// The plan's effect on the folder at a path, if known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prospect {
    /// A new file is written.
    Comes,
    /// A file stays.
    Stays,
    /// No file, or unknown.
    Other,
}

/// Finds the files that must be renamed for files from the mirror. `items` are in order; `contents` is what was read of
/// them.
pub(crate) fn find(items: &[Item], contents: &Contents, folder: &Folder) -> Clashes {
    let after: Vec<Prospect> =
        items.iter().enumerate().map(|(index, item)| after(item, contents.get(&index))).collect();
    let mut clashes = Clashes::default();
    if !after.contains(&Prospect::Comes) {
        return clashes;
    }
    let at = |path: &str| items.binary_search_by(|item| (*item.path).cmp(path)).ok();
    let becomes = |index: usize| after.get(index).copied().unwrap_or(Prospect::Other);
    let mut stands = HashSet::new();
    // Another spelling of a path from the mirror, where the file system may not distinguish the two: the disk decides.
    let mut folded: HashMap<String, &str> = HashMap::new();
    let coming = || items.iter().enumerate().filter(|(index, _)| becomes(*index) == Prospect::Comes);
    for (index, item) in coming() {
        for above in folders_of(&item.path) {
            if let Some(file) = at(above) {
                match becomes(file) {
                    Prospect::Comes => drop(clashes.displaced.insert(file)),
                    Prospect::Stays => drop(stands.insert(file)),
                    Prospect::Other => {}
                }
            }
            folded.entry(above.to_lowercase()).or_insert(above);
        }
        let below = format!("{}/", item.path);
        let start = items.partition_point(|item| *item.path < *below);
        let mut below = items.iter().enumerate().skip(start).take_while(|(_, item)| item.path.starts_with(&below));
        if below.any(|(below, _)| becomes(below) != Prospect::Other) {
            clashes.displaced.insert(index);
        }
    }
    let files: HashMap<String, usize> = coming().map(|(index, item)| (item.path.to_lowercase(), index)).collect();
    let mut last = "";
    for (index, item) in items.iter().enumerate().filter(|(index, _)| becomes(*index) == Prospect::Stays) {
        let comes = folded.get(&item.path.to_lowercase()).filter(|comes| ***comes != *item.path);
        if comes.is_some_and(|comes| folder.stamp(comes).is_some()) {
            stands.insert(index);
        }
        let parent = item.path.rsplit_once('/').map_or("", |(parent, _)| parent);
        if parent == last {
            continue;
        }
        last = parent;
        for above in folders_of(&item.path) {
            let file = files.get(&above.to_lowercase()).and_then(|file| Some((*file, items.get(*file)?)));
            if let Some((file, item)) = file.filter(|(_, item)| *item.path != *above && folder.has_folder(&item.path)) {
                tracing::debug!(path = &*item.path, "a folder has the name in another case");
                clashes.displaced.insert(file);
            }
        }
    }
    let in_the_way = |index: usize| {
        let item = items.get(index)?;
        let (InFolder::Same(file) | InFolder::Touched(file)) = &item.found else { return None };
        let sha256 = match contents.get(&index) {
            Some(content) => content.as_ref().ok().map(|content| content.sha256),
            None => item.ancestor(),
        };
        Some(InTheWay { file: file.clone(), is_head: sha256.is_some() && sha256 == item.head })
    };
    let mut stands: Vec<usize> = stands.into_iter().collect();
    stands.sort_unstable();
    clashes.in_the_way = stands.into_iter().filter_map(in_the_way).collect();
    clashes
}

fn after(item: &Item, content: Option<&Result<Content, Reason>>) -> Prospect {
    let ancestor = item.ancestor();
    let folder = match (&item.found, content) {
        (InFolder::Unknown, _) | (InFolder::Touched(_), Some(Err(_))) => return Prospect::Other,
        (InFolder::Nothing, _) => None,
        (InFolder::Same(_), _) => ancestor,
        // A new file, which need not be read.
        (InFolder::Touched(_), None) => return Prospect::Stays,
        (InFolder::Touched(_), Some(Ok(content))) => Some(content.sha256),
    };
    match (folder, item.head, decide(ancestor, folder, item.head)) {
        (None, Some(_), Action::Pull) => Prospect::Comes,
        (None, ..) | (_, None, Action::Pull) => Prospect::Other,
        _ => Prospect::Stays,
    }
}

/// The folders that contain the file at `path`, from the innermost.
pub(crate) fn folders_of(path: &str) -> impl Iterator<Item = &str> {
    path.char_indices().rev().filter(|(_, character)| *character == '/').filter_map(|(end, _)| path.get(..end))
}

/// Whether a document is in a folder named `path`.
pub(crate) fn is_folder(documents: &HeadDocuments, path: &str) -> bool {
    let below = format!("{path}/");
    let mut after = documents.range::<str, _>((std::ops::Bound::Included(below.as_str()), std::ops::Bound::Unbounded));
    after.next().is_some_and(|(path, _)| path.starts_with(&below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_no_folder_has_none() {
        assert_eq!(folders_of("a/b/c.md").collect::<Vec<_>>(), ["a/b", "a"]);
        assert_eq!(folders_of("c.md").count(), 0);
    }
}
