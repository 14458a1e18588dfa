//! A file before and after a change, as people are shown it.

use atlas_ops::read::notes::Found;
use atlas_vault::diff::unified;
use schemars::JsonSchema;
use serde::Serialize;

/// Most bytes of one diff.
const MAX_DIFF: usize = 64 << 10;
/// Largest text that is compared, in bytes.
pub(crate) const MAX_COMPARED: u64 = 512 << 10;

/// A file before and after a change.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChangedFile {
    /// Its path.
    pub(crate) path: String,
    /// The kind of change.
    pub(crate) change: Change,
    /// Its path before, if it moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// The changed lines, as a unified diff; absent if the text stays the same, or is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) diff: Option<String>,
    /// Whether its text changes but is not shown: it is not text, too long, or has changed since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) left_out: bool,
    /// Its size in bytes before; absent for a new file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes_before: Option<u64>,
    /// Its size in bytes after; absent if it is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes_after: Option<u64>,
}

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    /// The file is new.
    Created,
    /// Its text changes.
    Changed,
    /// It moves to another path.
    Moved,
    /// It moves to the trash.
    Trashed,
    /// It is deleted permanently.
    Deleted,
}

/// The text of a document, if it is whole and text.
pub(crate) fn text(found: &Found) -> Option<&str> {
    let is_whole = found.record.blob.is_none() && found.text.len() as u64 == found.record.bytes;
    std::str::from_utf8(&found.text).ok().filter(|_| is_whole)
}

/// The changed lines; [`None`] if there are none. A long diff ends with the number of its other lines.
pub(crate) fn diff(old: &str, new: &str) -> Option<String> {
    Some(cut(unified(old, new))).filter(|diff| !diff.is_empty())
}

fn cut(diff: String) -> String {
    if diff.len() <= MAX_DIFF {
        return diff;
    }
    let end = diff.floor_char_boundary(MAX_DIFF);
    let end = diff.get(..end).and_then(|shown| shown.rfind('\n')).map_or(end, |end| end + 1);
    let (shown, rest) = diff.split_at(end);
    format!("{shown}... and {} lines more\n", rest.lines().count())
}
