//! Bookmarks of Obsidian's core plugin, in `.obsidian/bookmarks.json`: a tree of groups and items.

pub mod add_bookmark;
mod changeable;
pub mod list_bookmarks;
pub mod remove_bookmark;

use atlas_access::Access;
use atlas_mirror::Hash;
use atlas_ops::arguments::Root;
use atlas_ops::error::Error;
use atlas_ops::operation::Context;
use atlas_ops::read::index::Index;
use atlas_ops::read::settings::unusable;
use atlas_vault::VaultPath;
use atlas_vault::json_text::{JsonError, JsonText, Layout, Span};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Their file.
const FILE: &str = ".obsidian/bookmarks.json";
/// Most bookmarks that are read.
const MAX_BOOKMARKS: usize = 10_000;
/// Most levels of nested groups.
const MAX_DEPTH: usize = 50;
/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 16;

/// The kind of a bookmark's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A search, by its query.
    Search,
    /// The graph.
    Graph,
    /// A web page.
    Url,
    /// A heading of a note.
    Heading,
    /// A block of a note.
    Block,
}

/// A bookmark.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bookmark {
    id: String,
    kind: Kind,
    /// The title that a person set.
    title: Option<String>,
    /// The path, with `#heading` or `#^block`, the query, or the URL; empty for the graph.
    target: String,
    /// The path of the target in the vault; [`None`] for searches, graphs and URLs.
    path: Option<String>,
    /// Its groups, outermost first.
    groups: Vec<String>,
    created: Option<Timestamp>,
}

/// An entry of the file. Obsidian and other plugins may write other fields and kinds.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    ctime: Option<i64>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    subpath: Option<String>,
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    url: Option<String>,
}

impl Entry {
    /// The kind of the bookmark, and its target; [`None`] for an unknown kind.
    fn target(&self) -> Option<(Kind, String)> {
        let path = || self.path.clone().filter(|path| !path.is_empty());
        Some(match (self.kind.as_str(), self.subpath.as_deref().unwrap_or_default()) {
            ("file", "") => (Kind::File, path()?),
            ("file", subpath) => {
                let kind = if subpath.starts_with("#^") { Kind::Block } else { Kind::Heading };
                (kind, format!("{}{subpath}", path()?))
            }
            ("folder", _) => (Kind::Folder, path()?),
            ("search", _) => (Kind::Search, self.query.clone()?),
            ("graph", _) => (Kind::Graph, String::new()),
            ("url", _) => (Kind::Url, self.url.clone()?),
            _ => return None,
        })
    }
}

/// The bookmarks of a document, and their positions.
#[derive(Debug)]
struct Bookmarks<'a> {
    json: JsonText<'a>,
    /// The lists of bookmarks: that of the document, and those of its groups.
    lists: Vec<List>,
    /// In the document's order, without invalid entries.
    found: Vec<(Bookmark, Position)>,
}

/// A list of bookmarks.
#[derive(Debug)]
struct List {
    /// The titles of its groups, outermost first.
    groups: Vec<String>,
    array: Span,
    items: Vec<Span>,
}

/// The index of a list, and an index in it.
type Position = (usize, usize);

impl<'a> Bookmarks<'a> {
    /// Reads a document. One that has no list has no bookmarks.
    fn read(text: &'a str) -> Result<Self, JsonError> {
        let json = JsonText::read(text)?;
        let root = json.root();
        let mut all = Self { json, lists: Vec::new(), found: Vec::new() };
        all.add(&root, &mut Vec::new());
        Ok(all)
    }

    /// Adds the list of the object at `object`, if it has one.
    fn add(&mut self, object: &Span, groups: &mut Vec<String>) {
        let Ok(members) = self.json.members(object) else { return };
        let Some(array) = members.into_iter().rfind(|member| member.name == "items").map(|member| member.value) else {
            return;
        };
        let Ok(items) = self.json.elements(&array) else { return };
        let list = self.lists.len();
        self.lists.push(List { groups: groups.clone(), array, items: items.clone() });
        for (at, item) in items.iter().enumerate() {
            if self.found.len() >= MAX_BOOKMARKS {
                return;
            }
            let Ok(entry) = self.json.value::<Entry>(item) else { continue };
            if entry.kind == "group" {
                if groups.len() < MAX_DEPTH {
                    groups.push(entry.title.unwrap_or_default());
                    self.add(item, groups);
                    groups.pop();
                }
            } else if let Some(bookmark) = self.bookmark(entry, groups) {
                self.found.push((bookmark, (list, at)));
            }
        }
    }

    fn bookmark(&self, entry: Entry, groups: &[String]) -> Option<Bookmark> {
        let (kind, target) = entry.target()?;
        let path = entry.path.filter(|_| matches!(kind, Kind::File | Kind::Folder | Kind::Heading | Kind::Block));
        let created = entry.ctime.and_then(|milliseconds| Timestamp::from_millisecond(milliseconds).ok());
        let title = entry.title.filter(|title| !title.is_empty());
        let id = id(&(kind, &target, &title, groups, entry.ctime), &self.found);
        Some(Bookmark { id, kind, title, target, path, groups: groups.to_vec(), created })
    }

    /// The bookmarks.
    fn into_found(self) -> Vec<Bookmark> {
        self.found.into_iter().map(|(bookmark, _)| bookmark).collect()
    }

    /// The document without the bookmark at `place`.
    fn without(mut self, (list, at): Position) -> String {
        if let Some(List { array, items, .. }) = self.lists.get(list) {
            self.json.change_elements(array, items, &[at], &[], Layout::Indented);
        }
        self.json.finish()
    }

    /// The document with another `entry`, at the end of the group with these titles, outermost first; missing groups
    /// are created. [`None`] if the document has no list at all.
    fn with(mut self, entry: Value, groups: &[&str]) -> Option<String> {
        let shared = |list: &List| {
            list.groups.len() <= groups.len() && list.groups.iter().zip(groups).all(|(one, other)| one == other)
        };
        let list = self.lists.iter().filter(|list| shared(list)).max_by_key(|list| list.groups.len())?;
        let missing = groups.get(list.groups.len()..).unwrap_or_default();
        let nested = |inner: Value, title: &&str| {
            let ctime = inner.get("ctime").cloned().unwrap_or_default();
            json!({ "type": "group", "ctime": ctime, "items": [inner], "title": title })
        };
        let entry = missing.iter().rev().fold(entry, nested);
        self.json.change_elements(&list.array, &list.items, &[], &[entry], Layout::Indented);
        Some(self.json.finish())
    }
}

/// Obsidian has no ids of bookmarks: this one stays the same while the bookmark does, wherever in its group it is.
fn id(of: &impl Serialize, found: &[(Bookmark, Position)]) -> String {
    let hash = Hash::of(&serde_json::to_vec(of).unwrap_or_default()).to_string();
    let id = hash.get(..ID_DIGITS).unwrap_or_default().to_owned();
    // Equal bookmarks are distinguished by their order.
    match found.iter().filter(|(other, _)| other.id.starts_with(&id)).count() {
        0 => id,
        before => format!("{id}-{}", before + 1),
    }
}

/// The bookmarks of the document at [`FILE`].
fn read(text: &str) -> Result<Bookmarks<'_>, Error> {
    Bookmarks::read(text).map_err(|error| unusable(FILE, &error.to_string()))
}

/// The bookmarks that a caller may see.
struct Sight<'a> {
    context: &'a Context<'a>,
    /// The files that they see; [`None`] for those who see everything.
    part: Option<&'a Index>,
}

impl<'a> Sight<'a> {
    /// Those of a caller who sees the files of `index`.
    fn of(context: &'a Context<'a>, index: Option<&'a Index>) -> Self {
        Self { context, part: index.filter(|index| !index.is_whole()) }
    }

    /// Whether they may read the bookmark's target. A target that is no path may name hidden notes, so it is for those who see everything.
    fn shows(&self, bookmark: &Bookmark) -> Result<bool, Error> {
        let Some(path) = bookmark.path.as_deref() else { return Ok(self.part.is_none()) };
        match (self.part, bookmark.kind) {
            // A folder is hidden with what is in it, whatever the list says of its own path.
            (Some(index), Kind::Folder) => match Root::of("target", path) {
                Ok(root) => index.has_prefix(root.prefix()),
                Err(_) => Ok(false),
            },
            _ => Ok(VaultPath::parse(path).map_or(bookmark.kind == Kind::Folder && path == "/", |path| {
                self.context.check(Access::Read, &path).is_ok()
            })),
        }
    }
}

#[cfg(test)]
mod tests;
