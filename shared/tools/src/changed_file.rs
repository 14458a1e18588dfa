//! A file before and after a change, as people are shown it.

use std::borrow::Cow;

use atlas_ops::pipeline::response_limit::json_bytes;
use atlas_ops::read::notes::Found;
use atlas_vault::diff::unified;
use schemars::JsonSchema;
use serde::Serialize;

/// Most bytes, as JSON, and most lines of one diff.
pub(crate) const MAX_DIFF: usize = 64 << 10;
const MAX_LINES: usize = 1000;
/// Bytes of a diff besides its lines: its own head, and the number of lines that have no room.
const AROUND_LINES: usize = 128;
/// With less room only the lines of a long diff are counted, and none is shown.
const LEAST: usize = 1 << 10;
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
    /// Whether its text changes but is not shown: with next_line it has no room here; else it is not text, too long, or has changed since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) left_out: bool,
    /// The number of lines that come; absent if the diff has all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lines_added: Option<u64>,
    /// The number of lines that go; absent if the diff has all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lines_removed: Option<u64>,
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

/// Room that several share: each may take an equal part of what those before it left.
pub(crate) struct SharedRoom {
    left: usize,
    takers: usize,
}

impl SharedRoom {
    pub(crate) const fn new(bytes: usize, takers: usize) -> Self {
        Self { left: bytes, takers }
    }

    /// The part of the next one.
    pub(crate) fn part(&self) -> usize {
        self.left / self.takers.max(1)
    }

    /// The next one took so many bytes.
    pub(crate) const fn take(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
        self.takers = self.takers.saturating_sub(1);
    }
}

/// The changed lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangedLines {
    /// A unified diff. If it has no room for the rest, it ends with the number of these lines. [`None`] if it has no room at all.
    pub(crate) diff: Option<String>,
    /// The number of the first line without room.
    pub(crate) next: Option<u64>,
    /// The numbers of all lines that come and that go, if some are not in this diff.
    pub(crate) counts: Option<(u64, u64)>,
}

impl ChangedLines {
    /// Bytes of the diff within JSON.
    pub(crate) fn bytes(&self) -> usize {
        self.diff.as_deref().map_or(0, json_bytes)
    }
}

/// The changed lines from line `from` of the diff on, counted from 0, in `room` bytes as JSON; [`None`] if there are none. A page that begins within
/// a hunk has a head of its own.
pub(crate) fn diff(old: &str, new: &str, from: u64, room: usize) -> Option<ChangedLines> {
    let diff = unified(old, new);
    (!diff.is_empty()).then(|| page(&diff, usize::try_from(from).unwrap_or(usize::MAX), room.min(MAX_DIFF)))
}

fn page(diff: &str, from: usize, room: usize) -> ChangedLines {
    let lines: Vec<&str> = diff.split_inclusive('\n').collect();
    let (before, rest) = lines.split_at(from.min(lines.len()));
    let of = |sign: char| lines.iter().filter(|line| line.starts_with(sign)).count() as u64;
    let counts = || Some((of('+'), of('-')));
    let is_small = rest.iter().map(|line| json_bytes(line)).sum::<usize>() <= room.saturating_sub(AROUND_LINES);
    if !is_small && room < LEAST {
        return ChangedLines { diff: None, next: Some(before.len() as u64), counts: counts() };
    }
    let room = room.saturating_sub(AROUND_LINES);
    let mut left = room;
    let fits = |line: &&&str| {
        let rest = left.checked_sub(json_bytes(line));
        left = rest.unwrap_or_default();
        rest.is_some()
    };
    // Of a line without any room the beginning is shown, so that paging progresses.
    let count = rest.iter().take(MAX_LINES).take_while(fits).count().max(1).min(rest.len());
    let (shown, left) = rest.split_at(count);
    let mut text = String::new();
    if shown.first().is_some_and(|line| !line.starts_with('@')) && from > 0 {
        let (old, new) = places(before);
        let hunk = || shown.iter().take_while(|line| !line.starts_with('@'));
        let counted = |other: char| hunk().filter(|line| !line.starts_with(other)).count();
        text = format!("@@ -{old},{} +{new},{} @@\n", counted('+'), counted('-'));
    }
    match shown {
        [line] => text.push_str(&beginning(line, room)),
        lines => text.extend(lines.iter().copied()),
    }
    let mut page = ChangedLines::default();
    if !left.is_empty() {
        text.push_str(&format!("... and {} lines more\n", left.len()));
        page.next = Some((from + count) as u64);
    }
    page.counts = if left.is_empty() && before.is_empty() { None } else { counts() };
    page.diff = Some(text);
    page
}

/// A line, or as much of it as has room, and how much has none.
fn beginning(line: &str, room: usize) -> Cow<'_, str> {
    if json_bytes(line) <= room {
        return line.into();
    }
    let mut left = room;
    let fits = |(_, letter): &(usize, char)| {
        let rest = left.checked_sub(json_bytes(letter.encode_utf8(&mut [0; 4])));
        left = rest.unwrap_or_default();
        rest.is_some()
    };
    let end = line.char_indices().take_while(fits).last().map_or(0, |(at, letter)| at + letter.len_utf8());
    let (shown, rest) = line.split_at(end);
    format!("{shown} ... ({} bytes of this line are left out)\n", rest.trim_end().len()).into()
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
        let first = diff(&old, &new, 0, MAX_DIFF).unwrap();
        assert_eq!((first.next, first.counts), (Some(MAX_LINES as u64), Some((5000, 5000))));
        let text = first.diff.unwrap();
        assert!(text.starts_with("@@ -1,5000 +1,5000 @@\n-old 0\n") && text.ends_with("lines more\n"));
        // The head of the hunk is a line of the diff too.
        let text = diff(&old, &new, 6001, MAX_DIFF).unwrap().diff.unwrap();
        assert!(text.starts_with("@@ -5001,0 +1001,1000 @@\n+new 1000\n"), "{text:.60}");
        let last = diff(&old, &new, 9001, MAX_DIFF).unwrap();
        assert_eq!((last.next, last.diff.unwrap().lines().count()), (None, 1001));
    }

    #[test]
    fn a_diff_stays_within_its_room_and_tells_what_is_left_out() {
        let long = |letter: &str| format!("{}\n", letter.repeat(200_000));
        let many = |word: &str| (0..3000).map(|line| format!("{word} \"{line}\"\n")).collect::<String>();
        for (old, new) in [(long("\u{1}"), long("\"")), (long("é"), long("x")), (many("old"), many("new"))] {
            let mut from = 0;
            for pages in 0.. {
                assert!(pages < 1000, "paging progresses");
                let lines = diff(&old, &new, from, 2000).unwrap();
                assert!((1..=2000 + AROUND_LINES).contains(&lines.bytes()), "{}", lines.bytes());
                assert!(lines.counts.is_some_and(|(added, removed)| added == removed && added > 0));
                let Some(next) = lines.next else { break };
                from = next;
            }
            let none = diff(&old, &new, 0, 500).unwrap();
            assert_eq!((none.diff, none.next), (None, Some(0)));
        }
        let small = diff("a\n", "b\n", 0, 500).unwrap();
        assert_eq!((small.diff.as_deref(), small.counts), (Some("@@ -1,1 +1,1 @@\n-a\n+b\n"), None));
    }

    #[test]
    fn those_who_need_less_leave_the_room_to_the_others() {
        let mut room = SharedRoom::new(100, 4);
        let mut parts = Vec::new();
        for wanted in [5, 10, 90, 90] {
            let part = room.part();
            room.take(wanted.min(part));
            parts.push(part);
        }
        assert_eq!((parts, room.part()), (vec![25, 31, 42, 43], 0));
    }

    proptest! {
        #[test]
        fn the_pages_of_a_diff_are_the_diff(old in "([a-c]{0,3}\n){0,12}", new in "([a-c]{0,3}\n){0,12}") {
            let whole = unified(&old, &new);
            let lines: Vec<&str> = whole.lines().collect();
            for (from, line) in lines.iter().enumerate() {
                let page = page(&whole, from, MAX_DIFF).diff.unwrap_or_default();
                let own = page.lines().skip(usize::from(from > 0 && !line.starts_with('@')));
                prop_assert_eq!(own.collect::<Vec<_>>(), &lines[from..]);
            }
        }
    }
}
