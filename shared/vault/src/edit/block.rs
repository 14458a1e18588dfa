//! Which lines a block id names.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::splice::line_start;
use crate::lines::line_end;
use crate::mask::mask;

/// The lines, without the break of the last, of the innermost paragraph, heading or list item that holds `at`, an
/// offset of `text`. A line that holds nothing but the id stands for the block above it as well.
pub(super) fn lines(text: &str, body_start: usize, at: usize) -> Range<usize> {
    let body = text.get(body_start..).unwrap_or_default();
    let masked = mask(body);
    let at = at.saturating_sub(body_start);
    let mut found = line_start(body, at)..line_end(body, at);
    let mut item = None;
    let mut above = None;
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(&masked, Options::ENABLE_FOOTNOTES).into_offset_iter() {
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
                // The first paragraph of an item, and an id alone, stand for the item.
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
    let blank = [' ', '\t', '\n', '\r'];
    let written = body.get(found.clone()).unwrap_or_default().trim_end_matches(blank).len();
    let start = body_start + line_start(body, found.start);
    start..body_start + line_end(body, found.start + written)
}
