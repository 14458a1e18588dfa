//! Bookmarks, as Obsidian's core plugin keeps them in `.obsidian/bookmarks.json`: a tree of groups and items.

pub mod list_bookmarks;

use atlas_mirror::Hash;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where they are.
const FILE: &str = ".obsidian/bookmarks.json";
/// Most bookmarks that are read.
const MAX_BOOKMARKS: usize = 10_000;
/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 16;

/// What a bookmark leads to.
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
    /// The name that a person gave it.
    title: Option<String>,
    /// The path, with `#heading` or `#^block`, the query, or the URL; empty for the graph.
    target: String,
    /// The path of what it leads to in the vault; none for searches, graphs and URLs.
    path: Option<String>,
    /// The groups that it is in, outermost first.
    groups: Vec<String>,
    created: Option<Timestamp>,
}

/// An entry of the file. Obsidian and other plugins may write more fields and kinds than these.
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
    #[serde(default)]
    items: Vec<Value>,
}

impl Entry {
    /// The kind of bookmark that this is, and its target; none for a kind that is not known.
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

/// The bookmarks of a document, in its order. Entries that are none are left out.
fn bookmarks(document: Value) -> Vec<Bookmark> {
    let mut found = Vec::new();
    add(document, &mut Vec::new(), &mut found);
    found
}

fn add(group: Value, groups: &mut Vec<String>, found: &mut Vec<Bookmark>) {
    let Value::Object(mut group) = group else { return };
    let Some(Value::Array(items)) = group.remove("items") else { return };
    for item in items {
        if found.len() >= MAX_BOOKMARKS {
            return;
        }
        let Ok(entry) = serde_json::from_value::<Entry>(item) else { continue };
        if entry.kind == "group" {
            groups.push(entry.title.unwrap_or_default());
            add(Value::from_iter([("items", Value::from(entry.items))]), groups, found);
            groups.pop();
        } else if let Some((kind, target)) = entry.target() {
            let path = entry.path.filter(|_| matches!(kind, Kind::File | Kind::Folder | Kind::Heading | Kind::Block));
            let created = entry.ctime.and_then(|milliseconds| Timestamp::from_millisecond(milliseconds).ok());
            let title = entry.title.filter(|title| !title.is_empty());
            let groups = groups.clone();
            let id = id(&(kind, &target, &title, &groups, entry.ctime), found);
            found.push(Bookmark { id, kind, title, target, path, groups, created });
        }
    }
}

/// Obsidian gives bookmarks no ids: this one is the same as long as the bookmark is, wherever in its group it stands.
fn id(of: &impl Serialize, found: &[Bookmark]) -> String {
    let hash = Hash::of(&serde_json::to_vec(of).unwrap_or_default()).to_string();
    let id = hash.get(..ID_DIGITS).unwrap_or_default().to_owned();
    // Equal bookmarks are told apart by their order.
    match found.iter().filter(|other| other.id.starts_with(&id)).count() {
        0 => id,
        before => format!("{id}-{}", before + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bookmarks_are_read_from_groups_and_what_is_unknown_is_left_out() {
        let document = json!({ "items": [
            { "type": "file", "ctime": 1_700_000_000_000_i64, "path": "a.md", "title": "Start" },
            { "type": "group", "title": "Work", "items": [
                { "type": "file", "path": "a.md", "subpath": "#Tides" },
                { "type": "file", "path": "a.md", "subpath": "#^high" },
                { "type": "group", "title": "Deep", "items": [{ "type": "folder", "path": "logs" }] },
            ] },
            { "type": "search", "query": "tag:#port" },
            { "type": "graph", "title": "All", "options": { "colour": 1 } },
            { "type": "url", "url": "https://example.com/" },
            { "type": "file" }, { "type": "canvas-view", "path": "a.canvas" }, 7, { "path": "a.md" },
        ] });
        let told: Vec<_> = bookmarks(document.clone())
            .into_iter()
            .map(|bookmark| (bookmark.kind, bookmark.target, bookmark.path.is_some(), bookmark.groups.join("/")))
            .collect();
        let row = |kind, target: &str, has_path, group: &str| (kind, target.to_owned(), has_path, group.to_owned());
        assert_eq!(
            told,
            [
                row(Kind::File, "a.md", true, ""),
                row(Kind::Heading, "a.md#Tides", true, "Work"),
                row(Kind::Block, "a.md#^high", true, "Work"),
                row(Kind::Folder, "logs", true, "Work/Deep"),
                row(Kind::Search, "tag:#port", false, ""),
                row(Kind::Graph, "", false, ""),
                row(Kind::Url, "https://example.com/", false, ""),
            ]
        );
        assert_eq!(bookmarks(document).first().unwrap().created.unwrap().as_millisecond(), 1_700_000_000_000);
        for none in [json!([]), json!({}), json!({ "items": 1 }), Value::Null] {
            assert!(bookmarks(none).is_empty());
        }
    }

    #[test]
    fn ids_stay_when_the_order_changes_and_equal_bookmarks_have_two() {
        let (one, two) = (json!({ "type": "file", "path": "a.md" }), json!({ "type": "file", "path": "b.md" }));
        let ids = |items: Value| -> Vec<String> {
            bookmarks(json!({ "items": items })).into_iter().map(|bookmark| bookmark.id).collect()
        };
        let (before, after) = (ids(json!([one, two])), ids(json!([two, one])));
        assert_eq!(before, [after[1].clone(), after[0].clone()]);
        let twice = ids(json!([one, one]));
        assert_eq!(twice, [before[0].clone(), format!("{}-2", before[0])]);
    }
}
