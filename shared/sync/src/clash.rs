//! Where a file and a folder would have one name, which no folder can hold: the folder keeps it, and the file becomes a copy beside it,
//! named as that of a conflict.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use atlas_mirror::{Mirror, MirrorError, Snapshot};
use jiff::{Timestamp, Zoned, tz::TimeZone};

use crate::conflict::copy_path;
use crate::decide::{Action, decide};
use crate::decided::Decided;
use crate::error::SyncError;
use crate::folder::{Content, Folder};
use crate::head::{self, HeadDocuments};
use crate::plan::{Found, Item};
use crate::pull::{Conflicted, MAX_COPIES};
use crate::push::blocking;
use crate::reading::Contents;
use crate::report::{Reason, Skipped};
use crate::scan::File;
use crate::target::Target;

/// What is to give way, by the index of its item.
#[derive(Debug, Default)]
pub(crate) struct Clashes {
    /// Files that would come from the mirror where the folder has, or gets, a folder.
    pub(crate) displaced: HashSet<usize>,
    /// Files of the folder that are where a folder would come from the mirror.
    pub(crate) in_the_way: Vec<InTheWay>,
}

/// A file of the folder that is to give way.
#[derive(Debug)]
pub(crate) struct InTheWay {
    pub(crate) file: File,
    /// Whether it is what the mirror has there too.
    pub(crate) is_head: bool,
}

/// What becomes of the folder at a path, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// A file comes where none was.
    Comes,
    /// A file stays.
    Stays,
    /// Nothing is there, or it is not known what.
    Other,
}

/// Finds what has to give way for what comes from the mirror. `items` are in order; `contents` is what was read of them.
pub(crate) fn find(items: &[Item], contents: &Contents, folder: &Folder) -> Clashes {
    let after: Vec<After> = items.iter().enumerate().map(|(index, item)| after(item, contents.get(&index))).collect();
    let mut clashes = Clashes::default();
    if !after.contains(&After::Comes) {
        return clashes;
    }
    let at = |path: &str| items.binary_search_by(|item| item.path.as_str().cmp(path)).ok();
    let becomes = |index: usize| after.get(index).copied().unwrap_or(After::Other);
    let mut stands = HashSet::new();
    // Another spelling of what comes, where the file system may take it for the same: the disk tells.
    let mut folded: HashMap<String, &str> = HashMap::new();
    let coming = || items.iter().enumerate().filter(|(index, _)| becomes(*index) == After::Comes);
    for (index, item) in coming() {
        for above in folders_of(&item.path) {
            if let Some(file) = at(above) {
                match becomes(file) {
                    After::Comes => drop(clashes.displaced.insert(file)),
                    After::Stays => drop(stands.insert(file)),
                    After::Other => {}
                }
            }
            folded.entry(above.to_lowercase()).or_insert(above);
        }
        let below = format!("{}/", item.path);
        let start = items.partition_point(|item| item.path < below);
        let mut below = items.iter().enumerate().skip(start).take_while(|(_, item)| item.path.starts_with(&below));
        if below.any(|(below, _)| becomes(below) != After::Other) {
            clashes.displaced.insert(index);
        }
    }
    let files: HashMap<String, usize> = coming().map(|(index, item)| (item.path.to_lowercase(), index)).collect();
    let mut last = "";
    for (index, item) in items.iter().enumerate().filter(|(index, _)| becomes(*index) == After::Stays) {
        let comes = folded.get(&item.path.to_lowercase()).filter(|comes| **comes != item.path);
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
            if let Some((file, item)) = file.filter(|(_, item)| item.path != above && folder.has_folder(&item.path)) {
                tracing::debug!(path = item.path, "a folder has the name in another case");
                clashes.displaced.insert(file);
            }
        }
    }
    let in_the_way = |index: usize| {
        let item = items.get(index)?;
        let (Found::Same(file) | Found::Touched(file)) = &item.found else { return None };
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

fn after(item: &Item, content: Option<&Result<Content, Reason>>) -> After {
    let ancestor = item.ancestor();
    let folder = match (&item.found, content) {
        (Found::Unknown, _) | (Found::Touched(_), Some(Err(_))) => return After::Other,
        (Found::Nothing, _) => None,
        (Found::Same(_), _) => ancestor,
        // A new file, of which nothing had to be read.
        (Found::Touched(_), None) => return After::Stays,
        (Found::Touched(_), Some(Ok(content))) => Some(content.sha256),
    };
    match (folder, item.head, decide(ancestor, folder, item.head)) {
        (None, Some(_), Action::Pull) => After::Comes,
        (None, ..) | (_, None, Action::Pull) => After::Other,
        _ => After::Stays,
    }
}

/// The folders that the file at `path` is in, from the innermost.
fn folders_of(path: &str) -> impl Iterator<Item = &str> {
    path.char_indices().rev().filter(|(_, character)| *character == '/').filter_map(|(end, _)| path.get(..end))
}

/// Whether a document is in a folder of the name `path`.
pub(crate) fn is_folder(documents: &HeadDocuments, path: &str) -> bool {
    let below = format!("{path}/");
    let mut after = documents.range::<str, _>((std::ops::Bound::Included(below.as_str()), std::ops::Bound::Unbounded));
    after.next().is_some_and(|(path, _)| path.starts_with(&below))
}

/// Who wrote the version of a generation, and when; of `snapshot`, if that is not kept any more.
pub(crate) async fn writer(
    mirror: &Mirror,
    snapshot: &Arc<Snapshot>,
    generation: u64,
) -> Result<(String, Timestamp), MirrorError> {
    let writer = mirror.at(generation).await?;
    let manifest = writer.as_ref().unwrap_or(snapshot).manifest();
    Ok((manifest.author.clone(), manifest.time))
}

/// The time in the name of a file that gives way: the same wherever it is made.
pub(crate) fn everywhere(time: Timestamp) -> Zoned {
    time.to_zoned(TimeZone::UTC)
}

/// Gives the files that are in the way other names, beside their places: of the version that the mirror has, the one that it gets on
/// every host. The answer has what was done, and what could not be.
pub(crate) async fn make_room(
    mirror: &Mirror,
    snapshot: &Arc<Snapshot>,
    folder: &Arc<Folder>,
    author: &str,
    decided: &mut Decided,
) -> Result<(Vec<Conflicted>, Vec<Skipped>), SyncError> {
    let (mut done, mut skipped) = (Vec::new(), Vec::new());
    for InTheWay { file, is_head } in std::mem::take(&mut decided.in_the_way) {
        let path = file.path.as_str().to_owned();
        let documents = if is_head { head::at(snapshot, &[&path]).await? } else { HeadDocuments::new() };
        let (author, time) = match documents.get(&path).and_then(|documents| documents.first()) {
            Some(document) => writer(mirror, snapshot, document.generation).await?,
            None => (author.to_owned(), Timestamp::from_millisecond(file.stamp.modified_ms()).unwrap_or_default()),
        };
        let from = folder.clone();
        match blocking(move || Ok(give_way(&from, &file, &author, time))).await? {
            Ok(copy) => done.push(Conflicted { path, copy: Some(copy), is_folder: true }),
            Err(reason) => skipped.push(Skipped { path, reason }),
        }
    }
    Ok((done, skipped))
}

fn give_way(folder: &Folder, file: &File, author: &str, time: Timestamp) -> Result<String, Reason> {
    if file.is_link {
        return Err(Reason::Link);
    }
    let target = Target::of(folder)?;
    let time = everywhere(time);
    let mut refused = Reason::Changed;
    for attempt in 1..=MAX_COPIES {
        let copy = copy_path(file.disk_path(), author, &time, attempt);
        match target.rename(file.disk_path(), &copy) {
            Ok(()) => {
                target.sync();
                return Ok(copy);
            }
            Err(reason) => refused = reason,
        }
    }
    Err(refused)
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
