//! Merges two versions of a text that were made from one ancestor: by lines, then by what the lines mean. A merge is either clean or
//! nothing at all: where both sides changed the same thing differently, no text is made.
//!
//! # Layout
//!
//! - `lines`: the three-way merge of lines, as `git merge-file` does it
//! - `note`: a note whose frontmatter both sides changed, property by property
//! - `json`: canvases and bookmarks, member by member

mod json;
mod lines;
mod note;

use std::ops::Range;

/// Longest text that is merged, in bytes.
pub const MAX_BYTES: usize = 4 << 20;

/// Lines that both sides changed, each in its own way. Lines count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// The lines that stand there in the first version.
    pub ours: Range<u32>,
    /// The lines that stand there in the second version.
    pub theirs: Range<u32>,
}

/// Why two versions are not merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// Both sides changed these lines, in order.
    #[error("both versions changed the same lines")]
    Overlaps(Vec<Overlap>),
    /// Both sides changed this property or member.
    #[error("both versions changed {0}")]
    Member(String),
    /// A version is larger than [`MAX_BYTES`].
    #[error("a version has more than {MAX_BYTES} bytes")]
    TooLarge,
}

/// The text at `path` that has the changes of `ours` and of `theirs`, both made from `base`.
///
/// # Errors
/// When both changed the same lines, properties or members differently, or a text is too large.
pub fn merge(path: &str, base: &str, ours: &str, theirs: &str) -> Result<String, Conflict> {
    if [base, ours, theirs].iter().any(|text| text.len() > MAX_BYTES) {
        return Err(Conflict::TooLarge);
    }
    if ours == theirs || theirs == base {
        return Ok(ours.to_owned());
    }
    if ours == base {
        return Ok(theirs.to_owned());
    }
    let has_ending = |ending: &str| path.len() > ending.len() && path.to_ascii_lowercase().ends_with(ending);
    if has_ending(".md") {
        note::merge(base, ours, theirs)
    } else if has_ending(".canvas") || path == ".obsidian/bookmarks.json" {
        json::merge(base, ours, theirs)
    } else {
        lines::merge(base, ours, theirs).map_err(Conflict::Overlaps)
    }
}

#[cfg(test)]
mod tests;
