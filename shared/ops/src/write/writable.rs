//! Where operations may write: paths, sizes, versions, the trash.

use std::sync::Arc;

use atlas_mirror::{Hash, Snapshot};
use atlas_vault::VaultPath;
use atlas_vault::edit::{Problem, has_properties, set_properties, with_frontmatter};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::arguments::{self, WritePath};
use crate::error::{Error, Reason};
use crate::read::notes::Found;

/// Most bytes of a note that an operation writes, or changes in parts: the index of more takes longer than a call may. A sync takes larger ones.
pub const MAX_NOTE_BYTES: usize = 8 << 20;
/// The folder of deleted notes, each at its path.
pub const TRASH: &str = ".trash/";

/// A version of a note.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Version {
    /// SHA-256 of its bytes.
    pub sha256: Hash,
    /// Its size.
    pub bytes: u64,
}

impl Version {
    /// The version of `found`.
    pub const fn of(found: &Found) -> Self {
        Self { sha256: Hash::from_bytes(found.record.sha256), bytes: found.record.bytes }
    }
}

/// The path of a note that an operation may write, from argument `field`.
pub fn path(field: &str, text: &str) -> Result<VaultPath, Error> {
    let invalid =
        |problem: String| Error::bad_request(Reason::PathInvalid, format!("{field}: {problem}")).with("field", field);
    WritePath::parse(text).map(VaultPath::from).map_err(invalid)
}

/// A new note's text: `content` below the properties, if any. Those that it has itself stay, unless they are among these.
///
/// # Errors
/// When the properties cannot be written, or not beside those that `content` has.
pub fn with_properties(properties: Option<&Map<String, Value>>, content: &str) -> Result<String, Error> {
    let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
        return Ok(content.to_owned());
    };
    let written = if has_properties(content) {
        set_properties(content, properties)
    } else {
        with_frontmatter(properties, content)
    };
    written.map_err(|problem| {
        let own = match &problem {
            Problem::Frontmatter(error) => Some(error.to_string()),
            Problem::FrontmatterStyle(style) => Some(format!("they are written with {style}")),
            Problem::Entangled { names } => Some(format!("to set {names} would change others")),
            _ => None,
        };
        let message = match own {
            Some(cause) => format!(
                "the properties at the start of content cannot be merged with these: {cause}; write all of them in one of the two"
            ),
            None => problem.to_string(),
        };
        Error::bad_request(Reason::ValidationError, format!("frontmatter: {message}")).with("field", "frontmatter")
    })
}

/// The state that a write extends.
///
/// # Errors
/// When the vault is not published.
pub fn published(head: Option<&Arc<Snapshot>>) -> Result<&Arc<Snapshot>, Error> {
    head.ok_or_else(|| Error::not_found(Reason::VaultNotPublished, "the vault is not published yet: run `atlas sync`"))
}

/// The trash's path of the note at `path`.
pub fn trash(path: &VaultPath) -> Result<VaultPath, Error> {
    arguments::path("path", &format!("{TRASH}{path}"))
}

/// The names in the trash of a document with this hash whose own name `trash` is taken.
pub fn beside(trash: &VaultPath, sha256: &str) -> impl Iterator<Item = VaultPath> {
    let name = trash.as_str().rsplit_once('.').filter(|(_, extension)| !extension.contains('/'));
    let (stem, extension) = match name {
        Some((stem, extension)) => (stem, format!(".{extension}")),
        None => (trash.as_str(), String::new()),
    };
    let short = sha256.get(..8).unwrap_or_default();
    let names =
        [format!("{stem} ({short}){extension}"), format!("{stem} ({sha256}){extension}"), format!("{TRASH}{sha256}")];
    names.into_iter().filter_map(|name| VaultPath::parse(&name).ok())
}

/// The paths in the trash where the version `sha256` of the file at `path` may be.
pub fn in_trash(path: &VaultPath, sha256: &str) -> Vec<VaultPath> {
    let own = trash(path).ok();
    own.iter().cloned().chain(own.iter().flat_map(|own| beside(own, sha256))).collect()
}

/// The text of a note to change in part.
///
/// # Errors
/// When it is not UTF-8.
pub fn text_of(note: &Found) -> Result<&str, Error> {
    std::str::from_utf8(&note.text).map_err(|_| {
        let path = &note.record.path;
        let message = format!("{path} is not UTF-8, so it cannot be edited in part; replace it whole");
        Error::bad_request(Reason::NoteNotUtf8, message).with("path", path.as_str())
    })
}
