//! `add_bookmark`: adds a bookmark to Obsidian's.

use atlas_access::Access;
use atlas_ops::arguments::{Given, Root, Text, invalid_input};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::read::index::{Index, Want};
use atlas_ops::read::notes;
use atlas_ops::read::settings::unusable;
use atlas_ops::read::view::View;
use atlas_ops::write::editing;
use atlas_vault::VaultPath;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::changeable::{self, check_change};
use super::{Bookmark, FILE, Kind, read};

/// Adds a bookmark.
pub struct AddBookmark;

/// The bookmark.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The kind of target: `file`, `folder`, `heading`, `block`, `search` or `url`.
    #[serde(rename = "type")]
    kind: Kind,
    /// The path of the file or folder, with `#Heading` or `#^block` at its end for those; the query of a search; the URL.
    target: Text<2000>,
    /// The title to show; the target if not given.
    #[serde(default)]
    title: Given<Text<500>>,
    /// The group, with `/` before a nested group; a missing one is created. No group if not given.
    #[serde(default)]
    group: Given<Text<500>>,
}

/// The bookmark.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its id, for remove_bookmark.
    id: String,
    /// The kind of target.
    #[serde(rename = "type")]
    kind: Kind,
    /// Its target.
    target: String,
    /// When it was created.
    #[schemars(with = "String", extend("format" = "date-time"))]
    created_at: Timestamp,
    /// Whether an equal one existed. Then nothing was changed.
    existed_already: bool,
}

/// An empty file of bookmarks, as Obsidian writes it.
const EMPTY: &str = "{\n  \"items\": []\n}";

impl Operation for AddBookmark {
    const INFO: Info = Info {
        name: "add_bookmark",
        title: "Add a bookmark",
        description: "Bookmarks a file, folder, heading, block, search or web page for the person, where Obsidian shows bookmarks. Does nothing if the same bookmark exists. Example: {\"type\": \"heading\", \"target\": \"Projects/Atlas.md#Next steps\", \"group\": \"Work\"}",
        // The result reveals existing bookmarks.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        tags: &["bookmarks"],
        idempotent: true,
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(arguments: &Self::Arguments) -> Result<Vec<PathAccess>, Error> {
        Ok(match Target::of(arguments)? {
            Target::File { path, .. } => vec![(Access::Write, path)],
            // For a folder what is in it counts, which is found later.
            Target::Folder(_) | Target::Root | Target::Text { .. } => Vec::new(),
        })
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let target = Target::of(&arguments)?;
        let is_there = |view: View| {
            let target = &target;
            async move {
                let index = Index::fetch(view, Want::default()).await?;
                check_change(context, &index, Access::Write, &target.changed())?;
                target.check(&index)
            }
        };
        context.read(is_there).await?;
        let Arguments { kind, title, group, .. } = arguments;
        let written = target.written();
        let title = title.as_ref().map(Text::as_str);
        let groups: Vec<&str> = group.as_ref().map_or_else(Vec::new, |group| group.as_str().split('/').collect());
        let created_at = context.first_made;
        let file = VaultPath::parse(FILE).map_err(|error| unusable(FILE, &error.to_string()))?;
        let add = |before: Option<&str>| {
            let before = before.filter(|before| !before.trim().is_empty()).unwrap_or(EMPTY);
            let document = read(before)?;
            let is_same = |bookmark: &Bookmark| {
                let is_in = bookmark.groups.iter().map(String::as_str).eq(groups.iter().copied());
                bookmark.kind == kind && bookmark.target == written && bookmark.title.as_deref() == title && is_in
            };
            if let Some((same, _)) = document.found.iter().find(|(bookmark, _)| is_same(bookmark)) {
                return Ok((before.to_owned(), (same.clone(), true)));
            }
            let entry = target.entry(kind, title, created_at);
            let after = document.with(entry, &groups);
            let after = after.ok_or_else(|| unusable(FILE, "it has no list of items"))?;
            let new = read(&after)?.into_found().into_iter().rfind(is_same);
            Ok((after, (new.ok_or_else(|| unusable(FILE, "it has too many bookmarks"))?, false)))
        };
        let Answer { value: edited, generation } = editing::edit_or_create(context, &Self::INFO, &file, add).await?;
        let (bookmark, existed_already) = edited.told;
        let Bookmark { id, kind, target, created, .. } = bookmark;
        let created_at = created.unwrap_or(edited.updated_at);
        Ok(Answer { value: Output { id, kind, target, created_at, existed_already }, generation })
    }
}

/// The target of a bookmark.
enum Target {
    /// A file, and the heading or block in it with its `#`.
    File { path: VaultPath, subpath: Option<String> },
    /// A folder.
    Folder(VaultPath),
    /// The whole vault.
    Root,
    /// The query of a search, or a URL: the name of its field, and the text.
    Text { field: &'static str, text: String },
}

impl Target {
    fn of(arguments: &Arguments) -> Result<Self, Error> {
        let written = arguments.target.as_str();
        let file = |written: &str| atlas_ops::arguments::path("target", written);
        Ok(match arguments.kind {
            Kind::File => Self::File { path: file(written)?, subpath: None },
            Kind::Heading | Kind::Block => {
                let (path, subpath) = written.split_once('#').ok_or_else(|| {
                    invalid_input("target", "write the path of the note, then # and the heading, or #^ and the block")
                })?;
                let is_block = subpath.starts_with('^');
                if subpath.trim_start_matches('^').is_empty() || is_block != (arguments.kind == Kind::Block) {
                    return Err(invalid_input("target", "a heading follows #, a block follows #^"));
                }
                Self::File { path: file(path)?, subpath: Some(format!("#{subpath}")) }
            }
            Kind::Folder => match written.trim_matches('/') {
                "" => Self::Root,
                folder => Self::Folder(file(folder)?),
            },
            Kind::Search => Self::Text { field: "query", text: written.to_owned() },
            Kind::Url if written.contains(':') && !written.contains(char::is_whitespace) => {
                Self::Text { field: "url", text: written.to_owned() }
            }
            Kind::Url => return Err(invalid_input("target", "write a whole URL, such as https://example.com/")),
            Kind::Graph => return Err(invalid_input("type", "only Obsidian makes bookmarks of a graph")),
        })
    }

    /// The target, for the check of its access.
    const fn changed(&self) -> changeable::Target<'_> {
        match self {
            Self::File { path, .. } => changeable::Target::File(path),
            Self::Folder(path) => changeable::Target::Folder(path),
            Self::Root | Self::Text { .. } => changeable::Target::Other,
        }
    }

    /// Fails if the file or folder does not exist.
    fn check(&self, index: &Index) -> Result<(), Error> {
        let is_there = match self {
            Self::File { path, .. } => index.find(path.as_str())?.is_some(),
            Self::Folder(folder) => index.has_prefix(Root::of("target", folder.as_str())?.prefix())?,
            Self::Root | Self::Text { .. } => true,
        };
        match self {
            Self::File { path, .. } if !is_there => Err(notes::missing(path.as_str())),
            Self::Folder(folder) if !is_there => {
                Err(Error::not_found(Reason::NoteNotFound, format!("there is no folder {folder}"))
                    .with("path", folder.as_str()))
            }
            _ => Ok(()),
        }
    }

    /// The target as in list_bookmarks.
    fn written(&self) -> String {
        match self {
            Self::File { path, subpath } => format!("{path}{}", subpath.as_deref().unwrap_or_default()),
            Self::Folder(folder) => folder.as_str().to_owned(),
            Self::Root => "/".to_owned(),
            Self::Text { text, .. } => text.clone(),
        }
    }

    /// The entry, with its fields in Obsidian's order.
    fn entry(&self, kind: Kind, title: Option<&str>, created: Timestamp) -> Value {
        let mut entry = Map::new();
        let name = match kind {
            Kind::Folder => "folder",
            Kind::Search => "search",
            Kind::Url => "url",
            Kind::File | Kind::Heading | Kind::Block | Kind::Graph => "file",
        };
        entry.insert("type".to_owned(), name.into());
        entry.insert("ctime".to_owned(), created.as_millisecond().into());
        match self {
            Self::File { path, subpath } => {
                entry.insert("path".to_owned(), path.as_str().into());
                subpath.iter().for_each(|subpath| drop(entry.insert("subpath".to_owned(), subpath.as_str().into())));
            }
            Self::Folder(_) | Self::Root => drop(entry.insert("path".to_owned(), self.written().into())),
            Self::Text { field, text } => drop(entry.insert((*field).to_owned(), text.as_str().into())),
        }
        title.iter().for_each(|title| drop(entry.insert("title".to_owned(), (*title).into())));
        entry.into()
    }
}
