//! Bookmarks of Obsidian's core plugin follow the files that a commit moves, as in the app. They are a person's setting: only the paths
//! change, and a list that cannot be changed stops no move.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use atlas_mirror::Snapshot;
use atlas_vault::VaultPath;
use atlas_vault::json_text::{JsonText, Member, Span};
use serde_json::Value;

use super::{Batch, NewDocument};
use crate::error::Error;
use crate::read::index::{DocumentRef, Index, Want};
use crate::read::notes::{self, Found};
use crate::read::view::View;

/// Their file.
const FILE: &str = ".obsidian/bookmarks.json";
/// Most bytes of a list that is changed.
const MAX_BYTES: u64 = 4 << 20;
/// Most bookmarks and groups that are looked at, and most levels of nested groups.
const MAX_BOOKMARKS: usize = 10_000;
const MAX_DEPTH: usize = 50;

/// Fewest files of a folder that moves as such: one alone may have moved out of it.
const FEWEST: usize = 2;

/// By old path: the new path.
pub type Ways = BTreeMap<String, String>;

/// The moves that a person's bookmarks follow.
#[derive(Default)]
pub(super) struct Followed {
    files: Ways,
    /// Those of bookmarked folders; [`None`] where the moves of the files tell them.
    folders: Option<Ways>,
}

/// The moves of a commit that is undone, and the vault before and after it.
pub struct UndoneMoves<'a> {
    /// The vault before.
    pub before: &'a Snapshot,
    /// The vault after.
    pub after: &'a Snapshot,
    /// By old path: the new path of the file.
    pub ways: Ways,
}

impl Batch<'_> {
    /// Lets a person's bookmarks of the file at `from` follow it to `to`.
    pub(super) fn follow(&mut self, from: &str, to: &VaultPath) {
        self.followed.files.insert(from.to_owned(), to.as_str().to_owned());
    }

    /// Lets the bookmarks of `files` follow them back, and those of folders that one of the `undone` commits gave another path, which are in
    /// order, the newest first.
    pub async fn follow_back(&mut self, files: Ways, undone: &[UndoneMoves<'_>]) -> Result<(), Error> {
        let folders = match files.is_empty() {
            true => Ways::new(),
            false => folders_back(self.head, undone).await?,
        };
        self.followed = Followed { files, folders: Some(folders) };
        Ok(())
    }

    /// The list of bookmarks after the moves, and as it was; [`None`] if it stays.
    pub(super) async fn new_bookmarks(&self) -> Result<Option<(NewDocument, Found)>, Error> {
        if self.followed.files.is_empty() {
            return Ok(None);
        }
        let Some((path, text, was)) = moved(self.head, &self.followed).await? else { return Ok(None) };
        if self.new.contains_key(&path) || self.left.contains_key(path.as_str()) {
            return Ok(None);
        }
        Ok(Some((NewDocument::text(path, text.into(), Some(&was), self.context.now)?, was)))
    }
}

/// The list of bookmarks, if there is one that can be changed.
pub(crate) async fn list(head: &Snapshot) -> Result<Option<Found>, Error> {
    let is_usable = |bytes: u64| bytes > 0 && bytes <= MAX_BYTES;
    let found = notes::find_at_once(head, FILE, |record| record.blob.is_none() && is_usable(record.bytes)).await?;
    Ok(found.filter(|found| found.record.blob.is_none() && is_usable(found.record.bytes)))
}

fn read(list: &Found) -> Option<Bookmarks<'_>> {
    std::str::from_utf8(&list.text).ok().and_then(Bookmarks::read)
}

async fn moved(head: &Arc<Snapshot>, followed: &Followed) -> Result<Option<(VaultPath, String, Found)>, Error> {
    let (Some(was), Ok(path)) = (list(head).await?, VaultPath::parse(FILE)) else { return Ok(None) };
    let Some(bookmarks) = read(&was) else { return Ok(None) };
    let new = match &followed.folders {
        Some(folders) => bookmarks.changed(&followed.files, folders),
        None => {
            let folders = moved_folders(head, &bookmarks, &followed.files).await?;
            bookmarks.changed(&followed.files, &folders)
        }
    };
    Ok(new.map(|text| (path, text, was)))
}

/// The present paths of bookmarked folders whose paths the `undone` commits wrote, and those that they had before.
async fn folders_back(head: &Snapshot, undone: &[UndoneMoves<'_>]) -> Result<Ways, Error> {
    let now = list(head).await?;
    let Some(bookmarks) = now.as_ref().and_then(read) else { return Ok(Ways::new()) };
    // By present path: the path before the commits that were looked at.
    let mut back: Ways = bookmarks.folders.iter().map(|(path, _)| (path.clone(), path.clone())).collect();
    for UndoneMoves { before, after, ways } in undone {
        let is_reached = |folder: &String| ways.values().any(|to| is_below(to, folder));
        if !back.values().any(is_reached) {
            continue;
        }
        let (before, after) = (list(before).await?, list(after).await?);
        let (Some(before), Some(after)) = (before.as_ref().and_then(read), after.as_ref().and_then(read)) else {
            continue;
        };
        if before.folders.len() != after.folders.len() {
            continue;
        }
        let pairs = before.folders.iter().zip(&after.folders).map(|((old, _), (new, _))| (old, new));
        // The commit may also be of a person who put them into another order.
        let changed: BTreeMap<&String, &String> = pairs
            .filter(|(old, new)| old != new && moved_folder(old, ways).is_some_and(|(to, _)| to == **new))
            .map(|(old, new)| (new, old))
            .collect();
        for path in back.values_mut() {
            if let Some(old) = changed.get(path) {
                *path = (*old).clone();
            }
        }
    }
    back.retain(|now, before| now != before);
    Ok(back)
}

/// The bookmarked folders that move as such: with all their files, to where no folder was, by themselves or with one around them.
async fn moved_folders(head: &Arc<Snapshot>, bookmarks: &Bookmarks<'_>, ways: &Ways) -> Result<Ways, Error> {
    let bookmarked: BTreeSet<&str> = bookmarks.folders.iter().map(|(path, _)| path.as_str()).collect();
    let all: BTreeSet<&str> = bookmarked.iter().flat_map(|path| with_those_around(path)).collect();
    let new = |folder: &str| {
        let (to, count) = moved_folder(folder, ways)?;
        (count >= FEWEST && !is_below(&to, folder)).then(|| (folder.to_owned(), to))
    };
    let mut folders: Ways = all.into_iter().filter_map(new).collect();
    if folders.is_empty() {
        return Ok(folders);
    }
    let index = Index::fetch(View::whole(head.clone()), Want::default()).await?;
    for segment in index.segments() {
        let paths = index.paths(segment)?;
        let shown = |folder: &str| {
            let all = paths.with_prefix(&format!("{folder}/"));
            all.filter(|document| index.shows(DocumentRef { segment, document: *document }))
        };
        let mut others = Vec::new();
        for (folder, to) in &folders {
            let mut stays = shown(to).next().is_some();
            for document in shown(folder) {
                stays = stays || !ways.contains_key(&paths.path(document)?);
            }
            others.extend(stays.then(|| folder.clone()));
        }
        folders.retain(|folder, _| !others.contains(folder));
    }
    let new = |path: &str| {
        let (around, to) = with_those_around(path).find_map(|around| Some((around, folders.get(around)?)))?;
        Some((path.to_owned(), format!("{to}{}", path.get(around.len()..)?)))
    };
    Ok(bookmarked.into_iter().filter_map(new).collect())
}

/// The folder at `path`, and those around it, from within.
fn with_those_around(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(around, _)| around))
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The folder to which all `ways` from below `folder` lead, and their number.
fn moved_folder(folder: &str, ways: &Ways) -> Option<(String, usize)> {
    let begin = format!("{folder}/");
    let mut below = ways.range(begin.clone()..).take_while(|(from, _)| from.starts_with(&begin));
    let target = |(from, to): (&String, &String)| to.strip_suffix(from.get(folder.len()..)?).map(str::to_owned);
    let first = target(below.next()?).filter(|folder| !folder.is_empty())?;
    let mut count = 1;
    for way in below {
        if target(way).as_ref() != Some(&first) {
            return None;
        }
        count += 1;
    }
    Some((first, count))
}

/// The paths in a list of bookmarks, decoded, with their places.
struct Bookmarks<'a> {
    json: JsonText<'a>,
    /// Of files, headings and blocks.
    files: Vec<(String, Span)>,
    folders: Vec<(String, Span)>,
}

impl<'a> Bookmarks<'a> {
    /// [`None`] if the text is not JSON.
    fn read(text: &'a str) -> Option<Self> {
        let json = JsonText::read(text).ok()?;
        let mut groups = vec![(json.root(), 0)];
        let mut all = Self { json, files: Vec::new(), folders: Vec::new() };
        let mut room = MAX_BOOKMARKS;
        while let Some((group, depth)) = groups.pop() {
            let Some(items) = all.members(&group).and_then(|members| last(members, "items")) else { continue };
            for item in all.json.elements(&items).unwrap_or_default() {
                let Some(less) = room.checked_sub(1) else { return Some(all) };
                room = less;
                let members = all.members(&item).unwrap_or_default();
                let text = |name: &str| {
                    let span = last(members.clone(), name)?;
                    Some((all.json.value::<String>(&span).ok()?, span))
                };
                let Some((kind, _)) = text("type") else { continue };
                let path = text("path");
                match kind.as_str() {
                    "group" if depth < MAX_DEPTH => groups.push((item, depth + 1)),
                    "file" => all.files.extend(path),
                    "folder" => all.folders.extend(path),
                    _ => {}
                }
            }
        }
        Some(all)
    }

    fn members(&self, object: &Span) -> Option<Vec<Member>> {
        self.json.members(object).ok()
    }

    /// The text with the new paths; [`None`] if none changes.
    fn changed(self, files: &Ways, folders: &Ways) -> Option<String> {
        let Self { mut json, files: of_files, folders: of_folders } = self;
        let mut is_changed = false;
        for (places, ways) in [(of_files, files), (of_folders, folders)] {
            for (path, span) in places {
                if let Some(new) = ways.get(&path) {
                    json.replace(&span, &Value::from(new.as_str()));
                    is_changed = true;
                }
            }
        }
        is_changed.then(|| json.finish())
    }
}

/// The value of the last of the members with this name, which counts.
fn last(members: Vec<Member>, name: &str) -> Option<Span> {
    members.into_iter().rfind(|member| member.name == name).map(|member| member.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways(ways: &[(&str, &str)]) -> Ways {
        ways.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect()
    }

    #[test]
    fn only_the_paths_of_what_moved_change() {
        let text = "\u{FEFF}{ \"items\": [\r\n\t{\"type\":\"file\",\"ctime\":17e11, \"path\":\"a/\\u00e9.md\",\"subpath\":\"#H\"},\r\n\
            \t{\"type\":\"group\",\"title\":\"a/é.md\",\"items\":[{\"path\":\"b.md\",\"type\":\"file\",\"x\":[1 ,2]},\
            {\"type\":\"folder\",\"path\":\"a\"},{\"type\":\"search\",\"path\":\"b.md\"}, 7, {\"type\":\"file\"}]}], \"x\": \"b.md\" }\n";
        let bookmarks = || Bookmarks::read(text).unwrap();
        let new = bookmarks().changed(&ways(&[("a/é.md", "b.md"), ("b.md", "a/é \"q\".md")]), &ways(&[("a", "c/d")]));
        let expected = text
            .replace("{\"path\":\"b.md\"", "{\"path\":\"a/é \\\"q\\\".md\"")
            .replace("\"a/\\u00e9.md\"", "\"b.md\"")
            .replace("\"path\":\"a\"", "\"path\":\"c/d\"");
        assert_eq!(new, Some(expected));
        assert_eq!(bookmarks().changed(&ways(&[("c.md", "d.md")]), &Ways::new()), None);
        assert!(Bookmarks::read("{\"items\":[").is_none());
        for odd in ["[]", "7", "{\"items\":{}}", "{\"items\":[{\"type\":\"group\"}]}"] {
            assert_eq!(Bookmarks::read(odd).unwrap().changed(&ways(&[("a", "b")]), &Ways::new()), None);
        }
    }

    #[test]
    fn all_in_a_folder_moves_to_one_other_if_the_rest_of_each_path_stays() {
        let folder = |all: &[(&str, &str)]| moved_folder("a", &ways(all));
        let expected = Some(("b/c".to_owned(), 2));
        assert_eq!(folder(&[("a/x.md", "b/c/x.md"), ("a/y/z.md", "b/c/y/z.md")]), expected);
        assert_eq!(with_those_around("a/b/c").collect::<Vec<_>>(), ["a/b/c", "a/b", "a"]);
        for other in [
            &[("a/x.md", "b/y.md")][..],
            &[("a/x.md", "b/x.md"), ("a/y.md", "c/y.md")],
            &[("ab/x.md", "b/x.md")],
            &[("a/x.md", "x.md")],
        ] {
            assert_eq!(folder(other), None, "{other:?}");
        }
    }
}
