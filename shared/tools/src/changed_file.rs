//! A file before and after a change, as people are shown it.

use atlas_ops::read::notes::Found;
use atlas_vault::diff::unified;
use schemars::JsonSchema;
use serde::Serialize;

/// Most bytes and lines of one diff.
const MAX_DIFF: usize = 64 << 10;
const MAX_LINES: usize = 1000;
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
    /// The `from_line` with which the diff goes on, if it has more lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_line: Option<u64>,
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

/// The changed lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangedLines {
    /// A unified diff. If it has no room for the rest, it ends with the number of these lines.
    pub(crate) diff: String,
    /// The number of the first line without room.
    pub(crate) next: Option<u64>,
}

/// The changed lines from line `from` of the diff on, counted from 0; [`None`] if there are none. A page that begins within a hunk has a head of
/// its own.
pub(crate) fn diff(old: &str, new: &str, from: u64) -> Option<ChangedLines> {
    let diff = unified(old, new);
    (!diff.is_empty()).then(|| page(&diff, usize::try_from(from).unwrap_or(usize::MAX)))
}

fn page(diff: &str, from: usize) -> ChangedLines {
    let lines: Vec<&str> = diff.split_inclusive('\n').collect();
    let (before, rest) = lines.split_at(from.min(lines.len()));
    let mut room = MAX_DIFF;
    let fits = |line: &&&str| {
        let left = room.checked_sub(line.len());
        room = left.unwrap_or_default();
        left.is_some()
    };
    // A line without any room is shown all the same, so that paging progresses.
    let count = rest.iter().take(MAX_LINES).take_while(fits).count().max(1).min(rest.len());
    let (shown, left) = rest.split_at(count);
    let mut page = ChangedLines::default();
    if shown.first().is_some_and(|line| !line.starts_with('@')) && from > 0 {
        let (old, new) = places(before);
        let hunk = || shown.iter().take_while(|line| !line.starts_with('@'));
        let counted = |other: char| hunk().filter(|line| !line.starts_with(other)).count();
        page.diff = format!("@@ -{old},{} +{new},{} @@\n", counted('+'), counted('-'));
    }
    page.diff.extend(shown.iter().copied());
    if !left.is_empty() {
        page.diff.push_str(&format!("... and {} lines more\n", left.len()));
        page.next = Some((from + count) as u64);
    }
    page
}

/// The numbers that the line after these lines of a diff has before and after.
fn places(lines: &[&str]) -> (u32, u32) {
    let (mut old, mut new) = (1, 1);
    for line in lines {
        match line.as_bytes().first() {
            Some(b'@') => (old, new) = head(line).unwrap_or((old, new)),
            Some(b'-') => old += 1,
            Some(b'+') => new += 1,
            _ => (old, new) = (old + 1, new + 1),
        }
    }
    (old, new)
}

/// The numbers in the head of a hunk: `@@ -1,3 +1,4 @@`.
fn head(line: &str) -> Option<(u32, u32)> {
    let number = |text: &str| text.split(',').next()?.parse().ok();
    let (old, new) = line.strip_prefix("@@ -")?.split_once(" +")?;
    Some((number(old)?, number(new.split(' ').next()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_long_diff_has_pages_with_the_right_numbers() {
        let old: String = (0..5000).map(|line| format!("old {line}\n")).collect();
        let new: String = (0..5000).map(|line| format!("new {line}\n")).collect();
        let first = diff(&old, &new, 0).unwrap();
        assert_eq!(first.next, Some(MAX_LINES as u64));
        assert!(first.diff.starts_with("@@ -1,5000 +1,5000 @@\n-old 0\n") && first.diff.ends_with("lines more\n"));
        // The head of the hunk is a line of the diff too.
        let page = diff(&old, &new, 6001).unwrap();
        assert!(page.diff.starts_with("@@ -5001,0 +1001,1000 @@\n+new 1000\n"), "{:.60}", page.diff);
        let last = diff(&old, &new, 9001).unwrap();
        assert_eq!((last.next, last.diff.lines().count()), (None, 1001));
    }

    proptest! {
        #[test]
        fn the_pages_of_a_diff_are_the_diff(old in "([a-c]{0,3}\n){0,12}", new in "([a-c]{0,3}\n){0,12}") {
            let whole = unified(&old, &new);
            let lines: Vec<&str> = whole.lines().collect();
            for (from, line) in lines.iter().enumerate() {
                let page = page(&whole, from);
                let own = page.diff.lines().skip(usize::from(from > 0 && !line.starts_with('@')));
                prop_assert_eq!(own.collect::<Vec<_>>(), &lines[from..]);
            }
        }
    }
}
