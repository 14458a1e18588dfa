//! Finds the lines that a block id refers to.

use std::ops::Range;

use pulldown_cmark::{Event, Tag};

use super::splice::line_start;
use crate::lines::line_end;
use crate::markdown::Events;
use crate::mask::mask;

/// The lines of the innermost paragraph, heading or list item that contains `at`, an offset of `text`, without the last
/// line break. An id that is alone on its line refers to the block above, and its range includes that block.
pub(super) fn lines(text: &str, body_start: usize, at: usize) -> Range<usize> {
    let body = text.get(body_start..).unwrap_or_default();
    let masked = mask(body);
    let at = at.saturating_sub(body_start);
    let mut found = line_start(body, at)..line_end(body, at);
    let mut item = None;
    let mut above = None;
    let mut depth = 0_usize;
    for (event, range) in Events::of(&masked) {
        if range.start > at {
            break;
        }
        let Event::Start(tag) = event else {
            depth = depth.saturating_sub(usize::from(matches!(event, Event::End(_))));
            continue;
        };
        if range.contains(&at) {
            let start = line_start(body, range.start);
            let id = body.get(range.clone()).unwrap_or_default().trim();
            let alone = id.starts_with('^') && !id.contains(char::is_whitespace);
            match tag {
                Tag::Item => (item, found) = (Some(start), range),
                // The first paragraph of an item, or an id alone on its line, refers to the whole item.
                Tag::Paragraph if item.is_some_and(|item| alone || item == start) => {}
                Tag::Paragraph => found = above.filter(|_| alone && depth == 0).unwrap_or(range.start)..range.end,
                Tag::Heading { .. } => found = range,
                _ => {}
            }
        } else if depth == 0 {
            above = Some(range.start);
        }
        depth += 1;
    }
    let start = line_start(body, found.start);
    let end = line_end(body, found.start + written(body.get(found.clone()).unwrap_or_default()));
    let whole = body.get(start..end).unwrap_or_default();
    body_start + start..body_start + if is_quoted(whole) { start + unquoted(whole) } else { end }
}

/// The length of `text` without the white space at its end.
fn written(text: &str) -> usize {
    text.trim_end_matches([' ', '\t', '\n', '\r']).len()
}

fn is_quoted(line: &str) -> bool {
    line.trim_start_matches([' ', '\t']).starts_with('>')
}

/// The length of the quote `text` without the blank lines at its end, which contain only `>`.
fn unquoted(text: &str) -> usize {
    let mut end = text.len();
    loop {
        let start = line_start(text, end);
        let line = text.get(start..end).unwrap_or_default();
        if start == 0 || !line.trim_matches([' ', '\t', '>']).is_empty() {
            return end;
        }
        end = written(text.get(..start).unwrap_or_default());
    }
}
