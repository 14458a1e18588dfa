//! `list_notes`: the files below a folder, in path order, and their folders.

use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;

use atlas_access::acl::is_closed_path;
use atlas_ops::arguments::{self, Given, Root, Text};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::pipeline::response_limit::fitting;
use atlas_ops::read::cursor;
use atlas_ops::read::index::{DocumentRef, Index, Want};
use atlas_ops::read::nearest;
use atlas_ops::read::paging::{Limit, MAX_ITEMS, Page};
use atlas_ops::read::view::View;
use atlas_segment::{Kind, Record};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::records::next_records;

mod records;

/// Lists the notes below a folder, or whose paths begin with a prefix, in path order, with sizes, times and hashes.
pub struct ListNotes;

/// Which notes to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The folder to list; the whole vault if not given.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    root: String,
    /// Only paths with this prefix, for example `projects/2026-`.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    prefix: String,
    /// Whether to list the content of nested folders too.
    #[serde(default = "arguments::yes")]
    recursive: bool,
    /// Whether to list folders too. Those with any file are listed, of whatever extension.
    #[serde(default)]
    include_folders: bool,
    /// Only files with these extensions, `.md` if not given; all files if it is empty.
    #[serde(default = "notes")]
    #[schemars(length(max = 50))]
    extensions: Vec<Text<32>>,
    /// Only files that changed then or later: a date, or a time as `2026-01-31T12:00:00Z`; without folders.
    #[serde(default)]
    modified_after: Given<Text<64>>,
    /// In which order: `path` if not given.
    #[serde(default)]
    sort: Sort,
    /// Most items to return, 1,000 at most; 100 if not given.
    #[serde(default)]
    limit: Limit,
    /// The `cursor` of the previous page. All pages show the same generation.
    #[serde(default)]
    cursor: Given<Text<4096>>,
}

/// The order of a listing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Sort {
    /// By path.
    #[default]
    Path,
    /// The most recently changed first; without folders.
    Newest,
}

fn notes() -> Vec<Text<32>> {
    Text::new(".md").into_iter().collect()
}

/// A file or a folder.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedItem {
    /// Its path.
    path: String,
    /// Its type.
    r#type: ItemType,
    /// A file's size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// When a file was last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    mtime: Option<Timestamp>,
    /// SHA-256 of a file's bytes, in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

/// The type of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemType {
    /// A note, or another file.
    File,
    /// A folder.
    Folder,
}

/// The start of the next page.
#[derive(Serialize, Deserialize)]
struct Cursor {
    generation: u64,
    /// A hash of the listing's arguments.
    of: u32,
    /// The last item's path; a folder's ends in a slash, so that it comes before its content.
    after: String,
    /// The number of items on all pages.
    #[serde(default)]
    total: Option<usize>,
}

/// Most files that are looked at for those that changed.
const MAX_FILES: usize = 1 << 20;
/// Most extensions of one call.
const MAX_EXTENSIONS: usize = 50;

impl Operation for ListNotes {
    const INFO: Info = Info {
        name: "list_notes",
        title: "List notes",
        description: "Lists the notes below a folder, or whose paths begin with a prefix, by path, with sizes, times and hashes; with sort newest those that changed last, with modified_after those that changed since then; with extensions also other files. It does not look into notes: for that take search. Example: {\"root\": \"Projects\", \"recursive\": false}",
        scopes: &[Scope::ReadVault],
        tags: &["notes"],
        aliases: &[Alias::Name("folder", "root")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Page<ListedItem>;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Page<ListedItem>>, Error> {
        let asked = arguments.limit.get();
        let listing = Listing::of(&arguments)?;
        let of = crc32fast::hash(format!("{listing:?}").as_bytes());
        let cursor: Option<Cursor> =
            arguments.cursor.as_ref().map(|cursor| cursor::decode(cursor.as_str())).transpose()?;
        if cursor.as_ref().is_some_and(|cursor| cursor.of != of) {
            return Err(cursor::invalid());
        }
        let (generation, after) = cursor.as_ref().map(|cursor| (cursor.generation, cursor.after.as_str())).unzip();
        let after = after.unwrap_or_default();
        let limit = asked.min(MAX_ITEMS);
        let (is_first, known) = (cursor.is_none(), cursor.as_ref().and_then(|cursor| cursor.total));
        let page = |view: View| {
            let listing = &listing;
            async move {
                let generation = view.generation();
                let whole = view.clone();
                // One more tells whether there is another page.
                let (mut items, known) = if listing.is_by_time() {
                    let (items, all) = listing.by_time(view, after, limit + 1).await?;
                    (items, Some(all))
                } else if listing.recursive {
                    (listing.all(view, after, limit + 1).await?, known)
                } else {
                    (listing.children(view, after, limit + 1).await?, known)
                };
                if items.is_empty() && is_first {
                    nearest::check_folder(context, whole.clone(), &listing.root).await?;
                }
                let is_more = items.len() > limit;
                items.truncate(limit);
                let fitting = fitting(&items, context.limits.max_response_bytes);
                let is_more = is_more || fitting < items.len();
                items.truncate(fitting);
                let total = match known {
                    Some(total) => Some(total),
                    None if is_more => Some(listing.count(whole).await?),
                    None => is_first.then_some(items.len()),
                };
                let last = items.last().filter(|_| is_more).map(ListedItem::key);
                let cursor = last.and_then(|after| cursor::encode(&Cursor { generation, of, after, total }));
                Ok(Page { items, cursor, overflow: asked > MAX_ITEMS, total_count: total })
            }
        };
        cursor::read(context, generation, page).await
    }
}

impl ListedItem {
    fn file(record: Record) -> Self {
        Self {
            path: record.path,
            r#type: ItemType::File,
            size: Some(record.bytes),
            mtime: Some(Timestamp::from_millisecond(record.modified_ms).unwrap_or_default()),
            sha256: Some(record.sha256.iter().map(|byte| format!("{byte:02x}")).collect()),
        }
    }

    /// The folder whose path with its closing slash is `key`.
    fn folder(key: &str) -> Self {
        let path = key.trim_end_matches('/').to_owned();
        Self { path, r#type: ItemType::Folder, size: None, mtime: None, sha256: None }
    }

    /// Its sort key.
    fn key(&self) -> String {
        if self.r#type == ItemType::Folder { format!("{}/", self.path) } else { self.path.clone() }
    }
}

/// A time, or the beginning of a date in UTC, in milliseconds since 1970.
fn since(text: &str) -> Result<i64, Error> {
    let of_date = |date: Date| date.to_zoned(TimeZone::UTC).map(|day| day.timestamp());
    let time = text.parse::<Timestamp>().or_else(|_| text.parse::<Date>().and_then(of_date));
    let time = time.map_err(|_| {
        let message = "modified_after: write a date as 2026-01-31, or a time as 2026-01-31T12:00:00Z";
        Error::bad_request(Reason::ValidationError, message).with("field", "modified_after")
    })?;
    Ok(time.as_millisecond())
}

/// The entries to list.
#[derive(Debug)]
struct Listing {
    root: Root,
    /// The prefix of the paths; [`None`] if there are no such paths.
    prefix: Option<String>,
    recursive: bool,
    folders: bool,
    /// Only what changed then or later, in milliseconds since 1970.
    since: Option<i64>,
    sort: Sort,
    /// In lower case, each with its dot; all if there are none.
    extensions: Vec<String>,
}

impl Listing {
    fn of(arguments: &Arguments) -> Result<Self, Error> {
        let Arguments { prefix, recursive, include_folders, extensions, sort, .. } = arguments;
        let refused =
            |field, message: String| Err(Error::bad_request(Reason::ValidationError, message).with("field", field));
        if prefix.len() > 1024 {
            return refused("prefix", "prefix: must be at most 1024 bytes".to_owned());
        }
        if extensions.len() > MAX_EXTENSIONS {
            return refused("extensions", format!("extensions: name at most {MAX_EXTENSIONS}"));
        }
        let root = Root::of("root", &arguments.root)?;
        let prefix = match prefix.starts_with(root.prefix()) {
            true => Some(prefix.clone()),
            false => Some(root.prefix().to_owned()).filter(|root| root.starts_with(prefix)),
        };
        let extensions = extensions.iter().map(|extension| {
            let extension = extension.as_str().to_lowercase();
            if extension.starts_with('.') { extension } else { format!(".{extension}") }
        });
        let since = arguments.modified_after.as_ref().map(|time| since(time.as_str())).transpose()?;
        let folders = *include_folders && since.is_none() && *sort == Sort::Path;
        Ok(Self { root, prefix, recursive: *recursive, folders, since, sort: *sort, extensions: extensions.collect() })
    }

    /// Whether the records of all files are needed, not only those of a page.
    fn is_by_time(&self) -> bool {
        self.since.is_some() || self.sort == Sort::Newest
    }

    /// The first `count` files after the one at `after`, and how many there are before and after.
    async fn by_time(&self, view: View, after: &str, count: usize) -> Result<(Vec<ListedItem>, usize), Error> {
        let root = self.root.prefix().len();
        let is_own = |path: &str| path.get(root..).is_some_and(|rest| !rest.contains('/'));
        let since = self.since.and_then(|since| Timestamp::from_millisecond(since).ok());
        let mut items = self.all(view, "", MAX_FILES).await?;
        items.retain(|item| {
            (self.recursive || is_own(&item.path)) && since.is_none_or(|since| item.mtime >= Some(since))
        });
        if self.sort == Sort::Newest {
            items.sort_by(|a, b| b.mtime.cmp(&a.mtime).then_with(|| a.path.cmp(&b.path)));
        }
        let all = items.len();
        let begin = items.iter().position(|item| item.path == after).map_or(0, |last| last + 1);
        Ok((items.into_iter().skip(begin).take(count).collect(), all))
    }

    /// Whether a file at `path` is listed.
    fn has(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        // A name whose only dot is its first character has no extension.
        let ends = |extension: &String| name.len() > extension.len() && name.ends_with(extension);
        self.extensions.is_empty() || self.extensions.iter().any(ends)
    }

    /// The folders that the file at `path` is in, each with its closing slash, outermost first.
    fn folders_of<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a str> {
        let (root, prefix) = (self.root.prefix().len(), self.prefix.as_deref().unwrap_or_default());
        let ends = path.match_indices('/').map(|(at, _)| at + 1).filter(move |end| self.folders && *end > root);
        ends.filter_map(|end| path.get(..end)).filter(move |folder| folder.starts_with(prefix))
    }

    /// The first `count` items after `after`, at any depth. Reads neither paths nor texts of the whole vault, but the
    /// records from there on.
    async fn all(&self, view: View, after: &str, count: usize) -> Result<Vec<ListedItem>, Error> {
        let Some(prefix) = &self.prefix else { return Ok(Vec::new()) };
        let mut items = Vec::new();
        let mut last = after.to_owned();
        let mut after = after.to_owned();
        // A page of records may contain few listed ones: continue until there are enough, each time with more.
        let mut wanted = count;
        loop {
            let (records, end) = next_records(&view, prefix, &after, wanted).await?;
            wanted *= 2;
            for record in records {
                if record.kind == Kind::Config || is_closed_path(&record.path) {
                    continue;
                }
                let folders = self.folders_of(&record.path).filter(|folder| !last.starts_with(folder));
                items.extend(folders.map(ListedItem::folder));
                last.clone_from(&record.path);
                if self.has(&record.path) {
                    items.push(ListedItem::file(record));
                }
            }
            match end {
                Some(end) if items.len() < count => after = end,
                _ => break,
            }
        }
        items.truncate(count);
        Ok(items)
    }

    /// The number of items.
    async fn count(&self, view: View) -> Result<usize, Error> {
        let Some(prefix) = &self.prefix else { return Ok(0) };
        let index = Index::fetch(view, Want::default()).await?;
        let root = self.root.prefix().len();
        let (mut files, mut folders) = (0, HashSet::new());
        for segment in index.segments() {
            for document in index.paths(segment)?.with_prefix(prefix) {
                let document = DocumentRef { segment, document };
                if !index.shows(document) {
                    continue;
                }
                let path = index.path(document)?;
                let is_own = path.get(root..).is_some_and(|rest| !rest.contains('/'));
                files += usize::from((self.recursive || is_own) && self.has(&path));
                let is_own =
                    |folder: &str| folder.get(root..).is_some_and(|rest| rest.find('/') == Some(rest.len() - 1));
                for folder in self.folders_of(&path) {
                    if (self.recursive || is_own(folder)) && !folders.contains(folder) {
                        folders.insert(folder.to_owned());
                    }
                }
            }
        }
        Ok(files + folders.len())
    }

    /// The first `count` items after `after` that are in the folder itself.
    async fn children(&self, view: View, after: &str, count: usize) -> Result<Vec<ListedItem>, Error> {
        let Some(prefix) = &self.prefix else { return Ok(Vec::new()) };
        let root = self.root.prefix();
        let index = Index::fetch(view, Want::default()).await?;
        let mut children: BTreeMap<String, Option<DocumentRef>> = BTreeMap::new();
        for segment in index.segments() {
            let paths = index.paths(segment)?;
            let mut range = paths.with_prefix(prefix);
            while let Some(document) = range.next() {
                let document = DocumentRef { segment, document };
                let path = index.path(document)?;
                let folder =
                    path.get(root.len()..).and_then(|rest| rest.find('/')).and_then(|at| path.get(..=root.len() + at));
                let Some(folder) = folder else {
                    if self.has(&path) && index.shows(document) {
                        children.insert(path, Some(document));
                    }
                    continue;
                };
                if self.folders_of(folder).next().is_some() && !children.contains_key(folder) {
                    if !index.shows(document) {
                        continue;
                    }
                    children.insert(folder.to_owned(), None);
                }
                // The rest of its content has this folder as its prefix; the next item is greater than that.
                let beyond = folder.trim_end_matches('/').to_owned() + "0";
                range.start = paths.first_from(beyond.as_bytes()).max(range.start);
            }
        }
        let page: Vec<_> = children.range::<str, _>((Bound::Excluded(after), Bound::Unbounded)).take(count).collect();
        let documents: Vec<DocumentRef> = page.iter().filter_map(|(_, document)| **document).collect();
        let mut records = index.records(&documents).await?.into_iter();
        let item = |(key, document): (&String, &Option<DocumentRef>)| match document {
            Some(_) => records.next().map(ListedItem::file),
            None => Some(ListedItem::folder(key)),
        };
        Ok(page.into_iter().filter_map(item).collect())
    }
}
