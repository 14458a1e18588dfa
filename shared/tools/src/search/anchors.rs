//! The links to notes: their words, and their number. Only links of notes that the caller sees count,
//! and they count for every file that their target may mean, so that hidden files change nothing.

use std::collections::{BTreeMap, BTreeSet};

use atlas_ops::error::Error;
use atlas_ops::read::index::{DocumentRef, Index};
use atlas_vault::fold;

use crate::search::lists::Term;

/// The weight of a word in the text of a link, …
const ANCHOR: f32 = 2.0;
/// … of so many links at most.
const MAX_ANCHORS: u32 = 5;
/// A word of more links says nothing of where they lead.
const MAX_LINKS: usize = 1_000;
/// A name that more files have says nothing of any of them.
const MAX_NAMESAKES: usize = 4;
/// Most links to a note that are counted.
const MAX_LINKING: usize = 100;

/// The documents that links lead to by a word of `terms`, with their weights.
pub(crate) fn anchored(index: &Index, terms: &[Term]) -> Result<BTreeMap<DocumentRef, f32>, Error> {
    let factor = terms.first().map_or(1.0, |term| term.factor);
    let words: BTreeSet<&str> = terms.iter().map(|term| &*term.word).collect();
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for word in words {
        let mut links = Vec::new();
        for segment in index.segments() {
            let all = index.anchors(segment)?.into_iter().flat_map(|anchors| anchors.of_key(word));
            let seen = all.filter(|(document, _)| index.shows(DocumentRef { segment, document: *document }));
            links.extend(seen.map(|(_, targets)| targets).take(MAX_LINKS + 1 - links.len().min(MAX_LINKS)));
        }
        for targets in links.iter().filter(|_| links.len() <= MAX_LINKS) {
            targets.iter().for_each(|target| *counts.entry(target).or_default() += 1);
        }
    }
    let mut found = BTreeMap::new();
    for (target, count) in counts {
        let documents = meant(index, target)?;
        if documents.len() <= MAX_NAMESAKES {
            for document in documents {
                *found.entry(document).or_default() += factor * ANCHOR * count.min(MAX_ANCHORS) as f32;
            }
        }
    }
    Ok(found)
}

/// The documents that a folded target may mean.
fn meant(index: &Index, target: &str) -> Result<Vec<DocumentRef>, Error> {
    let (folder, name) = target.rsplit_once('/').unwrap_or(("", target));
    let mut found = Vec::new();
    for segment in index.segments() {
        for document in index.names(segment)?.named(name) {
            let document = DocumentRef { segment, document: *document };
            if index.shows(document) && (folder.is_empty() || is_in(&fold(&index.path(document)?), folder)) {
                found.push(document);
            }
        }
    }
    Ok(found)
}

/// Whether the file at a folded path is in `folder`, which may be the end of its folder.
fn is_in(path: &str, folder: &str) -> bool {
    if folder.is_empty() {
        return true;
    }
    let own = path.rsplit_once('/').map_or("", |(own, _)| own);
    own.strip_suffix(folder).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// How many other files link to one, whose folded name is `name`; up to a hundred.
pub(crate) fn linking(index: &Index, document: DocumentRef, name: &str) -> Result<usize, Error> {
    let mut found = 0;
    // Few links name a folder.
    let mut path: Option<String> = None;
    for segment in index.segments() {
        for (from, folders) in index.linked(segment)?.into_iter().flat_map(|linked| linked.of_key(name)) {
            let from = DocumentRef { segment, document: from };
            let is_meant = folders.iter().any(str::is_empty) || {
                let path = match &mut path {
                    Some(path) => path,
                    none => none.insert(fold(&index.path(document)?)),
                };
                folders.iter().any(|folder| is_in(path, folder))
            };
            if is_meant && from != document && index.shows(from) {
                found += 1;
                if found >= MAX_LINKING {
                    return Ok(found);
                }
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_may_be_named_by_its_end() {
        for (path, folder, expected) in [
            ("log/sea/tide.md", "log/sea", true),
            ("log/sea/tide.md", "sea", true),
            ("log/sea/tide.md", "ea", false),
            ("log/sea/tide.md", "log", false),
            ("tide.md", "", true),
            ("tide.md", "log", false),
        ] {
            assert_eq!(is_in(path, folder), expected, "{path} {folder}");
        }
    }
}
