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

/// Endings of files whose lines make sense only together: lines of two versions may make one that is invalid, or says something else.
const STRUCTURED: [&str; 8] = [".json", ".base", ".yml", ".yaml", ".toml", ".xml", ".csv", ".html"];

/// Most lines between the first and the last that a version changes: the time to compare them grows with their square.
const MAX_CHANGED_LINES: usize = 20_000;

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

/// Where a part of a text was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// In neither version.
    Nowhere,
    /// In the first version.
    InOurs,
    /// In the second version.
    InTheirs,
    /// In both, in the same way.
    Alike,
    /// In both, each in its own way.
    Differently,
}

/// Some whole lines of two versions, and of the text that both were made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Where they were changed.
    pub changed: Changed,
    /// What stood there before.
    pub base: &'a str,
    /// What the first version has there.
    pub ours: &'a str,
    /// What the second version has there.
    pub theirs: &'a str,
    /// Their lines in both versions; for unchanged ones, in the base.
    lines: (Range<u32>, Range<u32>),
}

impl<'a> Piece<'a> {
    /// What the merge has there; where both changed it differently, the first version's.
    #[must_use]
    pub const fn merged(&self) -> &'a str {
        if matches!(self.changed, Changed::InTheirs) { self.theirs } else { self.ours }
    }
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
    /// A version is larger than [`MAX_BYTES`], or changes too many lines.
    #[error("a version has more than {MAX_BYTES} bytes, or too many changed lines")]
    TooLarge,
}

/// The lines of `ours` and `theirs` in parts: what is the same, and what either changed. Without the text that both were made from, every
/// difference is a change in `theirs`.
///
/// # Errors
/// When a text is too large.
pub fn pieces<'a>(base: Option<&'a str>, ours: &'a str, theirs: &'a str) -> Result<Vec<Piece<'a>>, Conflict> {
    let base = base.unwrap_or(ours);
    check_size(base, ours, theirs)?;
    Ok(lines::pieces(base, ours, theirs))
}

fn check_size(base: &str, ours: &str, theirs: &str) -> Result<(), Conflict> {
    let is_long = [base, ours, theirs].iter().any(|text| text.len() > MAX_BYTES);
    if is_long || changed_lines(base, ours).max(changed_lines(base, theirs)) > MAX_CHANGED_LINES {
        return Err(Conflict::TooLarge);
    }
    Ok(())
}

/// The text at `path` that has the changes of `ours` and of `theirs`, both made from `base`.
///
/// # Errors
/// When both changed the same lines, properties or members differently, or a text is too large.
pub fn merge(path: &str, base: &str, ours: &str, theirs: &str) -> Result<String, Conflict> {
    if ours == theirs || theirs == base {
        return Ok(ours.to_owned());
    }
    if ours == base {
        return Ok(theirs.to_owned());
    }
    check_size(base, ours, theirs)?;
    let has_ending = |ending: &str| path.len() > ending.len() && path.to_ascii_lowercase().ends_with(ending);
    if has_ending(".md") {
        note::merge(base, ours, theirs)
    } else if has_ending(".canvas") || path == ".obsidian/bookmarks.json" {
        json::merge(base, ours, theirs)
    } else if STRUCTURED.iter().any(|ending| has_ending(ending)) {
        Err(Conflict::Member("a file whose lines belong together".to_owned()))
    } else {
        lines::merge(base, ours, theirs).map_err(Conflict::Overlaps)
    }
}

/// The number of lines between the first and the last in which two texts differ: of the text that has more.
fn changed_lines(base: &str, text: &str) -> usize {
    let same_start = base.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
    let rest = |text: &str| text.len().saturating_sub(same_start);
    let most = rest(base).min(rest(text));
    let same_end = base.bytes().rev().zip(text.bytes().rev()).take(most).take_while(|(a, b)| a == b).count();
    let lines = |text: &str| {
        let middle = text.as_bytes().get(same_start..text.len().saturating_sub(same_end)).unwrap_or_default();
        memchr::memchr_iter(b'\n', middle).count()
    };
    lines(base).max(lines(text))
}

#[cfg(test)]
mod tests;
