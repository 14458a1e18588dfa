//! Inserts and replaces lines, with the note's own line breaks.

use std::ops::Range;

pub(super) use crate::lines::{fit, line_break, text_start};
use crate::lines::{is_break, line_end, next_line};
use crate::note::parse;

use super::joint::{Gaps, gaps};

/// `text` with `added` inserted as separate lines at `at`, the start of a line or the end of the text. A text that ended in a line break
/// still does. A blank line goes where the added lines and those around them would become one block.
pub(crate) fn insert(text: &str, at: usize, added: &str) -> String {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    if added.is_empty() {
        return text.to_owned();
    }
    let line_break = line_break(text)
        .or_else(|| memchr::memchr(b'\r', text.as_bytes()).map(|_| "\r"))
        .or_else(|| line_break(added))
        .unwrap_or("\n");
    let added = fit(text, added);
    let first = at <= text_start(text);
    let open = !first && !ends_in_break(before);
    let closed = ends_in_break(&added) || after.is_empty() && (first || open);
    let Gaps { above, below, .. } = gaps(text, at, &added);
    let mut out = String::with_capacity(text.len() + added.len() + 4 * line_break.len());
    // A line feed after a lone carriage return would make one break of two.
    let add_break = |out: &mut String| out.push_str(if out.ends_with('\r') { "\r" } else { line_break });
    out.push_str(before);
    if open {
        add_break(&mut out);
    }
    if let Some(gap) = above {
        out.push_str(&gap);
        add_break(&mut out);
    }
    out.push_str(&added);
    if !closed {
        add_break(&mut out);
    }
    if let Some(gap) = below {
        out.push_str(&gap);
        add_break(&mut out);
    }
    out.push_str(after);
    out
}

/// `text` with the lines in `range` replaced by `new`. The range ends before the last line break. An empty `new` removes the lines. A line that would
/// become part of the heading below it gets a blank one after it.
pub(super) fn replace(text: &str, range: Range<usize>, new: &str) -> String {
    let end = if new.is_empty() { next_line(text, range.end) } else { range.end };
    let (before, after) = (text.get(..range.start).unwrap_or_default(), text.get(end..).unwrap_or_default());
    let new = fit(text, new);
    let new = new.strip_suffix("\r\n").or_else(|| new.strip_suffix('\n')).unwrap_or(&new);
    let is_joined = !last_line(new).trim().is_empty() && is_underlined_heading(text, next_line(text, range.end));
    let gap = if is_joined { line_break(text).unwrap_or("\n") } else { "" };
    [before, new, gap, after].concat()
}

/// The start of the line that contains `offset`.
pub(super) fn line_start(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or_default();
    memchr::memrchr2(b'\n', b'\r', before).map_or(text_start(text), |at| at + 1)
}

fn ends_in_break(text: &str) -> bool {
    text.bytes().next_back().is_some_and(is_break)
}

/// The last line, with or without a line break at its end.
fn last_line(text: &str) -> &str {
    let text = text.strip_suffix("\r\n").or_else(|| text.strip_suffix(['\n', '\r'])).unwrap_or(text);
    text.get(line_start(text, text.len())..).unwrap_or_default()
}

/// Whether an underlined heading begins at `at`.
fn is_underlined_heading(text: &str, at: usize) -> bool {
    let is_signed = text.get(at..).is_some_and(|rest| rest.trim_start_matches(' ').starts_with('#'));
    !is_signed
        && may_be_underlined(text, at)
        && parse(text).headings.iter().any(|heading| line_start(text, heading.offset) == at)
}

/// Whether a line between `at` and the next blank line may be an underline. This cheap check spares most notes a parse.
fn may_be_underlined(text: &str, at: usize) -> bool {
    let mut start = at;
    while start < text.len() {
        let end = line_end(text, start);
        let line = text.get(start..end).unwrap_or_default().trim();
        if line.is_empty() {
            return false;
        }
        if start > at && line.starts_with(['=', '-']) {
            return true;
        }
        start = next_line(text, end);
    }
    false
}
