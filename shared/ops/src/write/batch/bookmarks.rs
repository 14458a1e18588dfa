//! Bookmarks of Obsidian's core plugin follow the files that a commit moves, as in the app. They are a person's setting: only the paths
//! change, and a list that cannot be changed stops no move.

use std::collections::BTreeMap;
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

/// By old path: the new path.
pub(super) type Ways = BTreeMap<String, String>;

impl Batch<'_> {
    /// Lets a person's bookmarks of the file at `from` follow it to `to`.
    pub fn follow(&mut self, from: &str, to: &VaultPath) {
        self.followed.insert(from.to_owned(), to.as_str().to_owned());
    }

    pub(super) async fn put_bookmarks(&mut self) -> Result<(), Error> {
        if self.followed.is_empty() {
            return Ok(());
        }
        let Some((path, text, was)) = moved(self.head, &self.followed).await? else { return Ok(()) };
        if !self.new.contains_key(&path) && !self.left.contains_key(path.as_str()) {
            self.put_counted(NewDocument::text(path, text.into(), Some(&was), self.context.now)?, Some(&was));
        }
        Ok(())
    }
}

/// The list of bookmarks, if there is one that can be changed.
pub(crate) async fn list(head: &Snapshot) -> Result<Option<Found>, Error> {
    let is_usable = |bytes: u64| bytes > 0 && bytes <= MAX_BYTES;
    let found = notes::find_at_once(head, FILE, |record| record.blob.is_none() && is_usable(record.bytes)).await?;
    Ok(found.filter(|found| found.record.blob.is_none() && is_usable(found.record.bytes)))
}

/// The list of bookmarks of `head` after these moves, and as it was; [`None`] if it stays.
async fn moved(head: &Arc<Snapshot>, ways: &Ways) -> Result<Option<(VaultPath, String, Found)>, Error> {
    let (Some(was), Ok(path)) = (list(head).await?, VaultPath::parse(FILE)) else { return Ok(None) };
    let Some(bookmarks) = std::str::from_utf8(&was.text).ok().and_then(Bookmarks::read) else { return Ok(None) };
    let folders = moved_folders(head, &bookmarks, ways).await?;
    let new = bookmarks.changed(ways, &folders);
    Ok(new.map(|text| (path, text, was)))
}

/// The bookmarked folders of which all files move to one other folder.
async fn moved_folders(head: &Arc<Snapshot>, bookmarks: &Bookmarks<'_>, ways: &Ways) -> Result<Ways, Error> {
    let new = |folder: &str| moved_folder(folder, ways);
    let mut folders: Ways = bookmarks.folders.iter().filter_map(|(path, _)| Some((path.clone(), new(path)?))).collect();
    if folders.is_empty() {
        return Ok(folders);
    }
    let index = Index::fetch(View::whole(head.clone()), Want::default()).await?;
    for segment in index.segments() {
        let paths = index.paths(segment)?;
        for folder in folders.keys().cloned().collect::<Vec<_>>() {
            for document in paths.with_prefix(&format!("{folder}/")) {
                if index.shows(DocumentRef { segment, document }) && !ways.contains_key(&paths.path(document)?) {
                    folders.remove(&folder);
                    break;
                }
            }
        }
    }
    Ok(folders)
}

/// The folder to which all `ways` from below `folder` lead.
fn moved_folder(folder: &str, ways: &Ways) -> Option<String> {
    let begin = format!("{folder}/");
    let mut below = ways.range(begin.clone()..).take_while(|(from, _)| from.starts_with(&begin));
    let target = |(from, to): (&String, &String)| to.strip_suffix(from.get(folder.len()..)?).map(str::to_owned);
    let first = target(below.next()?)?;
    below.all(|way| target(way).as_ref() == Some(&first)).then_some(first).filter(|folder| !folder.is_empty())
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
    fn a_folder_moves_if_all_in_it_moves_to_one_other() {
        let folder = |all: &[(&str, &str)]| moved_folder("a", &ways(all));
        assert_eq!(folder(&[("a/x.md", "b/c/x.md"), ("a/y/z.md", "b/c/y/z.md")]).as_deref(), Some("b/c"));
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
