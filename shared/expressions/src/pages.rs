//! Where rows come from: another crate tells what it knows of each note, and this one derives the fields of both languages.

use std::sync::Arc;

use jiff::Timestamp;

use crate::Dialect;
use crate::time::Date;
use crate::value::{Object, Value};

/// A fact of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// A number of bytes.
    Size,
    /// When it was made: a date; null if nobody knows.
    Created,
    /// When it was changed: a date.
    Modified,
    /// Its tags as they are written, `#` included: a list of texts.
    Tags,
    /// Its links out: a list of links; those that resolve have the whole path of what they point to.
    Links,
    /// Those of its links that are embeds.
    Embeds,
    /// The paths of the notes with a link to it: a list of texts.
    Backlinks,
    /// Its other names: a list of texts.
    Aliases,
    /// Its list items, tasks among them: a list of objects as Dataview describes them.
    Lists,
    /// The day that its name or its property `date` says: a date, or null.
    Day,
    /// Its properties without its inline fields: an object.
    Frontmatter,
}

/// The notes and files of a vault, as one caller may see them.
pub trait Pages {
    /// The value of `name` of the note at `path`: a property or an inline field. For Dataview `name` may be a [`field name`](field_name)
    /// of it.
    fn property(&self, path: &str, name: &str) -> Option<Value>;

    /// All properties of the note; for Dataview its inline fields too.
    fn properties(&self, path: &str) -> Object;

    /// A fact of a file: null if it is not there.
    fn fact(&self, path: &str, fact: Fact) -> Value;

    /// The path that a link in `from` leads to, as links are resolved in the vault: without its heading or block.
    fn resolve(&self, link: &str, from: &str) -> Option<Arc<str>>;

    /// Whether it is known when files were made. If not, a query that needs it is refused.
    fn knows_created(&self) -> bool {
        true
    }

    /// All paths, in order.
    fn paths(&self) -> Vec<Arc<str>>;

    /// Whether there is a file at that path.
    fn is_file(&self, path: &str) -> bool {
        self.paths().iter().any(|own| **own == *path)
    }

    /// Whether there is a file in that folder, or below it.
    fn is_folder(&self, folder: &str) -> bool {
        self.paths().iter().any(|path| in_folder(path, folder))
    }
}

/// Whether a path is in that folder or below it. The empty folder is the vault.
#[must_use]
pub fn in_folder(path: &str, folder: &str) -> bool {
    let folder = folder.trim_matches('/');
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The name by which Dataview's queries ask for a field: small letters, a `-` for white space, no other signs.
#[must_use]
pub fn field_name(name: &str) -> String {
    let mut written = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(next) = rest.chars().next() {
        let emoji = crate::emoji::prefix(rest);
        let length = emoji.max(next.len_utf8());
        if emoji > 0 {
            written.push_str(rest.get(..length).unwrap_or_default());
        } else if crate::emoji::is_space(next) {
            written.push('-');
            let spaces = rest.len() - rest.trim_start_matches(crate::emoji::is_space).len();
            rest = rest.get(spaces..).unwrap_or_default();
            continue;
        } else if crate::emoji::is_letter(next) || next.is_ascii_digit() || next == '_' || next == '-' {
            written.extend(next.to_lowercase());
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    written
}

/// A date from milliseconds since 1970, in the evaluator's zone.
#[must_use]
pub fn moment(millis: i64, zone: &jiff::tz::TimeZone) -> Value {
    let at = Timestamp::from_millisecond(millis).ok();
    at.map_or(Value::Null, |at| Value::date(Date::new(at.to_zoned(zone.clone()), true)))
}

/// Names of the fields of `file`, in their dialect.
#[must_use]
pub fn file_fields(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Dataview => &[
            "name",
            "folder",
            "path",
            "ext",
            "link",
            "size",
            "ctime",
            "cday",
            "mtime",
            "mday",
            "tags",
            "etags",
            "inlinks",
            "outlinks",
            "aliases",
            "tasks",
            "lists",
            "frontmatter",
            "day",
            "starred",
        ],
        Dialect::Bases => &[
            "name",
            "basename",
            "path",
            "folder",
            "ext",
            "size",
            "ctime",
            "mtime",
            "tags",
            "links",
            "embeds",
            "backlinks",
            "properties",
            "file",
        ],
    }
}
